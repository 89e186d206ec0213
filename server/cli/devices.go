package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/client"
)

// withBrowser signs in by way of a browser, here or on another device.
func (o loginOptions) withBrowser(ctx context.Context, connect dial, out *console) (login, error) {
	c := connect(o.address, "")
	ask := api.StartDevice{}
	if o.repository != "" {
		ask.Repository = &o.repository
	}
	started, err := c.StartDevice(ctx, ask)
	if err != nil {
		return login{}, err
	}
	out.note("%s", invitation(started, o.browser(started.VerificationURIComplete)))
	stop := out.working("Waiting for you to approve")
	defer stop()
	return pollOf(c, started).wait(ctx)
}

// invitation says what to do in the browser.
func invitation(d *api.StartedDevice, opened bool) string {
	text := "Open this page in a browser, sign in and approve:\n"
	if opened {
		text = "Sign in and approve in the browser that opens now. If none does, open this page:\n"
	}
	return text + "\n  " + d.VerificationURIComplete + "\n\n" +
		"It must show this code: " + d.UserCode + "\n" +
		fmt.Sprintf("Approve only if it does. The code is good for %d minutes.", d.ExpiresIn/60)
}

// devicePoll asks again and again how a device login stands.
type devicePoll struct {
	c     *client.Client
	code  api.Revealed
	every time.Duration
	until time.Time
}

func pollOf(c *client.Client, d *api.StartedDevice) devicePoll {
	every := max(time.Duration(d.Interval)*time.Second, time.Second)
	return devicePoll{c, d.DeviceCode, every, time.Now().Add(time.Duration(d.ExpiresIn)*time.Second + every)}
}

// wait returns the login once it is approved. What may pass, like a server that
// restarts, does not end the waiting.
func (p devicePoll) wait(ctx context.Context) (login, error) {
	pause := p.every
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return login{}, ctx.Err()
		}
		d, err := p.c.PollDevice(ctx, p.code)
		pause = p.every
		switch {
		case err == nil && d.Status != api.DevicePending:
			return p.outcome(d)
		case err != nil && !passes(err):
			return login{}, err
		case !time.Now().Before(p.until) && err != nil:
			return login{}, err
		case !time.Now().Before(p.until):
			return login{}, errNotApproved
		}
		if e, ok := errors.AsType[*api.Error](err); ok && e.RetryAfter > pause {
			pause = min(e.RetryAfter, time.Minute)
		}
	}
}

var errNotApproved = failf(exitAuth, "Nobody approved the login in time. Start it again.")

func (p devicePoll) outcome(d *api.PolledDevice) (login, error) {
	if d.Status != api.DeviceApproved {
		return login{}, failf(exitAuth, "%s", first(strings.TrimSpace(d.Message), "The login was not approved. Start it again."))
	}
	token, err := oneWord(string(d.KeywayToken))
	if err != nil {
		return login{}, failf(exitError, "The server approved the login without a usable token. Start it again.")
	}
	return login{Username: d.GitHubLogin, Token: token, ExpiresAt: d.ExpiresAt}, nil
}

// passes reports whether a failed poll may well go right a little later.
func passes(err error) bool {
	if _, ok := errors.AsType[*client.NetworkError](err); ok {
		return true
	}
	switch api.CodeOf(err) {
	case api.RateLimited, api.Unavailable, api.Timeout, api.Sealed, api.Internal:
		return true
	}
	return false
}
