package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/client"
)

const (
	token  = "coffer_live_canary0000000000000000000000000000"
	canary = "canary-value <&> é"
)

// serve answers every request with h, and is the client for it.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &client.Client{URL: s.URL, Token: token, Version: "1.2"}
}

func TestRequestSaysWhoAsks(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got := []string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("User-Agent")}
		if diff := cmp.Diff([]string{"GET", "/v1/users/me", "Bearer " + token, "coffer/1.2"}, got); diff != "" {
			t.Error(diff)
		}
		fmt.Fprint(w, `{"data":{"username":"ann","later":true},"meta":{"requestId":"r"}}`)
	})
	me, err := c.Me(t.Context())
	if err != nil || me.Username != "ann" {
		t.Errorf("got %+v, %v", me, err)
	}
}

func TestValuesReachTheServer(t *testing.T) {
	var got map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = nil
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"data":{"message":"done"}}`)
	})
	secret := api.NewSecret(canary)
	for name, call := range map[string]func() error{
		"value": func() error {
			_, err := c.SetSecret(t.Context(), api.SetSecret{Ref: api.Ref{Owner: "a", Repo: "b"}, Key: "K", Value: secret, Environment: "dev"})
			return err
		},
		"secrets": func() error {
			_, err := c.Push(t.Context(), api.PushSecrets{RepoFullName: "a/b", Environment: "dev", Secrets: map[string]api.Secret{"K": secret}})
			return err
		},
		"passphrase": func() error { return c.Unseal(t.Context(), api.Unseal{Passphrase: &secret}) },
		"key":        func() error { return c.Unseal(t.Context(), api.Unseal{Key: &secret}) },
		"share": func() error {
			_, err := c.UnsealWithShares(t.Context(), secret)
			return err
		},
		"proof": func() error {
			_, err := c.RemoveUnsealMethod(t.Context(), api.RemoveUnsealMethod{ID: "x", Proof: &api.Unseal{Key: &secret}})
			return err
		},
		"password": func() error {
			_, err := c.AddLocalUser(t.Context(), api.AddLocalUser{Username: "ann", Password: secret})
			return err
		},
		"token": func() error {
			_, err := c.Connect(t.Context(), api.Connect{ProviderRef: api.ProviderRef{Provider: "vercel"}, Token: secret})
			return err
		},
		"claimToken": func() error {
			_, err := c.Initialize(t.Context(), api.Initialize{ClaimToken: secret, Setup: api.Setup{KeyFile: true}})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := fmt.Sprint(got[name]); !strings.Contains(text, canary) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestValueThatIsNoTextIsRefused(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	bad := api.NewSecret("caf\xe9")
	_, err := c.SetSecret(t.Context(), api.SetSecret{Ref: api.Ref{Owner: "a", Repo: "b"}, Key: "K", Value: bad})
	_, err2 := c.Push(t.Context(), api.PushSecrets{Secrets: map[string]api.Secret{"K": bad}})
	for _, err := range []error{err, err2} {
		if api.CodeOf(err) != api.Invalid {
			t.Errorf("got %v", err)
		}
	}
}

func TestProblemBecomesTheErrorItWas(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"type":"https://vault.example/base/errors/plan-limit","title":"Plan Limit Exceeded","status":403,
			"detail":"Too many.","instance":"/v1/vaults","traceId":"0193","upgradeUrl":"https://vault.example/upgrade",
			"errors":[{"field":"a","code":"too_large","message":"At most 1."}],"trialInfo":{"eligible":true}}`)
	})
	_, err := c.CreateVault(t.Context(), "a/b")
	var got *api.Error
	if !errors.As(err, &got) || !errors.Is(err, &api.Error{Code: api.PlanLimit}) {
		t.Fatalf("got %v", err)
	}
	want := &api.Error{
		Code: api.PlanLimit, Message: "Too many.", RequestID: "0193", RetryAfter: 7 * time.Second,
		UpgradeURL: "https://vault.example/upgrade",
		Fields:     []api.FieldError{{Field: "a", Code: api.FieldTooLarge, Message: "At most 1."}},
		Extra:      map[string]any{"trialInfo": map[string]any{"eligible": true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoAnswerOfOursIsANetworkError(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"a proxy's page": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>"+canary)
		},
		"foreign JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"type":"about:blank","detail":"x"}`)
		},
		"a page instead of an answer": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, canary) },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, zeros{}, 17<<20)
		},
	}
	for name, h := range answers {
		c := serve(t, h)
		_, err := c.Me(t.Context())
		var n *client.NetworkError
		if !errors.As(err, &n) || n.Server != c.URL {
			t.Errorf("%s: got %v", name, err)
		}
		if strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s: the error quotes the answer: %v", name, err)
		}
	}
	c := &client.Client{URL: "http://127.0.0.1:1", Token: token}
	_, err := c.ViewSecret(t.Context(), api.ViewSecret{Repo: "a/b", Environment: "dev", Key: "K"})
	var n *client.NetworkError
	if !errors.As(err, &n) || strings.Contains(err.Error(), "view") || strings.Contains(err.Error(), token) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Me(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestTokenStaysWithItsServer(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server was asked, with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/users/me":
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		case "/v1/sys/seal":
			http.Redirect(w, r, "/v1/api-keys", http.StatusFound)
		case "/v1/vaults":
			http.Redirect(w, r, "/v1/activity", http.StatusTemporaryRedirect)
		default:
			fmt.Fprint(w, `{"data":[]}`)
		}
	})
	var n *client.NetworkError
	if _, err := c.Me(t.Context()); !errors.As(err, &n) || !strings.Contains(err.Error(), other.URL) {
		t.Errorf("got %v", err)
	}
	if err := c.Seal(t.Context()); !errors.As(err, &n) {
		t.Errorf("a change became a read: %v", err)
	}
	if _, err := c.Vaults(t.Context(), api.Page{}); err != nil {
		t.Errorf("a redirect on the same server: %v", err)
	}
}

func TestPathNamesWhatIsMeantOrNothing(t *testing.T) {
	var path string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		w.WriteHeader(http.StatusNoContent)
	})
	if err := c.DeleteSecret(t.Context(), "acme/api", "a/b ?"); err != nil || path != "/v1/vaults/acme/api/secrets/a%2Fb%20%3F" {
		t.Errorf("got %s, %v", path, err)
	}
	path = ""
	for name, err := range map[string]error{
		"an empty id":   c.DestroySecret(t.Context(), "acme/api", ""),
		"a dot":         c.DeleteSecret(t.Context(), "acme/api", ".."),
		"no repository": c.DeleteVault(t.Context(), ""),
		"no name":       c.DeleteVault(t.Context(), "acme/"),
		"no owner":      c.DeleteVault(t.Context(), "/api"),
	} {
		if err == nil || path != "" {
			t.Errorf("%s: asked for %s, %v", name, path, err)
		}
	}
}

func TestDrainReadsEveryPage(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var offset, limit int
		fmt.Sscan(r.URL.Query().Get("offset"), &offset)
		fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		items := []string{}
		for i := offset; i < min(offset+limit, 250); i++ {
			items = append(items, fmt.Sprintf(`{"key":"K%d"}`, i))
		}
		fmt.Fprintf(w, `{"data":[%s],"meta":{"pagination":{"limit":%d,"offset":%d,"total":250}}}`, strings.Join(items, ","), limit, offset)
	})
	all, err := client.Drain(func(p api.Page) (*api.List[api.SecretMeta], error) {
		return c.Secrets(t.Context(), "acme/api", "", p)
	})
	if err != nil || len(all) != 250 || all[249].Key != "K249" {
		t.Errorf("got %d, %v", len(all), err)
	}
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://Vault.example/": "https://vault.example",
		"vault.example":          "https://vault.example",
		"http://h:1/base/":       "http://h:1/base",
	} {
		if got, err := client.ParseURL(in); err != nil || got != want {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "ftp://h", "https://", "https://u:p@h", "https://h?q", "https://h#f"} {
		if got, err := client.ParseURL(in); err == nil {
			t.Errorf("%s: got %q", in, got)
		}
	}
}
