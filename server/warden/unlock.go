package warden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// Source is where a passphrase or a key comes from at start, if the operator
// configured one.
type Source struct {
	Name string // as a message calls it at its beginning: "The passphrase file /x"
	Kind string // api.MethodPassphrase or api.MethodKeyFile
	Read func() ([]byte, error)
}

// pluginTime is how long a plugin may take: somebody may have to find their
// hardware, but a server that starts must not wait for nobody.
const pluginTime = 20 * time.Second

// opened is the master key and the way that led to it.
type opened struct {
	master    *crypto.Master
	method    store.Method
	recipient string // public half of the key that was used, if it has one
}

// attempt is one thing to try without anybody asking.
type attempt struct {
	way string
	try func(context.Context) (opened, error)
}

// attemptsError says of several ways why none of them opens.
type attemptsError struct{ attempts []api.UnsealAttempt }

func (e *attemptsError) Error() string {
	var all []string
	for _, a := range e.attempts {
		all = append(all, a.Way+": "+a.Reason)
	}
	return strings.Join(all, " ")
}

func (e *attemptsError) answer() *api.Error { return api.Errorf(api.Forbidden, "%s", e.Error()) }

// unlock gets the master key with what the request brings, else with the first of
// what was configured that opens one of the methods. All shares that are needed
// must come together.
func (w *Warden) unlock(ctx context.Context, methods []store.Method, req api.Unseal) (opened, error) {
	switch {
	case req.Passphrase != nil:
		return byPassphrase(methods, []byte(req.Passphrase.Reveal()))
	case req.Key != nil:
		return byKey(methods, []byte(req.Key.Reveal()), "This key")
	case req.Share != nil:
		shares, err := parseShares(*req.Share)
		if err != nil {
			return opened{}, err
		}
		return byShares(methods, shares)
	}
	all := w.attempts(methods)
	if len(all) == 0 {
		return opened{}, api.Errorf(api.Forbidden, "No way to unseal is configured. Unseal by hand: coffer unseal.")
	}
	var failed attemptsError
	var last error
	for _, a := range all {
		o, err := a.try(ctx)
		if err == nil {
			w.log.Debug("the master key was found", "way", a.way)
			return o, nil
		}
		failed.attempts, last = append(failed.attempts, api.UnsealAttempt{Way: a.way, Reason: reasonOf(err)}), err
	}
	if len(all) == 1 {
		return opened{}, last
	}
	return opened{}, &failed
}

// reasonOf is an error in words for who looks at the status.
func reasonOf(err error) string {
	text := err.Error()
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// prove gets the master key of an open instance for whoever shows a way to unseal:
// the keys in memory do not give it. methods are those that may be shown.
func (w *Warden) prove(ctx context.Context, methods []store.Method, i store.Instance, proof *api.Unseal) (opened, error) {
	var req api.Unseal
	if proof != nil {
		req = *proof
	}
	o, err := w.unlock(ctx, methods, req)
	if failed, ok := errors.AsType[*attemptsError](err); ok {
		err = failed.answer()
	}
	if err != nil {
		return o, err
	}
	root, err := o.master.OpenRoot(i.RootKey)
	if err != nil {
		return o, api.Errorf(api.Forbidden, "This way to unseal leads to another master key (%s) than the data is sealed under (%s).", o.master.Fingerprint(), i.Fingerprint)
	}
	root.Destroy()
	return o, nil
}

// attempts are what can be tried without anybody, in order.
func (w *Warden) attempts(methods []store.Method) []attempt {
	var all []attempt
	c := w.start.configured
	if c.KeyFile != "" {
		all = append(all, tryKeyFile(methods, c.KeyFile))
	}
	for _, s := range c.Sources {
		all = append(all, trySource(methods, s))
	}
	tried := map[string]bool{c.KeyFile: true}
	for _, m := range methods {
		if m.Path != "" && !tried[m.Path] {
			tried[m.Path] = true
			all = append(all, tryKeyFile(methods, m.Path))
		}
	}
	for _, m := range methods {
		if m.Kind == api.MethodPlugin {
			all = append(all, attempt{pluginWay(m), func(ctx context.Context) (opened, error) { return byPlugin(ctx, m) }})
		}
	}
	return all
}

// pluginWay names a plugin's key. Who may not know labels sees it, too.
func pluginWay(m store.Method) string {
	p, err := crypto.ParsePlugin([]byte(m.Identity), m.Recipient)
	if err != nil {
		return "The plugin's key " + m.Fingerprint
	}
	return "The key " + m.Fingerprint + " of age-plugin-" + p.Name()
}

func tryKeyFile(methods []store.Method, path string) attempt {
	return attempt{"The key file " + path, func(context.Context) (opened, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return opened{}, api.Errorf(api.Forbidden, "The key file is missing: %v. Bring it back, or unseal with the recovery key: coffer unseal --recovery-key-file FILE.", err)
		}
		return byKey(methods, text, "The key file "+path)
	}}
}

func trySource(methods []store.Method, s Source) attempt {
	return attempt{s.Name, func(context.Context) (opened, error) {
		text, err := s.Read()
		if err != nil {
			return opened{}, api.Errorf(api.Forbidden, "The %s cannot be read: %v. Mend that, or unseal by hand: coffer unseal.", s.Kind, err)
		}
		defer clear(text)
		if s.Kind == api.MethodPassphrase {
			return byPassphrase(methods, text)
		}
		return byKey(methods, text, s.Name)
	}}
}

func byPassphrase(methods []store.Method, passphrase []byte) (opened, error) {
	tried := false
	for _, m := range methods {
		if m.Kind != api.MethodPassphrase {
			continue
		}
		tried = true
		master, err := crypto.UnwrapPassphrase(m.File, passphrase)
		if err == nil {
			return opened{master: master, method: m}, nil
		}
		if !errors.Is(err, crypto.ErrWrongPassphrase) {
			return opened{}, err
		}
	}
	if !tried {
		return opened{}, api.Errorf(api.Forbidden, "This instance has no passphrase. Unseal with its key file or recovery key.")
	}
	return opened{}, api.Errorf(api.Forbidden, "Wrong passphrase. Try again; if it is lost, unseal with the recovery key.")
}

func byKey(methods []store.Method, text []byte, what string) (opened, error) {
	if crypto.LooksLikeShare(string(text)) {
		return opened{}, api.Errorf(api.Forbidden, "%s is a share of a key. Unseal with it as one: coffer unseal --share-file FILE.", what)
	}
	identity, err := crypto.ParseIdentity(text)
	if err != nil {
		return opened{}, api.Errorf(api.Forbidden, "%s is not a usable key (%v). It should hold one line that begins with AGE-SECRET-KEY-PQ-1.", what, err)
	}
	return byIdentity(methods, identity, what)
}

func byIdentity(methods []store.Method, identity *crypto.Identity, what string) (opened, error) {
	wanted := ""
	for _, m := range methods {
		if m.Kind == api.MethodPassphrase || m.Kind == api.MethodPlugin {
			continue
		}
		master, err := crypto.UnwrapIdentity(m.File, identity)
		if err == nil {
			return opened{master, m, identity.Recipient()}, nil
		}
		if !errors.Is(err, crypto.ErrWrongKey) {
			return opened{}, err
		}
		wanted += " " + m.Fingerprint + " (" + m.Kind + ")"
	}
	if wanted == "" {
		return opened{}, api.Errorf(api.Forbidden, "This instance opens with no key file and no recovery key. Unseal as its methods say: coffer status.")
	}
	return opened{}, api.Errorf(api.Forbidden, "%s belongs to another instance: it is %s, and this one opens with%s.", what, identity.Fingerprint(), wanted)
}

func byPlugin(ctx context.Context, m store.Method) (opened, error) {
	p, err := crypto.ParsePlugin([]byte(m.Identity), m.Recipient)
	if err != nil {
		return opened{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	master, err := crypto.UnwrapPlugin(ctx, m.File, p)
	if err != nil {
		return opened{}, errPlugin(err)
	}
	return opened{master: master, method: m}, nil
}

// errPlugin says what a plugin failed with, and what helps.
func errPlugin(err error) error {
	for kind, help := range map[error]string{
		crypto.ErrPluginMissing: "Install it on the server.",
		crypto.ErrPluginAsks:    "Until then unseal in another way: coffer unseal.",
		crypto.ErrPluginSlow:    "Plug its device in, and try again: coffer unseal.",
		crypto.ErrPlugin:        "Mend that and try again: coffer unseal.",
		crypto.ErrWrongKey:      "Plug the right device in, and try again: coffer unseal.",
	} {
		if errors.Is(err, kind) {
			return api.Errorf(api.Forbidden, "%s. %s", sentence(err.Error()), help)
		}
	}
	return err
}

// sentence begins a text with a capital letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// remember keeps the public halves of keys that were made before these were kept,
// and puts that of the master key right: what is encrypted to it must open with it.
// Not being able to must not keep an instance sealed.
func (w *Warden) remember(ctx context.Context, o opened, i store.Instance) {
	right := i.Recipient == o.master.Recipient()
	if i.Recipient != "" && !right {
		w.log.Error("the public half of the master key was altered in the data; it is put right", "key", i.Fingerprint)
	}
	if right && (o.recipient == "" || w.vouched(o.method)) {
		return
	}
	err := w.store.Update(ctx, func(tx store.Tx) error {
		i, err := tx.Instance()
		if err != nil {
			return err
		}
		if i.Recipient != o.master.Recipient() && i.Fingerprint == o.master.Fingerprint() {
			i.Recipient = o.master.Recipient()
			err = tx.PutInstance(i)
		}
		m, missing := tx.Method(o.method.ID)
		if missing == nil && o.recipient != "" {
			m.Recipient = o.recipient
			err = errors.Join(err, w.vouch(tx.Reader, &m), tx.PutMethod(m))
		}
		return err
	})
	if err != nil {
		w.log.Warn("the public half of a key could not be noted", "error", err)
	}
}

func (w *Warden) vouched(m store.Method) bool {
	k := w.keys.Load()
	return k != nil && k.under.Load().vouched(m)
}

// wrapFor seals the master for a method in the way that it opens, where that takes
// no secret.
func wrapFor(ctx context.Context, m *crypto.Master, method store.Method) ([]byte, error) {
	switch {
	case method.Kind == api.MethodPlugin:
		p, err := crypto.ParsePlugin([]byte(method.Identity), method.Recipient)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, pluginTime)
		defer cancel()
		file, err := crypto.WrapPlugin(ctx, m, p)
		if err != nil {
			return nil, errPlugin(err)
		}
		return file, nil
	case method.Recipient == "":
		return nil, fmt.Errorf("the public half of %s %s is not known: unseal once with that key first", method.Kind, method.Fingerprint)
	}
	return crypto.WrapIdentity(m, method.Recipient)
}
