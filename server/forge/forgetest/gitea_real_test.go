package forgetest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

// twin is a real host together with a fake that holds the same. What the real one
// must hold is told at realGitea in the tests of the package above.
type twin struct {
	*testing.T
	real, fake             string
	realTokens, fakeTokens map[string]string
}

// TestTheFakeIsLikeTheRealGitea asks both the same. COFFER_TEST_GITEA names a
// file that describes the real one; without it there is nothing to compare. It
// only reads.
func TestTheFakeIsLikeTheRealGitea(t *testing.T) {
	file := os.Getenv("COFFER_TEST_GITEA")
	if file == "" {
		t.Skip("COFFER_TEST_GITEA names no real host")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var seed struct {
		Version string
		URL     string
		UserIDs map[string]int64 `json:"user_ids"`
		Tokens  map[string]struct {
			User   string
			Token  string
			Scopes []string
		}
	}
	if err := json.Unmarshal(text, &seed); err != nil {
		t.Fatal(err)
	}
	listen := forgetest.NewGitea
	if strings.Contains(seed.Version, "+gitea-") {
		listen = forgetest.NewForgejo
	}
	w := forgetest.NewWorld()
	fake := listen(t, w)
	people := map[string]int64{}
	for _, login := range []string{"root1", "ann", "bob", "carl", "dora", "eve"} {
		people[login] = w.AddUser(login)
	}
	w.SetSiteAdmin(people["root1"])
	acme := w.AddOrg("acme", people["ann"])
	api, open := w.AddRepo(acme, "api", forgetest.Private), w.AddRepo(acme, "open", forgetest.Public)
	w.AddRepo(people["ann"], "own", forgetest.Private)
	w.AddTeamRepo(w.AddTeam(forgetest.Team{Org: acme, Name: "writers", Role: forge.Write}, people["bob"]), api)
	w.AddTeamRepo(w.AddTeam(forgetest.Team{Org: acme, Name: "triagers", Units: map[string]string{"repo.issues": "read"}}, people["dora"]), api)
	w.SetRole(open, people["carl"], forge.Read)
	two := twin{T: t, real: seed.URL + "/api/v1", fake: fake.URL + "/api/v1", realTokens: map[string]string{}, fakeTokens: map[string]string{}}
	for name, token := range seed.Tokens {
		two.realTokens[name] = token.Token
		two.fakeTokens[name] = w.Token(people[token.User], forgetest.PAT, token.Scopes...)
	}
	two.realTokens["dead"], two.fakeTokens["dead"] = strings.Repeat("0", 40), strings.Repeat("0", 40)
	two.compare()
}

func (two twin) compare() {
	for _, who := range []string{"", "ann", "bob", "carl", "dora", "eve", "root1_service", "bob_user_only", "dead"} {
		for _, path := range []string{
			"/version", "/user", "/user/repos", "/user/repos?limit=1", "/user/orgs",
			"/repos/acme/api", "/repos/ACME/open", "/repos/ann/own", "/repos/acme/none", "/repos/none/none", "/repositories/99999999",
			"/repos/acme/api/teams", "/repos/ann/own/teams", "/repos/acme/open/collaborators", "/repos/acme/api/collaborators",
			"/repos/acme/open/collaborators/carl", "/repos/acme/open/collaborators/bob", "/repos/acme/open/collaborators/none",
			"/repos/acme/api/collaborators/bob/permission", "/repos/acme/api/collaborators/dora/permission",
			"/repos/acme/api/collaborators/ann/permission", "/repos/acme/open/collaborators/carl/permission",
			"/orgs/acme", "/orgs/ann", "/orgs/none", "/orgs/acme/repos", "/orgs/acme/repos?limit=1",
			"/orgs/acme/members", "/orgs/acme/members?limit=2", "/orgs/acme/members/bob", "/orgs/acme/members/eve", "/orgs/acme/members/none",
			"/orgs/acme/public_members/bob", "/orgs/acme/teams", "/users/search?uid=99999999",
			"/users/ann/orgs/acme/permissions", "/users/bob/orgs/acme/permissions", "/users/none/orgs/acme/permissions",
		} {
			two.same(who, "", path)
		}
	}
	for _, login := range []string{"ann", "BOB", "carl", "dora", "eve", "root1", "none", "acme"} {
		for _, path := range []string{"/user", "/repos/acme/api", "/repos/acme/open", "/user/repos", "/user/orgs", "/orgs/acme/members/bob"} {
			two.same("root1_service", login, path)
			two.same("bob", login, path)
		}
	}
}

// ask is one answer: its status, its headers and what is in it.
func (two twin) ask(base, token, sudo, path string) (int, http.Header, any) {
	two.Helper()
	req, err := http.NewRequestWithContext(two.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		two.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	if sudo != "" {
		req.Header.Set("Sudo", sudo)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		two.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		two.Fatal(err)
	}
	var body any
	_ = json.Unmarshal(text, &body) // what is no JSON is compared by its status
	return res.StatusCode, res.Header, body
}

func (two twin) same(who, sudo, path string) {
	two.Helper()
	what := fmt.Sprintf("%s as %q, sudo %q", path, who, sudo)
	status, header, body := two.ask(two.real, two.realTokens[who], sudo, path)
	fakeStatus, fakeHeader, fakeBody := two.ask(two.fake, two.fakeTokens[who], sudo, path)
	if status != fakeStatus {
		two.Errorf("%s: status %d, the fake's %d: %v", what, status, fakeStatus, body)
		return
	}
	for _, name := range []string{"X-Total-Count", "Location"} {
		if header.Get(name) != fakeHeader.Get(name) {
			two.Errorf("%s: %s is %q, the fake's %q", what, name, header.Get(name), fakeHeader.Get(name))
		}
	}
	if more, fakeMore := strings.Contains(header.Get("Link"), `rel="next"`), strings.Contains(fakeHeader.Get("Link"), `rel="next"`); more != fakeMore {
		two.Errorf("%s: there is more %v, the fake's %v", what, more, fakeMore)
	}
	if status >= 400 && status != http.StatusForbidden {
		return // in many words, which nobody reads
	}
	if fault := within(fakeBody, body, ""); fault != "" {
		two.Errorf("%s: %s", what, fault)
	}
}

// within reports what of the fake's answer the real one does not say. Numbers and
// addresses differ.
func within(fake, real any, at string) string {
	key := at[strings.LastIndexByte(at, '.')+1:]
	if slices.Contains([]string{"id", "avatar_url", "html_url", "url", "email", "version"}, key) || key == "full_name" && !strings.Contains(fmt.Sprint(fake), "/") {
		return ""
	}
	switch fake := fake.(type) {
	case map[string]any:
		real, ok := real.(map[string]any)
		if !ok {
			return at + " is an object at the fake only"
		}
		for name, value := range fake {
			theirs, there := real[name]
			if !there {
				return at + "." + name + " is at the fake only"
			}
			if fault := within(value, theirs, at+"."+name); fault != "" {
				return fault
			}
		}
		return ""
	case []any:
		real, ok := real.([]any)
		if !ok || len(real) != len(fake) {
			return fmt.Sprintf("%s has %d items at the fake, and is %v", at, len(fake), real)
		}
		ordered(fake)
		ordered(real)
		for i := range fake {
			if fault := within(fake[i], real[i], at+"[]"); fault != "" {
				return fault
			}
		}
		return ""
	}
	if fmt.Sprint(fake) != fmt.Sprint(real) {
		return fmt.Sprintf("%s is %v, the fake's %v", at, real, fake)
	}
	return ""
}

func ordered(list []any) {
	name := func(v any) string {
		o, _ := v.(map[string]any)
		return fmt.Sprint(o["login"], o["full_name"], o["name"])
	}
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(name(a), name(b)) })
}
