package warden

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/dotenv"
	"coffer/store"
)

// A file is imported in two steps: somebody sees what it would change, and then
// chooses. Between them the browser keeps what was read of the file, sealed, so
// that no value stands in a page and the server keeps nothing. What is sealed opens
// only in the same session, for the same environment, and not for long.

// importTime is how long somebody may look at what a file would change.
const importTime = 15 * time.Minute

// ImportFile asks what a file would change in an environment.
type ImportFile struct {
	api.Ref
	Environment string
	Text        api.Secret

	// Edited is set when the file is the environment's own text, taken at this
	// revision and edited since.
	Edited *uint64
}

// ImportDraft is a file that was looked at before.
type ImportDraft struct {
	api.Ref
	Environment string
	Draft       api.Secret
}

// ImportChoice says what of a file is to be stored.
type ImportChoice struct {
	ImportDraft
	Keys    []string
	Replace bool // move keys that are not in the file to the trash
}

// ImportPreview tells what a file would change. It holds no value.
type ImportPreview struct {
	Environment string
	Rows        []ImportRow // in the order of the file
	Problems    []EnvProblem
	Missing     []string   // active keys that are not in the file
	Changed     []string   // keys that others changed since the file was taken
	Forgotten   bool       // nobody knows any more what others changed
	Unread      bool       // the file cannot be read, and there is no more than the problems
	LeftOut     int        // lines that cannot be stored
	Edited      bool       // it is the environment's own text
	Draft       api.Secret // the file, sealed
}

// ImportRow is one key of a file, and what would become of it.
type ImportRow struct {
	Key    string
	Line   int
	Change ImportChange
	Stale  bool // others changed it since the file was taken
}

// ImportChange is what becomes of a key.
type ImportChange string

// The three of them.
const (
	ImportCreates   ImportChange = "create"
	ImportUpdates   ImportChange = "update"
	ImportUnchanged ImportChange = "unchanged"
)

// importDraft is what a browser keeps of a file.
type importDraft struct {
	Expires  time.Time
	Revision uint64 // of the environment that the file was held against
	Entries  []importEntry
	Problems []EnvProblem
	LeftOut  int
	Edited   bool
}

type importEntry struct {
	Key   string
	Value api.Revealed
	Line  int
}

func (d *importDraft) values() map[string]api.Secret {
	all := make(map[string]api.Secret, len(d.Entries))
	for _, e := range d.Entries {
		all[e.Key] = api.NewSecret(string(e.Value))
	}
	return all
}

// PreviewImport tells what a file would change. Like a dry run of a push, it says
// whether values are the same, and is recorded.
func (w *Warden) PreviewImport(ctx context.Context, who Caller, req ImportFile) (*ImportPreview, error) {
	file := ReadEnvFile(req.Text)
	if file.Unread {
		return &ImportPreview{Environment: req.Environment, Problems: file.Problems, Unread: true, Edited: req.Edited != nil}, nil
	}
	var out *ImportPreview
	err := w.importing(ctx, who, req.Ref, req.Environment, func(v *visit, e *store.Environment) (err error) {
		d := importDraft{Revision: e.Revision, Problems: file.Problems, LeftOut: file.LeftOut, Edited: req.Edited != nil}
		if req.Edited != nil {
			d.Revision = *req.Edited
		}
		if d.Entries, err = v.entries(e, file, d.Edited); err != nil {
			return err
		}
		d.Expires = v.now.Add(importTime)
		out, err = v.preview(e, &d)
		return err
	})
	return out, err
}

// ReviewImport is PreviewImport once more: the environment may have changed since.
func (w *Warden) ReviewImport(ctx context.Context, who Caller, req ImportDraft) (*ImportPreview, error) {
	var out *ImportPreview
	err := w.importing(ctx, who, req.Ref, req.Environment, func(v *visit, e *store.Environment) error {
		d, err := v.openDraft(e, req.Draft)
		if err != nil {
			return err
		}
		out, err = v.preview(e, d)
		return err
	})
	return out, err
}

// Import stores what was chosen of a file: all of it or, on any error, nothing. It
// is a push that wants the environment to be as it was shown.
func (w *Warden) Import(ctx context.Context, who Caller, req ImportChoice) (*api.Pushed, error) {
	var out *api.Pushed
	err := w.change(ctx, who, access.Push, req.Repository(), func(v *visit) error {
		e, err := v.named(req.Environment)
		if err != nil {
			return err
		}
		d, err := v.openDraft(e, req.Draft)
		if err != nil {
			return err
		}
		p := push{visit: v, e: e, replace: req.Replace, exact: true}
		if err := p.choose(d, req.Keys); err != nil {
			return err
		}
		if err := p.check(new(int(d.Revision))); err != nil {
			return err
		}
		if err := p.run(); err != nil {
			return err
		}
		mode := api.ModeMerge
		if p.replace {
			mode = api.ModeReplace
		}
		v.note("secrets_pushed", p.meta(mode))
		out = p.answer()
		return nil
	})
	return out, err
}

// choose takes the chosen keys of a file into the push, and spares the others.
func (p *push) choose(d *importDraft, keys []string) error {
	if len(keys) == 0 && !p.replace {
		return api.Errorf(api.BadRequest, "Nothing was chosen, so nothing was stored.")
	}
	if p.replace && d.LeftOut > 0 {
		return api.Errorf(api.BadRequest, "Some lines of the file cannot be stored, so nothing was moved to the trash for not being in it. Correct them first.")
	}
	all := d.values()
	p.incoming, p.spared = make(map[string]api.Secret, len(keys)), make(map[string]bool, len(all))
	for key := range all {
		p.spared[key] = true
	}
	for _, key := range keys {
		value, there := all[key]
		if !there {
			return api.Errorf(api.BadRequest, "The form names a key that is not in the file. Choose the file again.")
		}
		p.incoming[key] = value
	}
	return nil
}

// importing lets a caller hold a file against an environment.
func (w *Warden) importing(ctx context.Context, who Caller, ref api.Ref, environment string, look func(*visit, *store.Environment) error) error {
	return w.read(ctx, who, access.PushDryRun, ref.Repository(), func(v *visit) error {
		if err := v.refuseReadOnly(); err != nil {
			return err
		}
		e, err := v.named(environment)
		if err != nil {
			return err
		}
		return look(v, e)
	})
}

// entries are what a file sets. Where a text of the file is exactly what a pull
// writes for the stored value, it means that value, though it can be read in
// another way; what somebody edited means what it says.
func (v *visit) entries(e *store.Environment, file *EnvFile, edited bool) ([]importEntry, error) {
	all := make([]importEntry, 0, len(file.Entries))
	for _, entry := range file.Entries {
		value := entry.Value.Reveal()
		if !edited {
			stored, err := v.storedValue(e, entry.Key)
			if err != nil {
				return nil, err
			}
			if stored != nil && entry.read.Encodes(string(stored)) {
				value = string(stored)
			}
		}
		all = append(all, importEntry{entry.Key, api.Revealed(value), entry.Line})
	}
	return all, nil
}

// storedValue is the value of an active key, or nil when there is none.
func (v *visit) storedValue(e *store.Environment, key string) ([]byte, error) {
	n, err := v.NewestOf(*e, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v.openNewest(e, n)
}

// preview holds a draft against the environment as it is now, and seals it anew.
func (v *visit) preview(e *store.Environment, d *importDraft) (*ImportPreview, error) {
	p := push{visit: v, e: e, incoming: d.values(), replace: true, dry: true, exact: true}
	if err := p.run(); err != nil {
		return nil, err
	}
	out := &ImportPreview{Environment: e.Name, Problems: d.Problems, Missing: p.deleted, LeftOut: d.LeftOut, Edited: d.Edited}
	changed, err := v.ChangedSince(*e, d.Revision)
	out.Forgotten = errors.Is(err, store.ErrNotFound) || d.Revision > e.Revision
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	out.Changed = changed
	changes := make(map[string]ImportChange, len(d.Entries))
	for _, key := range p.created {
		changes[key] = ImportCreates
	}
	for _, key := range p.updated {
		changes[key] = ImportUpdates
	}
	for _, entry := range d.Entries {
		row := ImportRow{Key: entry.Key, Line: entry.Line, Change: changes[entry.Key]}
		if row.Change == "" {
			row.Change = ImportUnchanged
		}
		_, row.Stale = slices.BinarySearch(changed, entry.Key)
		out.Rows = append(out.Rows, row)
	}
	v.note("secrets_pushed", p.meta(api.ModeReplace))
	d.Revision = e.Revision
	out.Draft, err = v.sealDraft(e, d)
	return out, err
}

// draftContext says where a draft belongs.
func (v *visit) draftContext(e *store.Environment) []byte {
	return crypto.RecordContext(v.who.session.ID, fmt.Sprintf("import/%s/%s", e.Vault, e.ID))
}

func (v *visit) sealDraft(e *store.Environment, d *importDraft) (api.Secret, error) {
	if v.who.session.ID.IsZero() {
		return api.Secret{}, api.Errorf(api.Forbidden, "This needs a session. Sign in, or push the file.")
	}
	text, err := json.Marshal(d)
	if err != nil {
		return api.Secret{}, err
	}
	return api.NewSecret(base64.RawURLEncoding.EncodeToString(v.keys.under.Load().imports.Seal(nil, text, v.draftContext(e)))), nil
}

func (v *visit) openDraft(e *store.Environment, sealed api.Secret) (*importDraft, error) {
	void := api.Errorf(api.BadRequest, "What was read of the file is not valid here, or no longer: it is good for %d minutes, in the browser that sent it. Nothing was stored; send the file again.", int(importTime.Minutes()))
	raw, err := base64.RawURLEncoding.DecodeString(sealed.Reveal())
	if err != nil {
		return nil, void
	}
	text, err := v.keys.under.Load().imports.Open(nil, raw, v.draftContext(e))
	if errors.Is(err, crypto.ErrOpen) {
		return nil, void
	}
	if err != nil {
		return nil, err
	}
	d := new(importDraft)
	if err := json.Unmarshal(text, d); err != nil || v.who.session.ID.IsZero() || !v.now.Before(d.Expires) {
		return nil, void
	}
	return d, nil
}

// WriteEnvFile writes values as a .env file that [ReadEnvFile] reads back exactly.
func WriteEnvFile(values map[string]api.Revealed) api.Revealed {
	plain := make(map[string]string, len(values))
	for key, value := range values {
		plain[key] = string(value)
	}
	return api.Revealed(dotenv.Write(dotenv.Entries(plain)))
}
