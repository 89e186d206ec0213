package forgetest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"coffer/server/forge"
)

// Hooks are the deliveries about a repository that concern us, and one that does
// not: the host tells of those that are made and deleted only.
func (g *Gitea) Hooks(repo int64) []Hook {
	r, _ := g.World.Repo(repo)
	owner, _ := g.World.Owner(r.Owner)
	about := forge.Event{Repo: strconv.FormatInt(r.ID, 10), Org: strconv.FormatInt(owner.ID, 10), Login: owner.Login}
	deleted := about
	deleted.Topic = forge.RepoDeleted
	return []Hook{
		g.hook("repository created", "repository", "created", r, about),
		g.hook("repository deleted", "repository", "deleted", r, deleted),
		g.hook("push", "push", "", r, forge.Event{}),
	}
}

// hook is a delivery with the headers of the whole family: it looks like GitHub's
// as well, and what looks like GitHub's signature is none.
func (g *Gitea) hook(name, event, action string, r Repo, want forge.Event) Hook {
	a := &giteaAsk{Request: &http.Request{Host: "git.example"}, doer: giteaDoer{admin: true}}
	of, _ := g.World.Owner(r.Owner)
	owner := a.owner(of)
	body, err := json.MarshalIndent(map[string]any{
		"action": action, "repository": g.showRepo(a, r), "organization": owner, "sender": owner,
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	h := Hook{
		Name: name, Header: http.Header{}, Body: body, Want: want, Signature: "X-Gitea-Signature",
		Needs: []string{"X-Gitea-Signature", "X-Gitea-Event", "X-Gitea-Delivery"},
		Sign: func(secret string, h Hook) string {
			if secret == "" {
				return ""
			}
			return HMAC(secret, h.Body)
		},
	}
	delivery := random()
	families := []string{"Gitea", "Gogs", "GitHub"}
	if g.forgejo {
		h.Signature, h.Needs = "X-Forgejo-Signature", []string{"X-Forgejo-Signature"}
		families = append(families, "Forgejo")
	}
	for _, family := range families {
		h.Header.Set("X-"+family+"-Event", event)
		h.Header.Set("X-"+family+"-Event-Type", event)
		h.Header.Set("X-"+family+"-Delivery", delivery)
	}
	h.Header.Set("X-Hub-Signature-256", "sha256="+HMAC("", body))
	h.Header.Set("X-Gogs-Signature", HMAC("", body))
	return h
}
