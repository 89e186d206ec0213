package warden

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"math/big"
	"strconv"
	"strings"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// A browser sets a fresh instance up in steps. Its keys are in memory only until
// the last of them, so that what was begun and left leaves nothing behind: nobody
// has data under a recovery key that they never saved.

// wizardTime is how long a browser may take for one step.
const wizardTime = 15 * time.Minute

// byWizard is how the first user signs in.
const byWizard = "setup"

// Steps of the wizard.
const (
	StepRestore  = "restore"  // a backup, in place of everything else
	StepMethod   = "method"   // how the instance is unsealed
	StepRecovery = "recovery" // the recovery key: shown, then asked for
	StepUser     = "user"     // the first user
)

// RecoveryGroup is how many characters of the recovery key are asked for, to see
// that it was saved. People count the key in groups of as many.
const RecoveryGroup = 6

// wizard is a browser that claimed the instance, and how far it got. The zero
// value is none.
type wizard struct {
	holder [32]byte // hash of its ticket
	until  time.Time
	draft  *draft
	key    *crypto.Identity // the recovery key until it was shown
	group  int              // asked for, from 1
	wanted string           // the characters of that group
	saved  bool

	restore bool // a backup is to be restored
	busy    bool // it is being sent
}

func (z *wizard) clear() { *z = wizard{} }

// inUse refuses others while a browser is at it.
func (z *wizard) inUse(now time.Time) error {
	if now.Before(z.until) {
		return api.Errorf(api.Conflict, "This server is being set up in another browser. Go on there, or wait until %s; coffer init on the server's own machine need not wait.", z.until.UTC().Format("15:04:05 UTC"))
	}
	return nil
}

// ClaimSetup gives the setup of a fresh instance to the browser that knows its
// claim token. The browser shows the ticket that it gets with each step.
func (w *Warden) ClaimSetup(_ context.Context, claim api.Secret) (ticket api.Secret, err error) {
	if err := w.checkClaim(claim); err != nil {
		return ticket, err
	}
	token, err := crypto.NewToken(browserToken)
	if err != nil {
		return ticket, err
	}
	w.sealing.Lock()
	defer w.sealing.Unlock()
	if w.start.initialized.Load() {
		return ticket, errInitialized()
	}
	now := w.now()
	if err := w.start.wizard.inUse(now); err != nil {
		return ticket, err
	}
	w.start.wizard = wizard{holder: crypto.HashToken(token), until: now.Add(wizardTime)}
	return api.NewSecret(token), nil
}

// errNotClaimed answers a browser that is not, or no longer, setting up.
func errNotClaimed() *api.Error {
	return api.Errorf(api.Unauthorized, "This browser is not setting the server up, or it took longer than 15 minutes for a step. Nothing was kept: begin again with the claim token.")
}

// hold finds the wizard of a ticket, and holds the sealing lock if there is no
// error.
func (w *Warden) hold(ticket api.Secret) (*wizard, error) {
	w.sealing.Lock()
	z, hash := &w.start.wizard, crypto.HashToken(ticket.Reveal())
	if !w.now().Before(z.until) {
		z.clear()
	}
	var err error
	switch {
	case w.start.initialized.Load():
		err = errInitialized()
	case z.until.IsZero(), subtle.ConstantTimeCompare(hash[:], z.holder[:]) != 1:
		err = errNotClaimed()
	case z.busy:
		err = errRestoring()
	}
	if err != nil {
		w.sealing.Unlock()
	}
	return z, err
}

// Setting is how far a browser got with the setup.
type Setting struct {
	Step        string
	Expires     time.Time
	KeyFile     string       // where the key file is or would be, or "" when a passphrase was chosen
	RecoveryKey api.Revealed // the first time only
	Fingerprint string       // of the recovery key
	Group       int          // of the recovery key's characters that is asked for
}

// Setting tells a browser how far it got. The recovery key is in the first answer
// that could hold it, and in no other.
func (w *Warden) Setting(_ context.Context, ticket api.Secret) (*Setting, error) {
	z, err := w.hold(ticket)
	if err != nil {
		return nil, err
	}
	defer w.sealing.Unlock()
	s := &Setting{Step: StepMethod, Expires: z.until}
	if z.restore {
		s.Step = StepRestore
		return s, nil
	}
	if z.draft == nil {
		s.KeyFile = w.setupOf(api.Setup{}).KeyFile
		return s, nil
	}
	s.Step, s.KeyFile, s.Fingerprint, s.Group = StepRecovery, z.draft.first.Path, z.draft.recovery.Fingerprint, z.group
	if z.saved {
		s.Step = StepUser
	}
	if z.key != nil {
		s.RecoveryKey, z.key = api.Revealed(z.key.Reveal()), nil
	}
	return s, nil
}

// ChooseMethod makes the keys of the instance to be, and its recovery key. It may
// be asked for again: what was made before is forgotten.
func (w *Warden) ChooseMethod(_ context.Context, ticket api.Secret, req api.Setup) error {
	z, err := w.hold(ticket)
	if err != nil {
		return err
	}
	defer w.sealing.Unlock()
	d, err := w.newDraft(w.setupOf(req))
	if err != nil {
		return err
	}
	z.draft = d
	return w.drawRecovery(z)
}

// AnotherRecoveryKey makes a new recovery key for whoever did not save the last
// one. That opens nothing any more.
func (w *Warden) AnotherRecoveryKey(_ context.Context, ticket api.Secret) error {
	z, err := w.hold(ticket)
	if err != nil {
		return err
	}
	defer w.sealing.Unlock()
	if z.draft == nil {
		return errStepMissing()
	}
	return w.drawRecovery(z)
}

// errStepMissing answers who is further in the browser than here.
func errStepMissing() *api.Error {
	return api.Errorf(api.Conflict, "This step is not due. Open the setup again: it goes on where it is.")
}

func (w *Warden) drawRecovery(z *wizard) error {
	key, err := z.draft.newRecovery(w.now())
	if err != nil {
		return err
	}
	z.key, z.saved, z.until = key, false, w.now().Add(wizardTime)
	z.group, z.wanted, err = someGroup(key.Reveal())
	return err
}

// recoveryPrefix is how every recovery key begins.
const recoveryPrefix = "AGE-SECRET-KEY-PQ-1"

// someGroup draws one of a key's groups that are whole and nowhere the same in all
// keys.
func someGroup(key string) (number int, group string, err error) {
	first := (len(recoveryPrefix) + RecoveryGroup - 1) / RecoveryGroup
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(key)/RecoveryGroup-first)))
	if err != nil {
		return 0, "", err
	}
	at := first + int(n.Int64())
	return at + 1, key[at*RecoveryGroup : (at+1)*RecoveryGroup], nil
}

// CheckRecoveryKey holds what somebody typed against the characters that were
// asked for, in any case.
func (w *Warden) CheckRecoveryKey(_ context.Context, ticket, typed api.Secret) error {
	z, err := w.hold(ticket)
	if err != nil {
		return err
	}
	defer w.sealing.Unlock()
	switch {
	case z.draft == nil:
		return errStepMissing()
	case z.key != nil:
		return api.InvalidField("characters", api.NotAllowed, "Look at the recovery key first, and save it.")
	}
	text := strings.ToUpper(strings.Join(strings.Fields(typed.Reveal()), ""))
	if subtle.ConstantTimeCompare([]byte(text), []byte(z.wanted)) != 1 {
		return api.InvalidField("characters", api.NotAllowed, "These are not the characters of group %d. Look at the key that you saved; if it is not at hand, have another one made.", z.group)
	}
	z.saved, z.until = true, w.now().Add(wizardTime)
	return nil
}

// FinishSetup writes the instance and opens it. Where the code host is the
// built-in one the first user is needed, who runs the instance and is signed in in
// the browser that set it up; otherwise nobody is.
func (w *Warden) FinishSetup(ctx context.Context, ticket api.Secret, c Credential, first *api.NewOperator) (*BrowserSession, error) {
	z, err := w.hold(ticket)
	if err != nil {
		return nil, err
	}
	admin, err := w.finish(ctx, z, first)
	w.sealing.Unlock()
	if err != nil || admin == nil {
		return nil, err
	}
	return w.begin(ctx, arrivalOf(c, byWizard), func(tx store.Tx, j *journal, _ *keyring) (store.User, error) {
		return w.userAt(tx, j, strconv.FormatUint(admin.ID, 10), admin.Name)
	})
}

func (w *Warden) finish(ctx context.Context, z *wizard, first *api.NewOperator) (*store.LocalUser, error) {
	builtIn := w.forge.Kind() == forge.KindLocal
	switch {
	case !z.saved:
		return nil, errStepMissing()
	case builtIn && first == nil:
		return nil, api.InvalidField("username", api.Required, "Name the first user.")
	case !builtIn:
		first = nil
	}
	return w.commit(ctx, z.draft, first)
}

// LeaveSetup gives the setup up, for the next who knows the claim token.
func (w *Warden) LeaveSetup(_ context.Context, ticket api.Secret) error {
	z, err := w.hold(ticket)
	if err != nil {
		return err
	}
	defer w.sealing.Unlock()
	z.clear()
	return nil
}
