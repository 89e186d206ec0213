package forge

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

func TestGitHubAPI(t *testing.T) {
	for root, want := range map[string]string{
		"https://github.com":               "https://api.github.com",
		"https://GitHub.com":               "https://api.github.com",
		"https://acme.ghe.com":             "https://api.acme.ghe.com",
		"https://git.acme.example":         "https://git.acme.example/api/v3",
		"http://localhost:8080":            "http://localhost:8080/api/v3",
		"https://github.com.acme.example":  "https://github.com.acme.example/api/v3",
		"https://not-ghe.com":              "https://not-ghe.com/api/v3",
		"https://git.acme.example/sub/dir": "https://git.acme.example/sub/dir/api/v3",
	} {
		if got := githubAPI(root); got != want {
			t.Errorf("the API of %s is at %s, want %s", root, got, want)
		}
	}
}

func TestGitHubGoesOnWhereTheLinkSays(t *testing.T) {
	q := question{path: "/user/repos", query: url.Values{"per_page": {"50"}}}
	for link, want := range map[string]string{
		"": "",
		`<https://api.github.com/user/repos?per_page=50&page=2>; rel="next", <https://api.github.com/user/repos?page=9>; rel="last"`:   "page=2&per_page=50",
		`<https://elsewhere.example/x?page=1>; rel="prev", <https://elsewhere.example/user/repos?after=Y3%3D&per_page=50>; rel="next"`: "after=Y3%3D&per_page=50",
		`<https://api.github.com/user/repos?page=1>; rel="first"`:                                                                      "",
		`<%zz>; rel="next"`: "",
	} {
		next, more := githubNext(q, http.Header{"Link": {link}}, 50)
		if more != (want != "") || more && (next.query.Encode() != want || next.path != q.path) {
			t.Errorf("after %s it goes on: %v, at %s?%s, want %q", link, more, next.path, next.query.Encode(), want)
		}
	}
}

// FuzzGitHubAnswers reads headers and bodies of refusals as they come.
func FuzzGitHubAnswers(f *testing.F) {
	g, err := newGitHub(Config{URL: "https://git.example", Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`<https://a/b?page=2>; rel="next"`, "0", "1700000000", "repo, read:org", "admin:org, read:org", []byte(`{"message":"You have exceeded a secondary rate limit."}`))
	f.Add(`<>; rel="next",,`, "x", "-9223372036854775808", ",, ,", " ", []byte(`{"message":7}`))
	f.Fuzz(func(t *testing.T, link, remaining, reset, scopes, accepted string, body []byte) {
		h := http.Header{
			"Link": {link}, "X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset": {reset},
			"X-Oauth-Scopes": {scopes}, "X-Accepted-Oauth-Scopes": {accepted},
		}
		if q, more := githubNext(question{path: "/x"}, h, 1); more && q.path != "/x" {
			t.Errorf("a link leads to %s", q.path)
		}
		switch err := g.refusal(h, body).(type) {
		case nil:
		case *Unavailable:
			if err.RetryAfter <= 0 || err.RetryAfter > 3600e9 {
				t.Errorf("the host is to be left alone for %v", err.RetryAfter)
			}
		case *Missing:
			if err.What == "" || err.What == "the scope " {
				t.Errorf("lacking is %q", err.What)
			}
		default:
			t.Errorf("a refusal is %v", err)
		}
	})
}
