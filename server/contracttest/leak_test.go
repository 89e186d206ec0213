package contracttest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const canary = "c4n4ry-8f1e6a-do-not-print"

// written are the forms in which a text may hide: as it is, in hex, and in
// base64 at each of its three alignments.
func written(text string) [][]byte {
	all := [][]byte{[]byte(text), []byte(hex.EncodeToString([]byte(text)))}
	for shift := range 3 {
		b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		b = b[(shift*8+5)/6 : len(b)-4]
		all = append(all, []byte(b), []byte(strings.NewReplacer("+", "-", "/", "_").Replace(b)))
	}
	return all
}

func holds(haystack []byte, secrets ...string) string {
	for _, secret := range secrets {
		for _, form := range written(secret) {
			if bytes.Contains(haystack, form) {
				return string(form)
			}
		}
	}
	return ""
}

// files is what lies in a directory, by name.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNothingLeaksAValueOrAToken tells a long story around one value, good and
// bad requests alike, and then looks for it everywhere it must not be.
func TestNothingLeaksAValueOrAToken(t *testing.T) {
	t.Parallel()
	s := ownSite(t)
	who := s.users(t, "ann", "eve")
	ann := who["ann"]
	v := ann.vault(t, "@ann/api")
	minted, a := ann.mint(t, keyWith(`"name":"n"`))
	tokens := []string{ann.token, who["eve"].token, minted.token}
	one := v.at() + "/secrets/"

	id := ann.set(t, v, "staging", "A", canary)
	ann.do(t, "PATCH "+one+id, `{"value":"other"}`).ok(200)
	ann.do(t, "PATCH "+one+id, `{"name":"B","value":"`+canary+`"}`).ok(200)
	ann.push(t, v, "production", `{"A":"`+canary+`","B":"-----\n`+canary+`\n"}`, "").ok(200)
	ann.push(t, v, "production", `{"A":"changed","B":"`+canary+`"}`, "").ok(200)
	for _, call := range []string{"GET " + one + id + "/value", "GET /v1/secrets/view?repo=@ann/api&environment=staging&key=B",
		"GET " + one + id + "/versions/" + ann.version(t, v, id, 1) + "/value", "GET /v1/secrets/pull?repo=@ann/api&environment=production",
		"GET /v1/secrets/pull?repo=@ann/api&environment=production&format=json"} {
		if a := ann.do(t, call, "").ok(200); !strings.Contains(string(a.raw), canary) {
			t.Errorf("%s does not answer the value", call)
		}
	}
	ann.do(t, "POST "+one+id+"/versions/"+ann.version(t, v, id, 1)+"/restore", "").ok(200)
	ann.do(t, "DELETE "+one+id, "").ok(204)
	ann.do(t, "POST "+v.at()+"/trash/"+id+"/restore", "").ok(200)
	ann.do(t, "DELETE "+one+id, "").ok(204)
	ann.do(t, "DELETE "+v.at()+"/trash/"+id, "").ok(204)
	ann.push(t, v, "production", `{}`, "").ok(200)
	ann.do(t, "DELETE /v1/api-keys/"+a.text("data.id"), "").ok(204)

	for _, a := range ann.misuse(t, v, who["eve"]) {
		if a.status < 400 {
			t.Errorf("%s: %d", a.call, a.status)
		}
		if form := holds(a.raw, append(tokens, canary)...); form != "" {
			t.Errorf("%s: %d shows %s: %s", a.call, a.status, form, a.raw)
		}
	}
	for _, path := range []string{"/v1/activity?limit=100", v.at() + "/activity?limit=100", v.at() + "/secrets", v.at() + "/trash", v.at(), "/v1/api-keys"} {
		if a := ann.do(t, "GET "+path, "").ok(200); holds(a.raw, append(tokens, canary)...) != "" {
			t.Errorf("%s shows a secret: %s", path, a.raw)
		}
	}
	ann.set(t, v, "staging", "STILL_THERE", canary)
	places := files(t, s.Data)
	if len(places) == 0 {
		t.Error("there are no data files")
	}
	s.Stop()
	for path, content := range files(t, s.Data) {
		places[path+" of a stopped instance"] = content
	}
	places["the log"] = []byte(s.Log.String())
	if len(places["the log"]) == 0 {
		t.Error("the log is empty")
	}
	for place, content := range places {
		if form := holds(content, append(tokens, canary, "a password", s.Recovery)...); form != "" {
			t.Errorf("%s holds %s", place, form)
		}
	}
}

// misuse sends the value where it does not belong, and in ways it is refused.
func (c *caller) misuse(t testing.TB, v *sample, stranger *caller) []*answer {
	t.Helper()
	var all []*answer
	q := quoted(canary)
	push := `{"repoFullName":"@ann/api","environment":"staging","secrets":%s}`
	for call, bodies := range map[string][]string{
		postPush: {
			`{"secrets":{"A":` + q, q, "[" + q + "]", `{"secrets":{"A":` + q + `,"A":` + q + `}}`, canary,
			fmt.Sprintf(push, `{"bad-key":`+q+`}`), fmt.Sprintf(push, `{"A":[`+q+`]}`), fmt.Sprintf(push, `{"A":{"x":`+q+`}}`), fmt.Sprintf(push, q),
			fmt.Sprintf(push, `{"A":"`+canary+`\u0000"}`), fmt.Sprintf(push, `{"A":"`+canary+`\ud800"}`), fmt.Sprintf(push, `{"A":"`+canary+"\xff\"}"),
			fmt.Sprintf(push, `{"A":"`+canary+strings.Repeat("x", 262144)+`"}`), fmt.Sprintf(push, `{"A":`+q+`}`) + strings.Repeat(" ", maxBody),
			`{"repoFullName":` + q + `,"environment":` + q + `,"secrets":{},"mode":` + q + `}`,
			strings.Replace(fmt.Sprintf(push, `{"A":`+q+`}`), "staging", "nowhere", 1), strings.Replace(fmt.Sprintf(push, `{"A":`+q+`}`), "api", "none", 1),
		},
		postSecret:                        {`{"key":"lower","value":` + q + `}`, `{"key":"A","value":[` + q + `],"environment":"staging"}`, `{"key":` + q + `}`, `{"value":` + q},
		"PATCH {V}/secrets/" + someID:     {`{"value":` + q + `}`, `{"name":` + q + `}`, `{"name":"A","key":` + q + `}`, `{"value":{"a":` + q + `}}`},
		postVault:                         {`{"repoFullName":` + q + `}`},
		postKey:                           {`{"name":[` + q + `],"environment":` + q + `,"scopes":[` + q + `],"allowedIps":[` + q + `],"expiresInDays":` + q + `}`},
		postEnv:                           {`{"name":"` + canary + `!"}`, `{"name":"qa","type":` + q + `}`},
		"POST /v1/sys/seal":               {q, `{"x":` + q + `}`},
		"POST /v1/operator/users":         {`{"username":` + q + `,"password":` + q + `}`},
		"POST /v1/operator/rekey":         {`{"passphrase":` + q + `,"proof":{"key":` + q + `},"drop":[` + q + `]}`},
		"POST /v1/auth/token/validate":    {q},
		getView + "?repo=" + canary:       {""},
		"GET /v1/vaults?limit=" + canary:  {""},
		"GET /v1/nowhere?token=" + canary: {q},
	} {
		for _, body := range bodies {
			for _, c := range []*caller{c, stranger, c.nobody()} {
				all = append(all, c.do(t, v.fill(call), body, "X-Request-ID", canary, "Cookie", "coffer_session="+canary))
			}
		}
	}
	for _, token := range []string{canary, "coffer_live_" + canary, c.token + canary, c.token[:20], "eyJhbGciOiJub25lIn0." + canary + "."} {
		all = append(all, c.do(t, "GET /v1/users/me?token="+c.token, "", "Authorization", "Bearer "+token))
	}
	return append(all, c.do(t, "GET /v1/users/me", "", "Authorization", "Basic "+c.token))
}
