package forgetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"coffer/server/forge"
)

func hasHooks(h *Host) bool { return h.Hooks != nil }

var hookRules = []Rule{
	{"a signed delivery says what it is about", hasHooks, checkDeliveries},
	{"a duplicate has the same id", hasHooks, checkDuplicate},
	{"a wrong signature is refused", hasHooks, checkForged},
	{"a changed body is refused", hasHooks, checkChangedBody},
	{"an old delivery is refused where the host dates them", hasHooks, checkOldDelivery},
	{"without a secret no delivery is believed", hasHooks, checkNoSecret},
	{"a delivery without its headers is none", hasHooks, checkBareDelivery},
	{"a delivery that makes no sense is an error", hasHooks, checkNonsense},
}

const hookSecret = "the secret of all webhooks"

func (h *Host) hooks(secret string) (forge.Hooks, error) {
	f, ok := h.Forge(Options{WebhookSecret: secret}).(forge.Hooks)
	if !ok {
		return nil, errors.New("the client knows no webhooks")
	}
	return f, nil
}

// eachHook gives every delivery that the host sends to check.
func (h *Host) eachHook(secret string, check func(f forge.Hooks, hook Hook) error) error {
	f, err := h.hooks(secret)
	if err != nil {
		return err
	}
	all := h.Hooks()
	if len(all) == 0 {
		return errors.New("the host has no deliveries")
	}
	var p problems
	for _, hook := range all {
		p = append(p, because(hook.Name, check(f, hook)))
	}
	return p.err()
}

// event is a delivery that arrives at once.
func (h *Host) event(f forge.Hooks, hook Hook) (forge.Event, error) {
	return f.Event(hook.Delivery(h.World.Now()))
}

// refused wants an error and no event.
func refused(e forge.Event, err, why error, what string) error {
	if e != (forge.Event{}) {
		return fmt.Errorf("%s: an event beside the error: %+v", what, e)
	}
	return want(err, why, what)
}

func checkDeliveries(_ context.Context, h *Host) error {
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		got, err := h.event(f, hook.Signed(hookSecret))
		if err != nil {
			return err
		}
		if got.ID == "" || got.Name == "" {
			return fmt.Errorf("the event has no id or no name: %+v", got)
		}
		want := hook.Want
		want.ID, want.Name = got.ID, got.Name
		if got != want {
			return fmt.Errorf("the event is %+v, want %+v", got, want)
		}
		return nil
	})
}

func checkDuplicate(_ context.Context, h *Host) error {
	seen := map[string]string{}
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		hook = hook.Signed(hookSecret)
		first, err := h.event(f, hook)
		if err != nil {
			return err
		}
		second, err := h.event(f, hook)
		if err != nil || first != second {
			return fmt.Errorf("the duplicate is %+v, want %+v (%w)", second, first, orNone(err))
		}
		if other, twice := seen[first.ID]; twice {
			return fmt.Errorf("its id is that of %s", other)
		}
		seen[first.ID] = hook.Name
		return nil
	})
}

func checkForged(_ context.Context, h *Host) error {
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		signed := hook.Signed(hookSecret)
		signature := signed.Header.Get(hook.Signature)
		var p problems
		for what, wrong := range map[string]Hook{
			"another of the same length": signed.Forged(),
			"a shorter one":              signed.With(hook.Signature, signature[:len(signature)-1]),
			"a longer one":               signed.With(hook.Signature, signature+"0"),
			"one of another secret":      hook.Signed("not " + hookSecret),
			"one of an empty secret":     hook.Signed(""),
		} {
			e, err := h.event(f, wrong)
			if what == "one of an empty secret" && errors.Is(err, forge.ErrNoSignature) {
				continue // at some hosts that is an empty header
			}
			p = append(p, refused(e, err, forge.ErrSignature, what), noSecretIn(err))
		}
		return p.err()
	})
}

func noSecretIn(err error) error {
	if err != nil && strings.Contains(err.Error(), hookSecret) {
		return errors.New("an error's text holds the webhook's secret")
	}
	return nil
}

func checkChangedBody(_ context.Context, h *Host) error {
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		if hook.Loose {
			return nil
		}
		hook = hook.Signed(hookSecret)
		hook.Body = append([]byte(" "), hook.Body...)
		e, err := h.event(f, hook)
		return refused(e, err, forge.ErrSignature, "a blank before the body")
	})
}

func checkOldDelivery(_ context.Context, h *Host) error {
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		hook = hook.Signed(hookSecret)
		var p problems
		for _, skew := range []time.Duration{6 * time.Minute, -6 * time.Minute} {
			e, err := f.Event(hook.Delivery(h.World.Now().Add(skew)))
			switch {
			case hook.Dated:
				p = append(p, refused(e, err, forge.ErrSignature, "a delivery with a skew of "+skew.String()))
			case err != nil:
				p.add("a delivery without a date is refused: %w", err)
			}
		}
		return p.err()
	})
}

func checkNoSecret(_ context.Context, h *Host) error {
	return h.eachHook("", func(f forge.Hooks, hook Hook) error {
		var p problems
		for what, sent := range map[string]Hook{
			"signed with an empty secret": hook.Signed(""), "signed": hook.Signed(hookSecret), "not signed": hook.Without(hook.Signature),
		} {
			e, err := h.event(f, sent)
			p = append(p, refused(e, err, forge.ErrNoSecret, what))
		}
		return p.err()
	})
}

func checkBareDelivery(_ context.Context, h *Host) error {
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		if len(hook.Needs) == 0 {
			return errors.New("the delivery says of no header that it is needed")
		}
		var p problems
		for _, header := range append(hook.Needs, hook.Signature) {
			e, err := h.event(f, hook.Signed(hookSecret).Without(header))
			p = append(p, refused(e, err, forge.ErrNoSignature, "without "+header))
		}
		return p.err()
	})
}

func checkNonsense(_ context.Context, h *Host) error {
	return h.eachHook(hookSecret, func(f forge.Hooks, hook Hook) error {
		var p problems
		for _, body := range []string{"", "{", "[]", "7", `"repository"`, "<html>"} {
			hook.Body = []byte(body)
			e, err := h.event(f, hook.Signed(hookSecret))
			if err == nil || e != (forge.Event{}) {
				p.add("the body %q is the event %+v (%w)", body, e, orNone(err))
			}
		}
		return p.err()
	})
}
