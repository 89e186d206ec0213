package forge

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Event checks a delivery and says what it is about. The host tells of
// repositories that are made and deleted, and of nothing else that concerns us.
func (g *Gitea) Event(d Delivery) (Event, error) {
	if g.config.WebhookSecret == "" {
		return Event{}, ErrNoSecret
	}
	header := func(name string) string {
		return cmp.Or(d.Header("X-Gitea-"+name), d.Header("X-Forgejo-"+name))
	}
	id, name, signature := header("Delivery"), header("Event"), header("Signature")
	if id == "" || name == "" || signature == "" {
		return Event{}, ErrNoSignature
	}
	mac := hmac.New(sha256.New, []byte(g.config.WebhookSecret))
	mac.Write(d.Body)
	given, err := hex.DecodeString(signature)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return Event{}, ErrSignature
	}
	return giteaEvent(Event{ID: id, Name: name}, d.Body)
}

// giteaEvent reads what happened to a repository. Of other events it is only
// known that they are none of ours.
func giteaEvent(e Event, body []byte) (Event, error) {
	var said struct {
		Action     string
		Repository struct {
			ID    int64
			Owner struct {
				ID    int64
				Login string
			}
		}
	}
	var into any = &struct{}{}
	if e.Name == "repository" {
		into = &said
	}
	if err := json.Unmarshal(body, into); err != nil {
		return Event{}, fmt.Errorf("read a webhook: %w", err)
	}
	if e.Name != "repository" {
		return e, nil
	}
	repo, owner := said.Repository, said.Repository.Owner
	if said.Action == "" || repo.ID <= 0 || owner.ID <= 0 {
		return Event{}, errors.New("read a webhook: it names no action, repository or owner")
	}
	e.Name += "." + said.Action
	e.Repo, e.Org, e.Login = format64(repo.ID), format64(owner.ID), owner.Login
	switch said.Action {
	case "created": // nothing is known of it yet that could be out of date
	case "deleted":
		e.Topic = RepoDeleted
	default:
		e.Topic = RepoChanged
	}
	return e, nil
}
