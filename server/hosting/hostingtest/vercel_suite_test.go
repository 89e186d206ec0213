package hostingtest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
)

// vercelHosts are the ways in which a Vercel is synced with: with tokens of both
// kinds, to an environment of the project's own making, in each form of lists.
var vercelHosts = map[string]func(*vercelWorld) (here, there string){
	"pasted token": func(*vercelWorld) (string, string) { return "production", "preview" },
	"token of an installation": func(w *vercelWorld) (string, string) {
		w.token.Integration, w.token.Team = true, w.team
		w.SetForm(hostingtest.VercelWhole)
		return "preview", "production"
	},
	"custom environment": func(w *vercelWorld) (string, string) {
		w.Terse(w.project)
		w.SetForm(hostingtest.VercelBare)
		return "canary", "production"
	},
}

func TestVercel(t *testing.T) {
	for name, set := range vercelHosts {
		t.Run(name, func(t *testing.T) {
			hostingtest.Run(t, func(t *testing.T) *hostingtest.Host { return vercelHost(t, newVercel(t), set) })
		})
	}
}

// vercelHost is a Vercel for the rules.
func vercelHost(t *testing.T, w *vercelWorld, set func(*vercelWorld) (here, there string)) *hostingtest.Host {
	here, there := set(w)
	id := func(environment string) string {
		if environment == "canary" {
			return w.canary
		}
		return environment
	}
	record := func(key, value string, places ...string) vercelRecord {
		r := vercelRecord{Key: key, Value: value}
		for _, place := range places {
			if place == "canary" {
				r.Custom = append(r.Custom, w.canary)
			} else {
				r.Targets = append(r.Targets, place)
			}
		}
		return r
	}
	add := func(r vercelRecord, change func(*vercelRecord)) {
		change(&r)
		w.AddRecord(w.project, r)
	}
	return &hostingtest.Host{
		Fake: w.Fake, Project: w.project, Here: here, There: there,
		Provider: func() hosting.Provider { return w.provider(t) },
		Waited:   func() time.Duration { return time.Duration(w.waited.Load()) },

		Credential: w.credential,
		Revoke:     func(c hosting.Credential) { w.Revoke(c.Token.Reveal()) },
		Stranger: func() hosting.Credential {
			user := w.AddUser("eve")
			team := w.AddTeam("Others", user)
			w.AddProject(team, "engine")
			return hosting.Credential{Token: api.NewSecret(w.Token(hostingtest.VercelToken{User: user})), Team: team}
		},
		AddProjects: func(n int) {
			for i := range n {
				w.AddProject(w.team, fmt.Sprintf("project-%d", i))
			}
		},

		Put:    func(environment, key, value string) { w.Put(w.project, id(environment), key, value) },
		Remove: func(environment, key string) { w.Vercel.Remove(w.project, id(environment), key) },
		Held:   func(environment string) map[string]string { return w.Held(w.project, id(environment)) },
		Share:  func(key, value string) { w.AddRecord(w.project, record(key, value, here, there)) },
		Hide: func(key, value string) {
			add(record(key, value, here), func(r *vercelRecord) { r.Type = "sensitive" })
		},
		Hidden: func(key string) bool {
			return slices.ContainsFunc(w.Records(w.project), func(r vercelRecord) bool { return r.Key == key && r.Type == "sensitive" })
		},
		Foreign: func() map[string]hosting.Origin {
			add(record("SYSTEM", "VERCEL_URL", here), func(r *vercelRecord) { r.Type = "system" })
			add(record("INTEGRATION", "x", here, there), func(r *vercelRecord) { r.Integration = "icfg_2" })
			add(record("STORE", "x", here), func(r *vercelRecord) { r.Hint = true })
			return map[string]hosting.Origin{"SYSTEM": hosting.FromSystem, "INTEGRATION": hosting.FromIntegration, "STORE": hosting.FromIntegration}
		},
		Refused: "AWS_SECRET_KEY", RefusedCode: hosting.CodeReserved,

		Writing: hostingtest.VercelWriting,
		Limits:  w.Limits(),
		// One request creates a hundred, or deletes a thousand. Each change is one of
		// its own: by id, because what an upsert does to the rest of a record is not
		// described.
		Fewest: func(n int) (create, change, remove int) { return (n + 99) / 100, n, (n + 999) / 1000 },

		OAuth: &hostingtest.OAuth{
			Authorize: func(address string) map[string][]string { return w.Install(address, w.user, w.team) },
			Secret:    w.app.Secret,
			Expire:    func(hosting.Grant) {},
			Revoke:    func(g hosting.Grant) { w.Revoke(g.Access.Reveal()) },
		},
	}
}
