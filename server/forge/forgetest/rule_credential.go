package forgetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coffer/server/forge"
)

func hasTokens(h *Host) bool { return h.Token != nil }

var credentialRules = []Rule{
	{"without any credential nothing is answered", hasTokens, checkNoCredential},
	{"a token that ended answers nothing", hasTokens, checkDeadToken},
	{"a missing scope is named", func(h *Host) bool { return h.Limited != nil }, checkMissing},
}

// question is one thing to ask a client, for rules that hold for all of them.
type question struct {
	name string // of the method
	ask  func(ctx context.Context, w way) (any, error)
}

// scene is a world with something in it to ask every question about.
type scene struct {
	owner, member, outsider int64
	org, private, public    int64
	h                       *Host
}

func (h *Host) scene() scene {
	owner, org, private := h.acme()
	s := scene{owner: owner, org: org, private: private, h: h}
	s.member, s.outsider = h.World.AddUser("ada"), h.World.AddUser("eve")
	s.public = h.World.AddRepo(org, "website", Public)
	h.World.SetMember(org, s.member, forge.OrgMember)
	h.World.SetRole(private, s.member, forge.Write)
	return s
}

// questions are to be asked on behalf of the owner.
func (s scene) questions() []question {
	repo, org := s.h.repo(s.private), s.h.org(s.org)
	all := []question{
		{"Repository", func(ctx context.Context, w way) (any, error) {
			return w.forge.Repository(ctx, w.as, repo.Owner, repo.Name)
		}},
		{"RepositoryByID", func(ctx context.Context, w way) (any, error) { return w.forge.RepositoryByID(ctx, w.as, repo) }},
		{"Role", func(ctx context.Context, w way) (any, error) { return w.forge.Role(ctx, w.as, repo) }},
		{"Repositories", func(ctx context.Context, w way) (any, error) { return listed(w.forge.Repositories(ctx, w.as)) }},
		{"Collaborators", func(ctx context.Context, w way) (any, error) {
			return listed(w.forge.Collaborators(ctx, w.as, repo))
		}},
		{"Organization", func(ctx context.Context, w way) (any, error) {
			return w.forge.Organization(ctx, w.as, org.Login)
		}},
		{"Standing", func(ctx context.Context, w way) (any, error) { return w.forge.Standing(ctx, w.as, org) }},
		{"Organizations", func(ctx context.Context, w way) (any, error) { return listed(w.forge.Organizations(ctx, w.as)) }},
		{"Members", func(ctx context.Context, w way) (any, error) { return listed(w.forge.Members(ctx, w.as, org)) }},
	}
	return all
}

// bearer is the question that only a token of the user's own can ask.
var bearer = question{"Bearer", func(ctx context.Context, w way) (any, error) { return w.forge.Bearer(ctx, w.as.Token) }}

// listed makes an empty list equal to none.
func listed[T any](all []T, err error) (any, error) {
	if len(all) == 0 {
		return []T(nil), err
	}
	return all, err
}

// clean wants no secret in an error.
func (h *Host) clean(err error) error {
	if err == nil {
		return nil
	}
	text, inside := err.Error(), fmt.Sprintf("%+v", err)
	for _, secret := range h.World.secrets() {
		if strings.Contains(text, secret) || strings.Contains(inside, secret) {
			return errors.New("an error's text holds a secret")
		}
	}
	return nil
}

func checkNoCredential(ctx context.Context, h *Host) error {
	s := h.scene()
	w := way{forge: h.Forge(Options{}), as: forge.Asker{User: h.user(s.owner)}}
	var p problems
	for _, q := range s.questions() {
		got, err := q.ask(ctx, w)
		if !errors.Is(err, forge.ErrNoCredential) {
			p.add("%s: %v, error %w, want %v", q.name, got, orNone(err), forge.ErrNoCredential)
		}
	}
	return p.err()
}

func checkDeadToken(ctx context.Context, h *Host) error {
	s := h.scene()
	w := h.own(s.owner)
	h.World.Revoke(w.as.Token)
	var p problems
	for _, q := range append(s.questions(), bearer) {
		_, err := q.ask(ctx, w)
		p = append(p, want(err, forge.ErrToken, q.name), h.clean(err))
	}
	return p.err()
}

func checkMissing(ctx context.Context, h *Host) error {
	s := h.scene()
	all := append(s.questions(), bearer)
	var p problems
	for _, limited := range h.Limited(s.owner) {
		w := h.own(s.owner)
		w.as.Token = limited.Token
		asked := false
		for _, q := range all {
			if q.name != limited.Question {
				continue
			}
			asked = true
			got, err := q.ask(ctx, w)
			missing, ok := errors.AsType[*forge.Missing](err)
			if !ok || missing.Service || !strings.Contains(missing.What, limited.Scope) {
				p.add("%s: %v, error %w, want one that names %s", q.name, got, orNone(err), limited.Scope)
			}
			p = append(p, h.clean(err))
		}
		if !asked {
			p.add("there is no question %q", limited.Question)
		}
	}
	return p.err()
}
