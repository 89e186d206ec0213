package hostingtest

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/standin"
)

var credentialRules = []Rule{
	{"a credential that ended answers nothing", nil, checkRevoked},
	{"a credential that ends in the middle ends the run", nil, checkRevokedMidway},
}

func checkRevoked(ctx context.Context, h *Host) error {
	s, was, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	held := h.Held(h.Here)
	h.Revoke(s.c)
	never := s.c
	never.Token = api.NewSecret("never-was-a-token")
	var p problems
	for name, c := range map[string]hosting.Credential{"revoked": s.c, "never issued": never} {
		s.c = c
		for _, q := range slices.Concat(s.questions(), s.runs(was)) {
			got, err := q.ask(ctx)
			if !errors.Is(err, hosting.ErrCredential) || !empty(got) {
				p.add("%s, %s: %v, error %w, want %v", name, q.name, got, orNone(err), hosting.ErrCredential)
			}
			p = append(p, h.clean(err))
		}
	}
	return append(p, h.holds(h.Here, held)).err()
}

// checkRevokedMidway ends the credential at each changing request in turn.
func checkRevokedMidway(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	revoke := func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		h.Revoke(s.c)
		next.ServeHTTP(rw, r)
	}
	var p problems
	for n := 1; n <= 4; n++ {
		s.c = h.credential()
		values := sum(h.fill("A", 3), h.fill("B", 3))
		calls := h.wrote()
		h.Fake.Break("", h.on(true, nth(n, revoke)))
		o, err := s.try(ctx, s.here, values)
		h.Fake.Heal()
		if met := h.wrote()-calls >= n; met && !errors.Is(err, hosting.ErrCredential) {
			p.add("at change %d: error %w, want %v", n, orNone(err), hosting.ErrCredential)
		}
		p = append(p, s.truth(o, false, true, values, nil))
	}
	return p.err()
}
