package warden

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// A device login signs a program in by way of a browser that may run elsewhere:
//
//	program   StartDevice ─▶ device code, kept; user code, shown ─▶ PollDevice … ─▶ token
//	browser   VerifyDevice(user code) ─▶ who asks; confirm token ─▶ ApproveDevice or DenyDevice
//
// Whoever starts one can send its user code to anybody, in a link that looks like
// ours, and wait for the approval. So a user code alone grants nothing: who
// approves has been shown what asks, and from where, and says so with a token that
// only their own session can use. A decision is final, and each step is one
// transaction: of two that come at once, one finds the other's.
const (
	deviceTime     = 15 * time.Minute // until a code that nobody approved ends
	deviceMemory   = time.Hour        // after that, in which it is remembered as ended
	deviceGrace    = time.Minute      // in which the token is handed out again, should the answer be lost
	deviceInterval = 5 * time.Second  // between two polls of a well-behaved program
)

const confirmLength = 43 // 256 bits

// StartDevice begins a device login. Its caller is a stranger. Addresses of pages
// are left to whoever knows them.
func (w *Warden) StartDevice(ctx context.Context, who Caller, req api.StartDevice) (*api.StartedDevice, error) {
	code, userCode := crypto.NewDeviceCode(), crypto.NewUserCode()
	now := w.now()
	d := store.Device{
		Code: crypto.HashToken(code), UserCode: crypto.HashToken(userCode), UserAgent: printable(who.userAgent),
		Requested: store.At(now), Expires: store.At(now.Add(deviceTime)),
	}
	if who.ip.IsValid() {
		d.IP = who.ip.String()
	}
	if req.Repository != nil {
		d.Repository = *req.Repository
	}
	if req.OwnerID != nil {
		d.OwnerID = uint64(*req.OwnerID)
	}
	if req.RepoID != nil {
		d.RepoID = uint64(*req.RepoID)
	}
	if err := w.store.Update(ctx, func(tx store.Tx) error { return tx.AddDevice(d) }); err != nil {
		return nil, w.outward(fmt.Errorf("start a device login: %w", err))
	}
	return &api.StartedDevice{
		DeviceCode: api.Revealed(code), UserCode: userCode, GitHubAppInstallURL: orNull(w.installURL(ctx)),
		ExpiresIn: int(deviceTime / time.Second), Interval: int(deviceInterval / time.Second),
	}, nil
}

// printable is what a program says of itself, without what could disturb the page
// on which people read it: line breaks, and marks that turn the direction of text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// DeviceKey is what the polls of a device login are counted by. It reports false
// for a code that is not known.
func (w *Warden) DeviceKey(ctx context.Context, code api.Secret) (key [16]byte, known bool, err error) {
	hash := crypto.HashToken(code.Reveal())
	_, err = w.device(ctx, hash)
	if api.CodeOf(err) == api.NotFound {
		return key, false, nil
	}
	return [16]byte(hash[:16]), err == nil, err
}

// device is the device login of a hashed device code, as long as it is remembered.
func (w *Warden) device(ctx context.Context, code [32]byte) (d store.Device, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		d, err = r.Device(code)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !w.now().Before(d.Expires.Time().Add(deviceMemory)) {
		return store.Device{}, api.Errorf(api.NotFound, "This device code is not known, or no longer. Start the login again.")
	}
	return d, w.outward(err)
}

// deviceStatus is how a device login stands at an instant, in the words of a poll.
func deviceStatus(d store.Device, now time.Time) string {
	switch {
	case d.State == store.DeviceDenied:
		return api.DeviceDenied
	case d.Consumed != 0 && now.Before(d.Consumed.Time().Add(deviceGrace)):
		return api.DeviceApproved
	case d.Consumed != 0, !now.Before(d.Expires.Time()):
		return api.DeviceExpired
	case d.State == store.DeviceApproved:
		return api.DeviceApproved
	default:
		return api.DevicePending
	}
}

// PollDevice tells a program how its device login stands, and hands out its token
// once it is approved. Its caller is a stranger.
func (w *Warden) PollDevice(ctx context.Context, _ Caller, req api.PollDevice) (*api.PolledDevice, error) {
	d, err := w.device(ctx, crypto.HashToken(req.DeviceCode.Reveal()))
	if err != nil {
		return nil, err
	}
	status := deviceStatus(d, w.now())
	if status == api.DeviceApproved {
		return w.consumeDevice(ctx, d)
	}
	return &api.PolledDevice{Status: status, Message: deviceMessages[status]}, nil
}

var deviceMessages = map[string]string{
	api.DeviceExpired: "This login is over: nobody approved it in time, or its token was handed out already. Start again.",
	api.DeviceDenied:  "This login was refused in the browser. If that was a mistake, start again.",
}

// consumeDevice answers with the token of an approved device login. It is made
// anew from the session each time, and comes out the same.
func (w *Warden) consumeDevice(ctx context.Context, d store.Device) (*api.PolledDevice, error) {
	var s store.Session
	var u store.User
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if s, err = r.Session(d.Session); err == nil {
			u, err = r.User(s.User)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) { // the session was ended meanwhile
		return &api.PolledDevice{Status: api.DeviceExpired, Message: deviceMessages[api.DeviceExpired]}, nil
	}
	if err != nil {
		return nil, w.outward(err)
	}
	u.Login = d.Login
	token, err := w.tokenOf(s, u)
	if err == nil && d.Consumed == 0 {
		err = w.noteConsumed(ctx, d.Code)
	}
	if err != nil {
		return nil, w.outward(err)
	}
	return &api.PolledDevice{
		Status: api.DeviceApproved, KeywayToken: api.Revealed(token), GitHubLogin: u.Login, ExpiresAt: new(api.At(s.Expires.Time())),
	}, nil
}

// noteConsumed lets the grace begin, unless another poll was faster.
func (w *Warden) noteConsumed(ctx context.Context, code [32]byte) error {
	now := store.At(w.now())
	return w.store.Update(ctx, func(tx store.Tx) error {
		d, err := tx.Device(code)
		if err != nil || d.Consumed != 0 {
			return err
		}
		d.Consumed = now
		return tx.PutDevice(d)
	})
}

// VerifyDevice shows somebody what a user code would sign in, and gives them the
// token to decide with. An earlier token for the same code is void.
func (w *Warden) VerifyDevice(ctx context.Context, who Caller, req api.VerifyDevice) (*api.VerifiedDevice, error) {
	random, err := newOwnToken("confirm", confirmLength)
	if err != nil {
		return nil, err
	}
	code, wellFormed := crypto.ParseUserCode(req.UserCode)
	var d store.Device
	var token string
	err = w.changeSelf(ctx, who, access.DeviceVerify, func(tx store.Tx, j *journal) error {
		if !wellFormed {
			return errNoUserCode()
		}
		found, err := pendingDevice(tx, code, j.now)
		if err != nil {
			return err
		}
		d = found
		token = random + "." + hex.EncodeToString(d.Code[:])
		d.Confirm, d.ConfirmIn = crypto.HashToken(token), who.session.ID
		return tx.PutDevice(d)
	})
	if err != nil {
		return nil, err
	}
	return &api.VerifiedDevice{
		ConfirmToken: api.Revealed(token), UserCode: code, Repository: orNull(d.Repository), RequestIP: orNull(d.IP),
		UserAgent: orNull(d.UserAgent), RequestedAt: api.At(d.Requested.Time()), ExpiresAt: api.At(d.Expires.Time()),
	}, nil
}

func errNoUserCode() *api.Error {
	return api.Errorf(api.NotFound,
		"This code is not known, or no longer: it may be mistyped, used, refused, or older than 15 minutes. Compare it with your terminal, or start again there.")
}

// pendingDevice is the device login of a user code that still can be decided.
func pendingDevice(tx store.Tx, code string, now time.Time) (store.Device, error) {
	d, err := tx.DeviceByUserCode(crypto.HashToken(code))
	if errors.Is(err, store.ErrNotFound) || err == nil && deviceStatus(d, now) != api.DevicePending {
		return store.Device{}, errNoUserCode()
	}
	return d, err
}

// ApproveDevice signs a program in as the caller. The session that it gets is the
// program's own: listed with its address and name, and ended by itself.
func (w *Warden) ApproveDevice(ctx context.Context, who Caller, req api.DecideDevice) (*api.DecidedDevice, error) {
	return w.decideDevice(ctx, who, access.DeviceApprove, req, func(tx store.Tx, j *journal, d *store.Device) error {
		program := *j
		program.who.userAgent = d.UserAgent
		program.who.ip, _ = netip.ParseAddr(d.IP)
		s, err := startSession(tx, &program)
		if err != nil {
			return err
		}
		d.State, d.Session, d.Login = store.DeviceApproved, s.ID, who.user.Login
		meta := deviceMeta(*d)
		meta["method"] = "device"
		j.note("user_login", meta)
		return nil
	})
}

// DenyDevice refuses a program for good.
func (w *Warden) DenyDevice(ctx context.Context, who Caller, req api.DecideDevice) (*api.DecidedDevice, error) {
	return w.decideDevice(ctx, who, access.DeviceDeny, req, func(_ store.Tx, j *journal, d *store.Device) error {
		d.State = store.DeviceDenied
		j.note("device_login_denied", deviceMeta(*d))
		return nil
	})
}

// decideDevice decides what a confirm token was made for, once.
func (w *Warden) decideDevice(ctx context.Context, who Caller, act access.Action, req api.DecideDevice,
	decide func(store.Tx, *journal, *store.Device) error) (*api.DecidedDevice, error) {
	out := &api.DecidedDevice{}
	err := w.changeSelf(ctx, who, act, func(tx store.Tx, j *journal) error {
		d, err := confirmedDevice(tx, j, req.ConfirmToken.Reveal())
		if err != nil {
			return err
		}
		d.Confirm, d.ConfirmIn = [32]byte{}, store.ID{}
		d.DecidedBy, d.DecidedIn, d.Decided = who.user.ID, who.session.ID, store.At(j.now)
		if err := decide(tx, j, &d); err != nil {
			return err
		}
		out.Status = string(d.State)
		return tx.PutDevice(d)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// confirmedDevice is the device login that a confirm token was made for, if it was
// made for this session and nothing was decided since.
func confirmedDevice(tx store.Tx, j *journal, token string) (store.Device, error) {
	void := api.Errorf(api.NotFound,
		"This confirmation is not valid, or no longer. If you have just decided, look at your terminal; otherwise enter the code again.")
	_, last, _ := strings.Cut(token, ".")
	code, err := hex.DecodeString(last)
	if err != nil || len(code) != 32 {
		return store.Device{}, void
	}
	d, err := tx.Device([32]byte(code))
	if errors.Is(err, store.ErrNotFound) {
		return store.Device{}, void
	}
	if err != nil {
		return store.Device{}, err
	}
	hash := crypto.HashToken(token)
	own := j.who.session.ID
	if own.IsZero() || d.ConfirmIn != own || deviceStatus(d, j.now) != api.DevicePending ||
		subtle.ConstantTimeCompare(d.Confirm[:], hash[:]) != 1 {
		return store.Device{}, void
	}
	return d, nil
}

func deviceMeta(d store.Device) map[string]any {
	return map[string]any{"requestIp": orNull(d.IP), "requestUserAgent": orNull(d.UserAgent), "repository": orNull(d.Repository)}
}

// RefuseDevice denies a device login for a stranger, who was on the way to sign in
// for its user code and turned back at the code host, and reports whether it did. A
// code that is not known, or decided, stays what it is.
//
// Only the browser that set out for the code may say so. Whoever makes one set out
// has the code already, so a stranger can at most spoil a login whose code they
// were shown.
func (w *Warden) RefuseDevice(ctx context.Context, who Caller, userCode string) (refused bool, err error) {
	code, ok := crypto.ParseUserCode(userCode)
	if !ok {
		return false, nil
	}
	_, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		refused = false
		d, err := pendingDevice(tx, code, j.now)
		if api.CodeOf(err) == api.NotFound {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		j.who = who
		d.State, d.Decided, d.Confirm, d.ConfirmIn = store.DeviceDenied, store.At(j.now), [32]byte{}, store.ID{}
		j.note("device_login_denied", deviceMeta(d))
		refused = true
		return 0, tx.PutDevice(d)
	})
	return refused && err == nil, w.outward(err)
}

// ExpireDevices forgets the device logins that ended long enough ago, and with
// them the sessions that were approved but never fetched.
func (w *Warden) ExpireDevices(ctx context.Context) (int, error) {
	before := store.At(w.now().Add(-deviceMemory))
	var due []store.Device
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		due, err = r.DevicesBefore(before)
		return err
	})
	if err != nil {
		return 0, err
	}
	return sweep(ctx, w, due, func(tx store.Tx, d store.Device) (bool, error) {
		d, err := tx.Device(d.Code)
		if errors.Is(err, store.ErrNotFound) || err == nil && d.Expires > before {
			return false, nil
		}
		if err == nil && d.State == store.DeviceApproved && d.Consumed == 0 {
			err = endUnused(tx, d.Session)
		}
		return true, errors.Join(err, tx.DeleteDevice(d))
	})
}

// endUnused ends a session whose token nobody ever got.
func endUnused(tx store.Tx, id store.ID) error {
	s, err := tx.Session(id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.DeleteSession(s)
}
