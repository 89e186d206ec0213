package forgetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"coffer/server/forge"
)

// SigningToken is how GitLab writes a key that it signs deliveries with.
func SigningToken(key string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))
}

// Hooks are the deliveries of system hooks and group hooks about a project, its
// organization and a user, in the style that sends the secret.
func (g *GitLab) Hooks(repo, org, user int64) []Hook {
	hooks := g.payloads(repo, org, user)
	for i := range hooks {
		h := &hooks[i]
		id := fmt.Sprintf("%s-%d", random()[:8], i)
		h.Header = http.Header{}
		h.Header.Set("Content-Type", "application/json")
		h.Header.Set("X-Gitlab-Event", "System Hook")
		h.Header.Set("X-Gitlab-Instance", g.URL)
		h.Header.Set("X-Gitlab-Webhook-UUID", random())
		h.Header.Set("X-Gitlab-Event-UUID", "event-"+id)
		h.Header.Set("Idempotency-Key", "key-"+id)
		h.Signature, h.Loose = "X-Gitlab-Token", true
		h.Sign = func(secret string, _ Hook) string { return secret }
		h.Needs = []string{"X-Gitlab-Event", "X-Gitlab-Token"}
	}
	return hooks
}

// SignedHooks are the same in the style that signs.
func (g *GitLab) SignedHooks(repo, org, user int64) []Hook {
	hooks := g.Hooks(repo, org, user)
	for i := range hooks {
		h := &hooks[i]
		h.Header.Set("webhook-id", h.Header.Get("Idempotency-Key"))
		h.Header.Set("webhook-timestamp", strconv.FormatInt(g.World.Now().Unix(), 10))
		h.Signature, h.Sign = "webhook-signature", standardSignature
		h.Loose, h.Dated = false, true
		h.Needs = []string{"X-Gitlab-Event", "webhook-id", "webhook-timestamp", "webhook-signature"}
	}
	return hooks
}

// standardSignature signs as https://www.standardwebhooks.com says, with the key
// itself for a secret.
func standardSignature(key string, h Hook) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(h.Header.Get("webhook-id") + "." + h.Header.Get("webhook-timestamp") + "."))
	mac.Write(h.Body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (g *GitLab) payloads(repo, org, user int64) []Hook {
	r, _ := g.World.Repo(repo)
	o, _ := g.World.Org(org)
	u, _ := g.World.User(user)
	path := g.projectPath(r)
	person := map[string]any{"user_id": user, "user_name": u.Login, "user_username": u.Login, "user_email": u.Email}
	group := map[string]any{"group_id": org, "group_name": o.Login, "group_path": o.Login, "group_access": "Maintainer"}
	project := map[string]any{"project_id": repo, "name": r.Name, "path": r.Name, "path_with_namespace": path, "project_visibility": "private"}
	team := map[string]any{
		"project_id": repo, "project_name": r.Name, "project_path": r.Name, "project_path_with_namespace": path,
		"access_level": "Maintainer", "project_visibility": "private",
	}
	account := map[string]any{"user_id": user, "username": u.Login, "name": u.Login, "email": u.Email}
	itself := map[string]any{"group_id": org, "name": o.Login, "path": o.Login}

	ofRepo := forge.Event{Repo: id64(repo)}
	ofTeam := forge.Event{Topic: forge.RolesChanged, Repo: id64(repo), User: id64(user)}
	ofGroup := forge.Event{Topic: forge.RosterChange, Org: id64(org), User: id64(user)}
	ofUser := forge.Event{Topic: forge.UserChanged, User: id64(user)}
	return []Hook{
		payload("user_add_to_team", ofTeam, team, person),
		payload("user_update_for_team", ofTeam, team, person),
		payload("user_remove_from_team", ofTeam, team, person),
		payload("user_add_to_group", ofGroup, group, person),
		payload("user_update_for_group", ofGroup, group, person),
		payload("user_remove_from_group", ofGroup, group, person),
		payload("project_rename", about(ofRepo, forge.RepoChanged), project, map[string]any{"old_path_with_namespace": "acme/before"}),
		payload("project_transfer", about(ofRepo, forge.RepoChanged), project, map[string]any{"old_path_with_namespace": "before/engine"}),
		payload("project_update", about(ofRepo, forge.RepoChanged), project),
		payload("project_destroy", about(ofRepo, forge.RepoDeleted), project),
		payload("group_rename", forge.Event{Topic: forge.RosterChange, Org: id64(org), Login: o.Login}, itself,
			map[string]any{"full_path": o.Login, "old_path": "before", "old_full_path": "before"}),
		payload("group_destroy", forge.Event{Topic: forge.RosterChange, Org: id64(org)}, itself),
		payload("user_rename", ofUser, account, map[string]any{"old_username": "before"}),
		payload("user_destroy", ofUser, account),
		payload("key_create", forge.Event{}, map[string]any{"username": u.Login, "id": 4}),
		payload("push", forge.Event{}, map[string]any{"object_kind": "push", "ref": "refs/heads/main", "project_id": repo, "user_id": user}),
	}
}

func about(e forge.Event, topic forge.Topic) forge.Event {
	e.Topic = topic
	return e
}

func id64(id int64) string { return strconv.FormatInt(id, 10) }

func payload(event string, want forge.Event, parts ...map[string]any) Hook {
	body := map[string]any{"event_name": event, "created_at": "2026-07-21T07:30:56Z", "updated_at": "2026-07-21T07:38:22Z"}
	for _, part := range parts {
		maps.Copy(body, part)
	}
	text, _ := json.Marshal(body) // strings and numbers always encode
	return Hook{Name: event, Body: text, Want: want}
}
