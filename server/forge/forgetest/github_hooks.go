package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"coffer/server/forge"
)

// githubHook is a delivery whose payload and whose meaning are told.
type githubHook struct {
	event, action string
	payload       object
	want          forge.Event
}

// Hooks is every kind of delivery that matters, over the world's first
// organization, repository and users, which are made if need be, and some that
// do not matter.
func (g *GitHub) Hooks() []Hook {
	w := g.World
	boss, ada := w.AddUser("hook-boss"), w.AddUser("hook-ada")
	org := w.AddOrg("hook-org", boss)
	w.SetMember(org, ada, forge.OrgMember)
	repo := w.AddRepo(org, "hook-repo", Private)
	var all []Hook
	for n, h := range g.hooks(org, repo, ada, boss) {
		all = append(all, g.hook(n, h))
	}
	return all
}

func (g *GitHub) hooks(org, repo, ada, boss int64) []githubHook {
	o, _ := g.World.Org(org)
	u, _ := g.World.User(ada)
	sender, _ := g.World.User(boss)
	there, _ := g.World.Repo(repo)
	roster := forge.Event{Topic: forge.RosterChange, Org: id(org), Login: o.Login}
	rosterOf := roster
	rosterOf.User = id(ada)
	roles := forge.Event{Topic: forge.RolesChanged, Org: id(org), Login: o.Login}
	changed := forge.Event{Topic: forge.RepoChanged, Org: id(org), Login: o.Login, Repo: id(repo)}
	installed := forge.Event{Topic: forge.AppInstalled, Org: id(org), Login: o.Login}
	of := func(e forge.Event, topic forge.Topic, user, repo int64) forge.Event {
		e.Topic = topic
		if user != 0 {
			e.User = id(user)
		}
		if repo != 0 {
			e.Repo = id(repo)
		}
		return e
	}
	inOrg := object{"organization": g.orgSimple(o), "sender": g.simple(sender)}
	inRepo := with(inOrg, object{"repository": g.repoListed(there, forge.None)})
	member, _ := g.membershipOf(o, ada)
	membership := with(inOrg, object{"membership": with(member, object{"user": g.simple(u)})})
	team := object{"id": 7, "name": "writers", "slug": "writers", "permission": "pull", "privacy": "closed"}
	onTeam := with(inOrg, object{"team": team, "member": g.simple(u), "scope": "team"})
	ofApp := object{"installation": g.installationJSON(AppInstallation{ID: 9, Account: org, Permissions: appPermissions}), "sender": g.simple(sender)}
	none := forge.Event{}
	return []githubHook{
		{"organization", "member_added", membership, rosterOf},
		{"organization", "member_removed", membership, rosterOf},
		{"organization", "member_invited", inOrg, none},
		{"organization", "renamed", with(inOrg, object{"changes": object{"login": object{"from": "old"}}}), roster},
		{"organization", "deleted", membership, rosterOf},
		{"membership", "added", onTeam, of(roles, forge.RolesChanged, ada, 0)},
		{"membership", "removed", onTeam, of(roles, forge.RolesChanged, ada, 0)},
		{"member", "added", with(inRepo, object{"member": g.simple(u), "changes": object{"permission": object{"to": "admin"}}}), of(roles, forge.RolesChanged, ada, repo)},
		{"member", "edited", with(inRepo, object{"member": g.simple(u), "changes": object{}}), of(roles, forge.RolesChanged, ada, repo)},
		{"member", "removed", with(inRepo, object{"member": g.simple(u)}), of(roles, forge.RolesChanged, ada, repo)},
		{"team", "added_to_repository", with(inRepo, object{"team": team}), of(roles, forge.RolesChanged, 0, repo)},
		{"team", "removed_from_repository", with(inRepo, object{"team": team}), of(roles, forge.RolesChanged, 0, repo)},
		{"team", "edited", with(inOrg, object{"team": team, "changes": object{}}), roles},
		{"team", "deleted", with(inOrg, object{"team": team}), roles},
		{"team", "created", with(inOrg, object{"team": team}), none},
		{"repository", "renamed", with(inRepo, object{"changes": object{"repository": object{"name": object{"from": "old"}}}}), changed},
		{"repository", "transferred", with(inRepo, object{"changes": object{"owner": object{"from": object{"user": g.simple(u)}}}}), changed},
		{"repository", "privatized", inRepo, changed},
		{"repository", "publicized", inRepo, changed},
		{"repository", "archived", inRepo, changed},
		{"repository", "created", inRepo, none},
		{"repository", "deleted", inRepo, of(changed, forge.RepoDeleted, 0, 0)},
		{"installation", "created", ofApp, installed},
		{"installation", "unsuspend", ofApp, installed},
		{"installation", "new_permissions_accepted", ofApp, installed},
		{"installation", "deleted", ofApp, of(installed, forge.AppRemoved, 0, 0)},
		{"installation", "suspend", ofApp, of(installed, forge.AppRemoved, 0, 0)},
		{"installation_repositories", "added", with(ofApp, object{"repositories_added": []object{}}), installed},
		{"installation_repositories", "removed", with(ofApp, object{"repositories_removed": []object{}}), installed},
		{"installation_target", "renamed", object{
			"account": g.owner(org), "target_type": "Organization", "changes": object{"login": object{"from": "old"}}, "installation": object{"id": 9},
		}, roster},
		{"installation_target", "renamed", object{
			"account": g.simple(u), "target_type": "User", "changes": object{"login": object{"from": "old"}}, "installation": object{"id": 9},
		}, forge.Event{Topic: forge.UserChanged, User: id(ada)}},
		{"github_app_authorization", "revoked", object{"sender": g.simple(u)}, forge.Event{Topic: forge.UserChanged, User: id(ada)}},
		{"ping", "", object{"zen": "Keep it logically awesome.", "hook_id": 1}, none},
		{"star", "created", inRepo, none},
	}
}

func (g *GitHub) hook(n int, h githubHook) Hook {
	payload := h.payload
	if h.action != "" {
		payload = with(payload, object{"action": h.action})
	}
	body, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("forgetest: a payload of %s: %v", h.event, err))
	}
	header := http.Header{}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/0000000", "X-GitHub-Hook-ID": "1",
		"X-GitHub-Event": h.event, "X-GitHub-Delivery": fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n),
	} {
		header.Set(name, value)
	}
	return Hook{
		Name: h.event + " " + h.action, Header: header, Body: body, Want: h.want, Signature: "X-Hub-Signature-256",
		Sign:  func(secret string, h Hook) string { return "sha256=" + HMAC(secret, h.Body) },
		Needs: []string{"X-GitHub-Event", "X-GitHub-Delivery"},
	}
}
