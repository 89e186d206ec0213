package cli

import (
	"os"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"coffer/server/hosting/hostingtest"
)

// playVercel is somebody at Vercel, who makes an account with a token in the file
// vercel-token, or a project in it; sets, hides or ends something; or wants an
// environment to hold just these values.
func playVercel(v *hostingtest.Vercel) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: vercel join|project|set|hide|revoke|holds …")
		}
		rest := args[1:]
		switch args[0] {
		case "join": // NAME
			user := v.AddUser(rest[0])
			ts.Setenv("VERCEL_USER", user)
			token := v.Token(hostingtest.VercelToken{User: user})
			ts.Check(os.WriteFile(ts.MkAbs("vercel-token"), []byte(token+"\n"), 0o600))
		case "revoke":
			v.Revoke(strings.TrimSpace(ts.ReadFile("vercel-token")))
		case "project": // VARIABLE NAME [REPOSITORY]
			project := v.AddProject(ts.Getenv("VERCEL_USER"), rest[1])
			ts.Setenv(rest[0], project)
			if len(rest) == 3 {
				owner, name, _ := strings.Cut(rest[2], "/")
				v.Link(project, map[string]any{"type": "github", "org": owner, "repo": name})
			}
		case "set": // PROJECT ENVIRONMENT KEY VALUE
			v.Put(rest[0], rest[1], rest[2], rest[3])
		case "hide": // PROJECT ENVIRONMENT KEY VALUE
			v.AddRecord(rest[0], hostingtest.VercelRecord{Key: rest[2], Value: rest[3], Type: "sensitive", Targets: []string{rest[1]}})
		case "holds": // PROJECT ENVIRONMENT [KEY=VALUE...]
			want := map[string]string{}
			for _, pair := range rest[2:] {
				key, value, _ := strings.Cut(pair, "=")
				want[key] = value
			}
			if diff := cmp.Diff(want, v.Held(rest[0], rest[1])); diff != "" {
				ts.Fatalf("%s holds something else:\n%s", rest[1], diff)
			}
		default:
			ts.Fatalf("vercel does not know how to %s", args[0])
		}
	}
}
