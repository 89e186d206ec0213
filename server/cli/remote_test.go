package cli

import (
	"strings"
	"testing"

	"coffer/server/api"
)

func TestParseRemote(t *testing.T) {
	for address, want := range map[string]string{
		"https://git.example/ann/app":                    "ann/app",
		"https://git.example/ann/app.git":                "ann/app",
		"https://git.example/ann/app.git/":               "ann/app",
		"https://git.example:8443/ann/app/":              "ann/app",
		"https://ann@git.example/ann/app.git":            "ann/app",
		"https://ann:token@git.example/ann/app.git":      "ann/app",
		"https://x-access-token:t@github.com/ann/app":    "ann/app",
		"http://10.0.0.7:3000/ann/app.git":               "ann/app",
		"https://[2001:db8::1]:3000/ann/app":             "ann/app",
		"ssh://git@git.example/ann/app.git":              "ann/app",
		"ssh://git.example/ann/app":                      "ann/app",
		"ssh://git@git.example:2222/ann/app.git":         "ann/app",
		"git+ssh://git@git.example/ann/app.git":          "ann/app",
		"git://git.example/ann/app.git":                  "ann/app",
		"git@git.example:ann/app.git":                    "ann/app",
		"git@git.example:/ann/app.git":                   "ann/app",
		"git.example:ann/app":                            "ann/app",
		"git@deep.nested.git.example:ann/app.js.git":     "ann/app.js",
		"git@[2001:db8::1]:ann/app.git":                  "ann/app",
		"[git@git.example:2222]:ann/app.git":             "ann/app",
		"ssh://git@git.example:22/Ann-1/My_App.v2.git  ": "Ann-1/My_App.v2",
		"git@gitlab.example:group/sub/project.git":       "group:sub/project",
		"https://gitlab.com/group/sub/deep/project.git":  "group:sub:deep/project",
		"ssh://git@gitlab.example:2222/2024/sub/project": "2024:sub/project",
	} {
		if got, err := parseRemote(address); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", address, got, err, want)
		}
	}
}

func TestParseRemoteRefuses(t *testing.T) {
	for address, want := range map[string]string{
		"":                                         "path on this machine",
		"/srv/git/app.git":                         "path on this machine",
		"../app":                                   "path on this machine",
		"./host:ann/app":                           "path on this machine",
		"file:///srv/git/ann/app.git":              "path on this machine",
		`C:\git\ann\app`:                           "path on this machine",
		"C:/git/app":                               "path on this machine",
		"https://git.example/app.git":              "no owner and name",
		"https://git.example/":                     "no owner and name",
		"https:///ann/app":                         "form is unknown",
		"ftp://git.example/ann/app":                "form is unknown",
		"codecommit::eu-west-1://app":              "form is unknown",
		"ext::ssh git.example ann/app":             "form is unknown",
		"git@git.example:2222/ann/app.git":         "looks like a port",
		"https://gitlab.com/group/../project.git":  "letters, digits",
		"https://gitlab.com/group:sub/project.git": "letters, digits",
		"ssh://git@git.example/~ann/app":           "letters, digits",
		"https://git.example/ann/..":               "letters, digits",
		"https://user:hunter2@git.example/%zz/app": "form is unknown",
		"https://user:hunter2@git.example/a b/app": "letters, digits",
	} {
		got, err := parseRemote(address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v; want an error with %q", address, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds the password", address)
		}
	}
}

func FuzzParseRemote(f *testing.F) {
	f.Add("https://u:p@git.example:8443/ann/app.git/")
	f.Add("git@[::1]:ann/app")
	f.Add("[")
	f.Fuzz(func(t *testing.T, address string) {
		repo, err := parseRemote(address)
		if err == nil {
			if _, _, ok := api.SplitRepo(repo); !ok {
				t.Errorf("%q gives %q", address, repo)
			}
		}
	})
}

func TestRemotesArePreferred(t *testing.T) {
	listing := "fork\tgit@git.example:bob/app (fetch)\nfork\tgit@git.example:bob/app (push)\n" +
		"origin\thttps://git.example/bob/app (fetch) [blob:none]\norigin\thttps://git.example/bob/app (push)\n" +
		"upstream\tgit@git.example:ann/app (fetch)\nupstream\tgit@git.example:ann/app (push)\n"
	remotes := parseRemotes(listing)
	if len(remotes) != 3 || remotes["origin"] != "https://git.example/bob/app" {
		t.Fatalf("got %q", remotes)
	}
	for _, want := range []string{"upstream", "origin", "fork"} {
		if got, _, err := chooseRemote(remotes); got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		delete(remotes, want)
	}
	if _, _, err := chooseRemote(map[string]string{"a": "", "b": ""}); err == nil || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("got %v", err)
	}
}
