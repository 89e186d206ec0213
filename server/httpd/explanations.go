package httpd

import (
	"net/http"

	"coffer/server/api"
	"coffer/web"
)

// explanation is what pages say of an error: what they are headed by, the cause,
// and what helps.
type explanation struct {
	Head  string
	Means string
	Do    []string
}

var explanations = map[api.Code]explanation{
	api.BadRequest: {
		"The request cannot be read",
		"The server could not read the request, or it could be read in more than one way. It may be broken JSON, text that is not UTF-8, a name that comes twice, or a body that is missing.",
		[]string{
			"Read the error's detail: it says what is wrong and, for broken JSON, at which byte.",
			"Send one JSON object in UTF-8, and name each member and each query parameter once.",
		},
	},
	api.Unauthorized: {
		"Nobody is signed in",
		"The request had no credential, or one that the server does not know, or no longer: it may be mistyped, expired or revoked.",
		[]string{
			"Sign in again, or take another API key.",
			"In a program, send the token in the header \"Authorization: Bearer <token>\", and look for blanks or line breaks around it.",
		},
	},
	api.Forbidden: {
		"You may not do that",
		"The server knows who is asking, but this is not allowed. The reason may be the scope of an API key, the role on the repository, the rights in the environment, a test key in a protected environment, or the address that the request came from.",
		[]string{
			"Read the error's detail: it names what is missing.",
			"Use a key with that scope, or from an allowed address.",
			"Ask an administrator of the repository for the role or the right.",
		},
	},
	api.PlanLimit: {
		"The plan does not allow that",
		"This would go beyond what the account's plan allows: so many private vaults, environments, secrets, secrets in one push, connections to hosting providers, or saved syncs.",
		[]string{
			"Read the error's detail: it names the limit.",
			"Remove what is not needed any more, or push in smaller parts.",
			"The operator of the server decides which plan is the default. The error's upgradeUrl says where to read on.",
		},
	},
	api.NotFound: {
		"There is nothing here",
		"Nothing is at this address, or it is nothing that you may know about: without a role on a repository, its vault looks as if it did not exist.",
		[]string{
			"Check the spelling of the address, the repository, the environment and the key.",
			"Check that you are signed in as the right user, and that this user has a role on the repository.",
			"A repository may have no vault yet, and a deleted secret may be in the trash.",
		},
	},
	api.MethodNotAllowed: {
		"This address cannot be used like that",
		"The address exists, but not for this HTTP method.",
		[]string{
			"Use one of the methods that the answer's Allow header names.",
			"If a redirect or a proxy turned a POST into a GET, use the final address, with https, from the start.",
		},
	},
	api.Conflict: {
		"That does not go with what is there now",
		"It exists already, or its present state does not allow this. Somebody may have been faster than you.",
		[]string{
			"Look at the present state, then decide whether the request is still needed.",
			"After a push that was refused: pull, look at the keys that the error names, and push again.",
			"After a sync that was refused: look at its preview again, or connect to the hosting provider again where the error says so.",
		},
	},
	api.TooLarge: {
		"That is too much at once",
		"The body of the request is larger than 1,048,576 bytes.",
		[]string{
			"Send fewer secrets at once: push them in parts with the mode merge.",
			"Keep large files elsewhere, and only the key to them here.",
		},
	},
	api.Invalid: {
		"Something does not fit",
		"The request can be read, but some of its fields break a rule.",
		[]string{
			"The error's list \"errors\" names each of these fields and its rule.",
			"Correct them and send the request again. Nothing was written.",
		},
	},
	api.RateLimited: {
		"That was too often in a short time",
		"Too many requests came in a short time.",
		[]string{
			"Wait as many seconds as the Retry-After header says, then try again.",
			"If it happens often, ask for many secrets at once with a pull instead of one by one.",
			"The headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset show how much is left. The operator of the server can change the limits.",
		},
	},
	api.Internal: {
		"Something went wrong here",
		"Something went wrong on the server. It is not the fault of your request.",
		[]string{
			"Try again in a moment.",
			"If it stays, tell the operator the error's traceId: the server's log has a line with it.",
		},
	},
	api.ProviderFailed: {
		"Another service failed",
		"Another service that the request needs, such as a hosting provider, failed or did not answer.",
		[]string{
			"Try again later.",
			"Look at that provider's own status page, and check that the connection to it still works.",
		},
	},
	api.Sealed: {
		"This vault is sealed",
		"The vault is locked, or was never set up: the server does not have its master key, so it cannot read any secret. This is usual after a restart that could not find the key.",
		[]string{
			"If you are the operator, open it with \"coffer unseal\", or set a new server up with \"coffer init\".",
			"Otherwise tell the operator, and try again later.",
		},
	},
	api.Unavailable: {
		"The server cannot do that now",
		"The server cannot answer now. Most often the code host cannot be reached, so that roles cannot be checked; then nobody gets in on an old answer.",
		[]string{
			"Try again after as many seconds as the Retry-After header says.",
			"If it stays, look at the code host's status page, and tell the operator.",
		},
	},
	api.Timeout: {
		"That took too long",
		"The request took longer than 30 seconds and was stopped. Nothing was written.",
		[]string{
			"Try again. If it happens often, send less at once.",
			"On a slow line, check the connection; if it stays, tell the operator.",
		},
	},
}

// errorPage explains one kind of error to people: the type of an error is the
// address of its page.
func errorPage(x *exchange) error {
	code := api.Code(x.c.Param("slug"))
	k, ok := kinds[code]
	if !ok {
		return api.Errorf(api.NotFound, "There is no error of this name.")
	}
	e := explanations[code]
	return x.show(http.StatusOK, web.Explanation{Heading: e.Head, Slug: string(code), Name: k.title, Status: k.status, Means: e.Means, Do: e.Do})
}
