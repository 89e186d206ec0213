package server_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/servertest"
)

// quiet is a configuration of data in dir.
func quiet(dir string) server.Config {
	return server.Config{Listen: "127.0.0.1:0", Data: dir, Log: server.LogConfig{Output: io.Discard}}
}

func TestMistakesInTheBindingToACodeHostAreNamed(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noKey := file("app.pem", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("canary")})))
	empty, text := file("empty", " \n"), file("text", "canary")
	gitea := func(c server.ForgeConfig) server.ForgeConfig {
		c.Kind, c.URL = "gitea", "https://git.example"
		return c
	}
	github := func(c server.ForgeConfig) server.ForgeConfig {
		c.Kind = "github"
		return c
	}
	for _, c := range []struct {
		forge server.ForgeConfig
		want  string
	}{
		{server.ForgeConfig{Kind: "bitbucket"}, `forge.kind is "bitbucket"; it is local, github, gitea, forgejo or gitlab`},
		{server.ForgeConfig{Kind: "gitea"}, "say where it is with forge.url"},
		{server.ForgeConfig{Kind: "forgejo"}, "forge.kind is forgejo: say where it is with forge.url"},
		{server.ForgeConfig{Kind: "gitea", URL: "git.example"}, "forge.url is no address of a code host"},
		{server.ForgeConfig{Kind: "gitea", URL: "https://ann:canary@git.example"}, "forge.url is no address of a code host"},
		{server.ForgeConfig{URL: "https://git.example"}, "forge.url is set, but the code host is the built-in one"},
		{server.ForgeConfig{Kind: "local", Token: "canary"}, "forge.token is set, but the code host is the built-in one"},
		{github(server.ForgeConfig{APIURL: "https://ghe.example/api/v3"}), "say with forge.url"},
		{gitea(server.ForgeConfig{APIURL: "ftp://git.example"}), "forge.api_url is no address of a code host"},
		{gitea(server.ForgeConfig{MovedFrom: "old"}), "forge.moved_from is no address of a code host"},
		{gitea(server.ForgeConfig{ClientID: "id"}), "set COFFER_FORGE_CLIENT_SECRET or forge.client_secret_file"},
		{gitea(server.ForgeConfig{ClientSecret: "canary"}), "set forge.client_id"},
		{gitea(server.ForgeConfig{ClientID: "id", ClientSecretFile: empty}), "forge.client_secret_file: " + empty + " is empty"},
		{gitea(server.ForgeConfig{TokenFile: dir + "/none"}), "forge.token_file: open "},
		{gitea(server.ForgeConfig{WebhookSecretFile: empty}), "forge.webhook_secret_file: "},
		{gitea(server.ForgeConfig{AppID: "1"}), "are for github"},
		{gitea(server.ForgeConfig{CAFile: text}), "forge.ca_file: " + text + " holds no certificate in PEM"},
		{gitea(server.ForgeConfig{CAFile: dir + "/none"}), "forge.ca_file: open "},
		{gitea(server.ForgeConfig{GitLabAdminLevel: 40}), "forge.kind is not gitlab"},
		{server.ForgeConfig{Kind: "gitlab", GitLabAdminLevel: 30}, "it is 50 (owner) or 40 (maintainer)"},
		{gitea(server.ForgeConfig{RoleTTL: 2 * time.Minute}), "it is at most 1m0s"},
		{github(server.ForgeConfig{Token: "canary"}), "set forge.app_id and forge.app_key_file"},
		{github(server.ForgeConfig{AppID: "1"}), "belong together"},
		{github(server.ForgeConfig{AppID: "1", AppKeyFile: noKey}), "holds not an RSA private key in PEM"},
		{github(server.ForgeConfig{AppID: "1", AppKeyFile: dir + "/none"}), "forge.app_key_file: open "},
	} {
		data := filepath.Join(dir, "data")
		cfg := quiet(data)
		cfg.Forge = c.forge
		_, err := server.New(cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%+v: got %v, want %q", c.forge, err, c.want)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%+v: data was made", c.forge)
		}
	}
}

func TestAnAppSignsWithItsPrivateKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "app.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var bearer string
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v3/app" {
			bearer = r.Header.Get("Authorization")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"current_user_url":"x"}`)
	}))
	defer host.Close()
	cfg := quiet(filepath.Join(dir, "data"))
	cfg.Forge = server.ForgeConfig{Kind: "github", URL: host.URL, AppID: "Iv1.abc", AppKeyFile: file}
	if _, err := server.CheckForge(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	token := strings.Split(strings.TrimPrefix(bearer, "Bearer "), ".")
	if len(token) != 3 {
		t.Fatalf("the App came with %q", bearer)
	}
	claims, err := base64.RawURLEncoding.DecodeString(token[1])
	if err != nil || !strings.Contains(string(claims), `"iss":"Iv1.abc"`) {
		t.Errorf("%s, %v", claims, err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[2])
	sum := sha256.Sum256([]byte(token[0] + "." + token[1]))
	if err != nil || rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		t.Error("it is not signed with the App's key")
	}
}

// elsewhere is a code host of another kind, where every token is that of one
// user, who is admin of one repository.
type elsewhere struct {
	forge.Forge
	kind string
}

func (e elsewhere) Kind() string { return e.kind }

func (elsewhere) Bearer(_ context.Context, token string) (forge.User, error) {
	return forge.User{ID: "1", Login: token}, nil
}

func (elsewhere) Repository(_ context.Context, _ forge.Asker, owner, name string) (forge.Repository, error) {
	return forge.Repository{ID: "1", Owner: owner, Name: name, OwnerKind: forge.OwnerUser, OwnerID: "1"}, nil
}

func (e elsewhere) Role(_ context.Context, _ forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	return forge.Reachable{Repository: repo, Role: forge.Admin}, nil
}

// boundTo is an option: the instance is bound to a code host of this kind there.
func boundTo(kind, url string) func(*server.Config) {
	return func(c *server.Config) {
		c.Forge = server.ForgeConfig{Kind: kind, URL: url}
		c.TestOnlyForge = func(forge.Directory) forge.Forge { return elsewhere{kind: kind} }
	}
}

// Check finds what a test wants to see.
func (elsewhere) Check(context.Context) []forge.Finding {
	return []forge.Finding{{What: "address", Level: forge.FindingOK, Detail: "it answers"}, {What: "sign-in application", Level: forge.FindingFailed, Detail: "it is unknown there"}}
}

func TestTheOperatorHasTheCodeHostChecked(t *testing.T) {
	option := boundTo("gitea", "https://git.example/")
	in := servertest.New(t, option)
	want := &api.ForgeCheck{Kind: "gitea", URL: "https://git.example", Findings: []api.Finding{
		{What: "address", Level: "ok", Detail: "it answers"}, {What: "sign-in application", Level: "failed", Detail: "it is unknown there"},
	}}
	got, err := in.Operator.CheckForge(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	cfg := quiet(t.TempDir())
	option(&cfg)
	got, err = server.CheckForge(t.Context(), cfg)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("without a server: %v\n%s", err, diff)
	}
	if _, err := in.Client("ann").CheckForge(t.Context()); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a user asks: %v", err)
	}
}

func TestStatusShowsTheCodeHost(t *testing.T) {
	token := func(c *server.Config) { c.Forge.Token = "c4n4ry" }
	for _, c := range []struct {
		options []func(*server.Config)
		want    api.ForgeStatus
	}{
		{nil, api.ForgeStatus{Kind: "local", Credential: api.ForgeAskedByNone}},
		{[]func(*server.Config){boundTo("gitea", "https://git.example/")}, api.ForgeStatus{Kind: "gitea", URL: "https://git.example", Credential: api.ForgeAskedByUsers}},
		{[]func(*server.Config){boundTo("gitlab", ""), token}, api.ForgeStatus{Kind: "gitlab", URL: "https://gitlab.com", Credential: api.ForgeAskedByToken}},
	} {
		st, err := servertest.New(t, c.options...).Validate().Operator.Status(t.Context())
		if err != nil || st.Forge != c.want {
			t.Errorf("got %+v, %v, want %+v", st.Forge, err, c.want)
		}
	}
}

// TestAForgejoIsCalledByItsName and is of Gitea's kind all the same.
func TestAForgejoIsCalledByItsName(t *testing.T) {
	for kind, name := range map[string]string{"gitea": "Gitea", "forgejo": "Forgejo"} {
		in := servertest.New(t, func(c *server.Config) {
			c.Forge = server.ForgeConfig{Kind: kind, URL: "https://git.example", ClientID: "id", ClientSecret: "secret"}
		})
		expectSeen(t, in.Browser().Open("/login"), 200, ">Sign in with "+name+"<", "Your account at "+name+" says")
		st, err := in.Operator.Status(t.Context())
		if err != nil || st.Forge.Kind != "gitea" || st.Forge.URL != "https://git.example" {
			t.Errorf("%s: %+v, %v", kind, st, err)
		}
	}
}

func TestTheBuiltInCodeHostNeedsNoCheck(t *testing.T) {
	want := &api.ForgeCheck{Kind: "local", Findings: []api.Finding{}}
	got, err := servertest.New(t).Validate().Operator.CheckForge(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = server.CheckForge(t.Context(), quiet(t.TempDir()))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("without a server: %v\n%s", err, diff)
	}
}

// opens is what comes of opening data with a configuration.
func opens(data string, options ...func(*server.Config)) error {
	cfg := quiet(data)
	for _, o := range options {
		o(&cfg)
	}
	s, err := server.New(cfg)
	if err == nil {
		err = s.Close()
	}
	return err
}

func movedFrom(url string) func(*server.Config) {
	return func(c *server.Config) { c.Forge.MovedFrom = url }
}

func TestDataOfOneCodeHostIsNotOpenedWithAnother(t *testing.T) {
	in := servertest.New(t, boundTo("gitea", "https://git.example"))
	ann := in.Client("ann")
	in.Vault(ann, repo)
	in.Stop()
	for name, o := range map[string]func(*server.Config){
		"the same":                     boundTo("gitea", "https://git.example"),
		"the same in another spelling": boundTo("gitea", "HTTPS://Git.Example:443/"),
	} {
		if err := opens(in.Data, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string][]func(*server.Config){
		"the built-in one":       nil,
		"another kind":           {boundTo("gitlab", "https://git.example")},
		"another address":        {boundTo("gitea", "https://other.example")},
		"another port":           {boundTo("gitea", "https://git.example:8443")},
		"another path":           {boundTo("gitea", "https://git.example/git")},
		"moved from elsewhere":   {boundTo("gitea", "https://other.example"), movedFrom("https://third.example")},
		"moved and another kind": {boundTo("gitlab", "https://other.example"), movedFrom("https://git.example")},
	} {
		err := opens(in.Data, o...)
		if err == nil || !strings.Contains(err.Error(), "this data belongs to gitea at https://git.example") {
			t.Errorf("%s: %v", name, err)
		}
	}
	moved := []func(*server.Config){boundTo("gitea", "https://new.example"), movedFrom("https://git.example/")}
	for range 2 { // the key may stay
		if err := opens(in.Data, moved...); err != nil {
			t.Error(err)
		}
	}
	if err := opens(in.Data, boundTo("gitea", "https://git.example")); err == nil || !strings.Contains(err.Error(), "forge.moved_from: https://new.example") {
		t.Errorf("the old address opens: %v", err)
	}
}

func TestTheBuiltInCodeHostBindsToo(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	in.Stop()
	err := opens(in.Data, boundTo("gitea", "https://git.example"))
	if err == nil || !strings.Contains(err.Error(), "this data belongs to the built-in code host") {
		t.Errorf("got %v", err)
	}
}

func TestTheCodeHostIsFreeWhileNobodyUsesIt(t *testing.T) {
	in := servertest.New(t)
	in.Stop()
	for _, o := range []func(*server.Config){
		boundTo("gitea", "https://git.example"), boundTo("gitlab", ""), boundTo("local", ""), boundTo("github", ""),
	} {
		if err := opens(in.Data, o); err != nil {
			t.Error(err)
		}
	}
}
