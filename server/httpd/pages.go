package httpd

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"

	"coffer/server/api"
)

// explanation is what the page of an error says.
type explanation struct{ Means, Do string }

var explanations = map[api.Code]explanation{
	api.BadRequest: {
		"The server could not read the request, or it could be read in more than one way.",
		"Send one JSON object in UTF-8, name each member and each query parameter once, and see what the error's detail says.",
	},
	api.Unauthorized: {
		"The request had no credential, or one that is unknown, expired or revoked.",
		"Sign in again, or send a valid token as \"Authorization: Bearer <token>\".",
	},
	api.Forbidden: {
		"The server knows who is asking, but the credential's scope, the role on the repository, the right in the environment or the source address does not allow this.",
		"The detail names what is missing. Ask an administrator of the repository for it, or use a key with that scope.",
	},
	api.PlanLimit: {
		"A limit of the account's plan is reached.",
		"Remove something, or move to a plan with a higher limit: the error's upgradeUrl leads there. On your own server the operator decides which plan is the default.",
	},
	api.NotFound: {
		"Nothing is at this address, or you may not know about it.",
		"Check the spelling, and that you have a role on the repository.",
	},
	api.MethodNotAllowed: {
		"The address exists, but not for this HTTP method.",
		"Use one of the methods that the Allow header names.",
	},
	api.Conflict: {
		"It exists already, or its present state does not allow this.",
		"Look at the present state, then decide whether the request is still needed.",
	},
	api.TooLarge: {
		"The body of the request is larger than 1,048,576 bytes.",
		"Send fewer secrets at once.",
	},
	api.Invalid: {
		"Some fields of the request break a rule.",
		"The error's list \"errors\" names each of these fields and its rule. Correct them and send the request again.",
	},
	api.RateLimited: {
		"Too many requests came in a short time.",
		"Wait as many seconds as the Retry-After header says.",
	},
	api.Internal: {
		"Something went wrong on the server. It is not your request's fault.",
		"Tell the operator the error's traceId: the server's log has a line with it.",
	},
	api.ProviderFailed: {
		"A hosting or payment provider failed, or did not answer.",
		"Try again later, and look at the provider's own status page.",
	},
	api.Sealed: {
		"The vault is locked: the server does not have its master key, so it cannot read any secret.",
		"The operator opens it with \"coffer unseal\". A vault that was never set up is started with \"coffer init\".",
	},
	api.Unavailable: {
		"The server cannot answer now. Most often the code host cannot be reached, so that roles cannot be checked.",
		"Try again after as many seconds as the Retry-After header says.",
	},
	api.Timeout: {
		"The request took longer than 30 seconds and was stopped. Nothing was written.",
		"Try again; if it happens often, send less at once.",
	},
}

var errorTemplate = template.Must(template.New("error").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}} · coffer</title>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p>Error <code>{{.Slug}}</code>, HTTP status {{.Status}}.</p>
<h2>What it means</h2>
<p>{{.Means}}</p>
<h2>What to do</h2>
<p>{{.Do}}</p>
</main>
</body>
</html>
`))

const pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// errorPage explains one kind of error to people: the type of an error is the
// address of its page.
func errorPage(x *exchange) error {
	code := api.Code(x.c.Param("slug"))
	k, ok := kinds[code]
	if !ok {
		return api.Errorf(api.NotFound, "There is no error of this name.")
	}
	var page bytes.Buffer
	err := errorTemplate.Execute(&page, struct {
		Title  string
		Slug   api.Code
		Status int
		explanation
	}{k.title, code, k.status, explanations[code]})
	if err != nil {
		return fmt.Errorf("error page %s: %w", code, err)
	}
	h := x.w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h["Content-Type"] = htmlType
	x.write(http.StatusOK, page.Bytes())
	return nil
}

// root says what answers here.
func root(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	text := fmt.Sprintf(`coffer %[1]s: a self-hosted vault for the secrets of your repositories.

State     %[2]s
API       %[3]s/v1 (Authorization: Bearer <token>)
Health    %[3]s/health

On the command line, inside a checkout:

  export COFFER_URL=%[3]s COFFER_TOKEN=<token>
  coffer pull            write the secrets of an environment to a .env file
  coffer push            store the secrets of a .env file
  coffer run -- COMMAND  run a command with the secrets in its environment
  coffer --help          everything else
`, x.Version, x.gate.State(), x.PublicURL)
	x.w.Header()["Content-Type"] = textType
	x.write(http.StatusOK, []byte(text))
	return nil
}
