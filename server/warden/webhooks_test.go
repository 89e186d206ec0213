package warden_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
)

// Event takes deliveries whose body is "id topic repository organization".
func (h *host) Event(d forge.Delivery) (forge.Event, error) {
	switch d.Header("X-Signature") {
	case "":
		return forge.Event{}, forge.ErrNoSignature
	case "none":
		return forge.Event{}, forge.ErrNoSecret
	case "right":
	default:
		return forge.Event{}, forge.ErrSignature
	}
	words := strings.Split(string(d.Body), " ")
	if len(words) != 4 {
		return forge.Event{}, errors.New("four words")
	}
	return forge.Event{ID: words[0], Topic: forge.Topic(words[1]), Name: words[1], Repo: words[2], Org: words[3], Login: "acme"}, nil
}

func (h *host) RepositoryByID(_ context.Context, as forge.Asker, repo forge.Repository) (forge.Repository, error) {
	if err := h.question("by id", as); err != nil {
		return forge.Repository{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.broken[repo.ID]; err != nil {
		return forge.Repository{}, err
	}
	switch {
	case h.gone && as.Token == "":
		return forge.Repository{}, errUnseen
	case h.gone, h.blind != "" && as.User.ID == h.blind:
		return forge.Repository{}, forge.ErrNotFound
	}
	return h.repo, nil
}

// errUnseen is what GitHub's application says of what it does not see.
var errUnseen = fmt.Errorf("%w, or %w", forge.ErrNoCredential, forge.ErrNotFound)

// hook delivers a webhook and waits until all that it asked for is done or put
// off.
func (h *hosted) hook(signature, body string) error {
	header := func(name string) string {
		if name == "X-Signature" {
			return signature
		}
		return ""
	}
	err := h.w.Webhook(h.t.Context(), forge.KindGitHub, header, []byte(body))
	if err == nil {
		must(h.t, h.w.DoEvents(h.t.Context()))
	}
	return err
}

func TestAWebhookIsHeldAgainstItsSignature(t *testing.T) {
	h := newHosted(t)
	for signature, want := range map[string]api.Code{"": api.BadRequest, "none": api.Unavailable, "wrong": api.Forbidden} {
		if err := h.hook(signature, "1 roles 1 "); api.CodeOf(err) != want {
			t.Errorf("%q: got %v, want %s", signature, err, want)
		}
	}
	if err := h.hook("right", "what"); api.CodeOf(err) != api.BadRequest {
		t.Errorf("a body that makes no sense: %v", err)
	}
	for _, kind := range []string{forge.KindGitea, forge.KindLocal} {
		if err := h.w.Webhook(t.Context(), kind, func(string) string { return "right" }, []byte("1 roles 1 ")); api.CodeOf(err) != api.Unavailable {
			t.Errorf("from a %s: %v", kind, err)
		}
	}
	must(t, h.hook("right", "1 roles 1 "))
}

func TestAWebhookPutsAPersonOutAtOnce(t *testing.T) {
	h := newHosted(t)
	h.vault()
	who := h.caller(pat)
	if v, _ := h.look(who, "acme/api"); v.ID == "" {
		t.Fatal("no answer")
	}
	h.set(func() { h.role = forge.None })
	if v, _ := h.look(who, "acme/api"); v.ID == "" {
		t.Fatal("without a webhook the role counts for a minute")
	}
	must(t, h.hook("right", "1 roles  "))
	if _, code := h.look(who, "acme/api"); code != api.NotFound {
		t.Errorf("after the webhook: %q", code)
	}
}

func TestADeliveryIsTakenOnce(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.set(func() { h.service = true })
	for range 3 {
		must(t, h.hook("right", "same repository 1 "))
	}
	if n := h.times("by id "); n != 1 {
		t.Errorf("%d questions for one delivery", n)
	}
	h.sleep(25 * time.Hour)
	if n, err := h.w.ExpireDeliveries(t.Context()); n != 1 || err != nil {
		t.Errorf("%d deliveries forgotten, %v", n, err)
	}
	must(t, h.hook("right", "same repository 1 "))
	if n := h.times("by id "); n != 2 {
		t.Errorf("%d questions after a day", n)
	}
}

func TestWhatAWebhookAsksForIsTriedUntilItIsDone(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.set(func() {
		h.service = true
		h.repo.Name = "new"
		h.down = &forge.Unavailable{Err: errHangs}
	})
	must(t, h.hook("right", "1 repository 1 "))
	h.set(func() { h.down = nil })
	must(t, h.w.DoEvents(t.Context()))
	if n := h.times("by id "); n != 1 {
		t.Errorf("%d tries at once", n)
	}
	h.reopen()
	h.sleep(31 * time.Second)
	must(t, h.w.DoEvents(t.Context()))
	must(t, h.w.DoEvents(t.Context()))
	if n := h.times("by id "); n != 2 {
		t.Errorf("%d tries", n)
	}
	asked := h.count()
	if v, _ := h.look(h.caller(pat), "acme/new"); v.RepoFullName != "acme/new" || h.times("repository") != 1 {
		t.Errorf("the new name is not on record: %+v after %d questions", v, h.count()-asked)
	}
}

func TestADeletedRepositoryMustAlsoBeAbsent(t *testing.T) {
	h := newHosted(t)
	h.set(func() { h.repo.OwnerKind, h.repo.OwnerID, h.service = forge.OwnerUser, "7", true })
	h.vault()
	must(t, h.hook("right", "1 deleted 1 "))
	if v, _ := h.look(h.caller(pat), "acme/api"); v.Warning != nil {
		t.Error("a webhook alone was believed")
	}
	h.set(func() { h.gone = true })
	must(t, h.hook("right", "2 repository 1 "))
	h.set(func() { h.gone, h.role = false, forge.None })
	h.w.ForgetHost()
	if _, code := h.look(h.caller(pat), "acme/api"); code != api.NotFound {
		t.Errorf("a repository that is only hidden: %q", code)
	}
	h.set(func() { h.gone = true })
	must(t, h.hook("right", "3 deleted 1 "))
	h.set(func() { h.gone = false })
	h.w.ForgetHost()
	if v, code := h.look(h.caller(pat), "acme/api"); v.Warning == nil {
		t.Errorf("its owner: %+v, %s", v, code)
	}
}

var _ forge.Hooks = (*host)(nil)
