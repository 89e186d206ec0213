package contracttest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const maxBody = 1 << 20

func TestBodiesOverAMebibyteAreTooLarge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	ann.vault(t, "@ann/api")
	body := ann.real(`{"repoFullName":"@ann/api","environment":"staging","secrets":{"A":"1"}}`)
	full := body + strings.Repeat(" ", maxBody-len(body))
	ann.do(t, "POST /v1/secrets/push", full).ok(200)
	for _, more := range []int{1, 4 << 20} {
		for range 2 {
			ann.do(t, "POST /v1/secrets/push", full+strings.Repeat(" ", more)).fails(413, "payload-too-large")
		}
	}
	s.nobody().do(t, "GET /v1/users/me", full+" ").fails(413, "payload-too-large")

	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/secrets/push", io.MultiReader(strings.NewReader(full), strings.NewReader(" ")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+ann.token)
	res, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("in chunks: %s", res.Status)
	}
}

func TestSizesAreTakenUpToTheirLimit(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	secrets := "POST " + v.at() + "/secrets"
	key := "K" + strings.Repeat("_", 255)
	ann.do(t, secrets, fmt.Sprintf(`{"key":%q,"value":"","environment":"staging"}`, key)).ok(201)
	ann.do(t, secrets, fmt.Sprintf(`{"key":%q,"value":"","environment":"staging"}`, key+"_")).fails(422, "validation-error", "key:invalid_format")

	large := strings.Repeat("é", 131072) // 262,144 bytes
	ann.do(t, secrets, `{"key":"A","value":"`+large+`","environment":"staging"}`).ok(201)
	ann.do(t, secrets, `{"key":"B","value":"`+large+`x","environment":"staging"}`).fails(422, "validation-error", "value:too_large")
	ann.push(t, v, "staging", `{"A":"`+large+`x"}`, "").fails(422, "validation-error", "secrets.A:too_large")

	name := "a" + strings.Repeat("-", 29)
	ann.do(t, "POST "+v.at()+"/environments", `{"name":"`+name+`"}`).ok(201)
	ann.do(t, "POST "+v.at()+"/environments", `{"name":"`+name+`-"}`).fails(422, "validation-error", "name:invalid_format")

	repo := strings.Repeat("r", 100)
	ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/`+repo+`"}`).ok(201)
	ann.do(t, "GET /v1/vaults/@ann/"+repo, "").ok(200)
	ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/`+repo+`r"}`).fails(422, "validation-error", "repoFullName:invalid_format")
}

func TestAPushTakesAThousandSecrets(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", numbered(1001), "").fails(422, "validation-error", "secrets:too_large")
	a := ann.push(t, v, "staging", numbered(1000), "").ok(200)
	a.same(`{"created":1000,"updated":0,"deleted":0,"unchanged":0}`, a.at("data.stats"))
	a = ann.pull(t, v, "staging", "&limit=1000").ok(200)
	a.same(`1000`, a.at("data.count"))
	ann.pull(t, v, "staging", "&limit=1001").fails(422, "validation-error", "limit:too_large")
}

// numbered is n secrets as JSON.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"KEY_%04d":"value %d"`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestAtMostAHundredFieldsAreNamed(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	a := ann.do(t, "POST /v1/secrets/push", `{"repoFullName":"@ann/api","environment":"staging","secrets":`+strings.ToLower(numbered(150))+`}`)
	if n := len(a.ok(422).fields()); n != 100 || a.text("detail") != "150 fields are invalid." {
		t.Errorf("%d fields, detail %q", n, a.text("detail"))
	}
}
