package forgetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coffer/server/forge"
)

var bearerRules = []Rule{
	{"a personal access token is its user's", hasTokens, checkBearer},
	{"an unknown token is turned down", nil, checkUnknownToken},
	{"a revoked token is turned down", hasTokens, checkRevokedToken},
	{"a token of a blocked or deleted user is turned down", hasTokens, checkBlockedBearer},
	{"an expired token is turned down", hasTokens, checkExpiredToken},
	{"a machine's token is turned down", func(h *Host) bool { return len(h.Machines) > 0 }, checkMachines},
	{"a token of another application is turned down", hasOAuth, checkForeignToken},
	{"a token of our application is its user's", hasOAuth, checkOurToken},
}

// bears wants a token to be a user's.
func (h *Host) bears(ctx context.Context, token string, user int64) error {
	got, err := h.Forge(Options{}).Bearer(ctx, token)
	if err != nil || got.ID != id(user) || got.Login != h.user(user).Login {
		return fmt.Errorf("the token is %q's with id %q (%w), want %d", got.Login, got.ID, orNone(err), user)
	}
	return nil
}

// turnsDown wants a token to be nobody's, with a service credential or without.
func (h *Host) turnsDown(ctx context.Context, token, what string) error {
	var p problems
	for _, service := range []bool{false, h.Token != nil} {
		got, err := h.Forge(Options{Service: service}).Bearer(ctx, token)
		p = append(p, want(err, forge.ErrToken, what), h.clean(err))
		if got.ID != "" {
			p.add("%s: it is said to be user %s's", what, got.ID)
		}
	}
	return p.err()
}

func checkBearer(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("Ada")
	return errors.Join(h.bears(ctx, h.Token(ada), ada), h.bears(ctx, h.Token(ada), ada))
}

func checkUnknownToken(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	p := problems{h.turnsDown(ctx, "nobody-made-this", "an unknown token")}
	if h.Token != nil {
		real := h.Token(ada)
		p = append(p, h.turnsDown(ctx, real[:len(real)-1], "all but the end of a token"))
	}
	return p.err()
}

func checkRevokedToken(ctx context.Context, h *Host) error {
	token := h.Token(h.World.AddUser("ada"))
	h.World.Revoke(token)
	return h.turnsDown(ctx, token, "a revoked token")
}

func checkBlockedBearer(ctx context.Context, h *Host) error {
	ada, bob := h.World.AddUser("ada"), h.World.AddUser("bob")
	of, deleted := h.Token(ada), h.Token(bob)
	h.World.BlockUser(ada)
	h.World.DeleteUser(bob)
	return errors.Join(h.turnsDown(ctx, of, "a blocked user's token"), h.turnsDown(ctx, deleted, "a deleted user's token"))
}

func checkExpiredToken(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	like, _ := h.World.Live(h.Token(ada))
	like.Expires = h.World.Now().Add(time.Hour)
	token := h.World.AddToken(like)
	err := h.bears(ctx, token, ada)
	h.World.Advance(time.Hour)
	return errors.Join(err, h.turnsDown(ctx, token, "an expired token"))
}

func checkMachines(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	like, _ := h.World.Live(h.Token(ada))
	var p problems
	for _, kind := range h.Machines {
		like.Kind = kind
		p = append(p, h.turnsDown(ctx, h.World.AddToken(like), "a token of kind "+string(kind)))
	}
	return p.err()
}

func checkForeignToken(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	foreign, err := h.grant(h.World.AddApp("other", "https://other.example/back"), ada, h.OAuth.Scopes)
	if err != nil {
		return err
	}
	return h.turnsDown(ctx, foreign.Access.Text, "another application's token")
}

func checkOurToken(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	ours, err := h.grant(h.OAuth.App, ada, h.OAuth.Scopes)
	if err != nil {
		return err
	}
	err = h.bears(ctx, ours.Access.Text, ada)
	h.World.RevokeGrant(h.OAuth.App.ClientID, ada)
	return errors.Join(err, h.turnsDown(ctx, ours.Access.Text, "a token whose grant was withdrawn"))
}

// grant gives an application tokens of a user, without any client.
func (h *Host) grant(app App, user int64, scopes []string) (Pair, error) {
	code := h.World.Authorize(Code{ClientID: app.ClientID, User: user, Scopes: scopes, Redirect: app.Redirect})
	return h.World.Redeem(app.ClientID, code, "", app.Redirect)
}
