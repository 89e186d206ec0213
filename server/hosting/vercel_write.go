package hosting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"coffer/server/api"
)

const (
	vercelPost   = 100  // records in one request
	vercelDelete = 1000 // ids in one request
)

// vercelNew is a record to be made: for one target only, because an upsert finds
// a record again by its exact targets, and one for several conflicts with those
// that are there.
type vercelNew struct {
	Key    string       `json:"key"`
	Value  api.Revealed `json:"value"`
	Type   string       `json:"type"`
	Target []string     `json:"target,omitempty"`
	Custom []string     `json:"customEnvironmentIds,omitempty"`
}

// own is a record of this place's own.
func (p vercelPlace) own(w Write) vercelNew {
	n := vercelNew{Key: w.Key, Value: api.Revealed(w.Value.Reveal()), Type: p.kind(w.Was)}
	if p.standard() {
		n.Target = []string{p.t.Environment.ID}
	} else {
		n.Custom = []string{p.t.Environment.ID}
	}
	return n
}

func (p vercelPlace) standard() bool { return slices.Contains(vercelTargets, p.t.Environment.ID) }

// kind is the type of a new record: that of the one which the place had before,
// or "encrypted". That can be read by who may, so that a later run can compare it,
// and users can still make it sensitive, which nobody can take back. A team that
// wants all to be sensitive has a policy for that.
func (p vercelPlace) kind(was *Variable) string {
	if was == nil {
		return "encrypted"
	}
	switch r, _ := was.native.(vercelRecord); r.Type {
	case "plain", "encrypted", "sensitive":
		return r.Type
	case "secret": // an old type, which nobody can make any more and nobody could read
		if p.t.Environment.ID != "development" {
			return "sensitive"
		}
	}
	return "encrypted"
}

// over reports whether err ends a run: it is not about one variable.
func over(err error) bool {
	_, silent := errors.AsType[*Unavailable](err)
	return silent || errors.Is(err, ErrCredential)
}

// tell passes on what became of a key, unless err ends the run.
func tell(done func(Outcome) error, key, mark string, err error) error {
	if over(err) {
		return err
	}
	o := Outcome{Key: key, Mark: mark}
	if err != nil {
		o.Err = FailureOf(err)
	}
	return done(o)
}

// Write changes records that are the target's own, takes the target out of those
// that it shares, and creates what is new, as much as possible at once.
func (v *vercel) Write(ctx context.Context, c Credential, t Target, all []Write, done func(Outcome) error) error {
	p := v.place(c, t)
	var news []Write
	for _, w := range all {
		if w.Was == nil {
			news = append(news, w)
			continue
		}
		r, _ := w.Was.native.(vercelRecord)
		var mark string
		var err error
		switch {
		case w.Was.Origin != FromUser:
			err = &Failure{Code: CodeForbidden}
		case r.shared():
			mark, err = p.split(ctx, w, r)
		default:
			mark, err = p.change(ctx, r, map[string]any{"value": w.Value.Reveal()})
		}
		if errors.Is(err, ErrNotFound) { // it was deleted since
			news = append(news, w)
			continue
		}
		if err := tell(done, w.Key, mark, err); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(news, vercelPost) {
		if err := p.create(ctx, chunk, done); err != nil {
			return err
		}
	}
	return nil
}

// change changes these fields of a record, and no others: not its type above all.
func (p vercelPlace) change(ctx context.Context, r vercelRecord, fields map[string]any) (string, error) {
	q := p.call(http.MethodPatch, "v9", r.ID)
	q.json, q.again = fields, true
	var now vercelRecord
	_, err := p.v.api.ask(ctx, q, &now)
	return now.mark(), err
}

// leave takes the place out of a record that it shares with others.
func (p vercelPlace) leave(ctx context.Context, r vercelRecord) error {
	others := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == p.t.Environment.ID })
	}
	fields := map[string]any{"customEnvironmentIds": others(r.Custom)}
	if p.standard() {
		fields = map[string]any{"target": others(r.Targets)}
	}
	_, err := p.change(ctx, r, fields)
	return err
}

// split gives the place a record of its own in place of one that it shares.
func (p vercelPlace) split(ctx context.Context, w Write, r vercelRecord) (string, error) {
	if err := p.leave(ctx, r); over(err) {
		return p.mend(ctx, w.Key, r, err)
	} else if err != nil {
		return "", err // it is as it was
	}
	made, err := p.post(ctx, []vercelNew{p.own(w)})
	if err == nil {
		err = made.failed(w.Key)
	}
	if err != nil {
		return p.mend(ctx, w.Key, r, err)
	}
	return made.marks[w.Key], nil
}

// mend undoes half a split, so that the place has at least its old value. It does
// so when ctx is over as well: that may be why there is only half of it.
func (p vercelPlace) mend(ctx context.Context, key string, r vercelRecord, cause error) (string, error) {
	if errors.Is(cause, ErrCredential) {
		return "", cause // nothing more can be done with it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if over(cause) { // perhaps only the answer was lost
		records, _ := p.records(ctx)
		for _, now := range records {
			if now.Key == key && now.ID != r.ID {
				return now.mark(), nil
			}
		}
	}
	fields := map[string]any{"customEnvironmentIds": r.Custom}
	if p.standard() {
		fields = map[string]any{"target": r.Targets}
	}
	_, _ = p.change(ctx, r, fields) // if not, the next run finds the key missing, and creates it
	return "", cause
}

// create makes records. Where Vercel turns down all of them for the sake of some,
// it is asked again for half of them.
func (p vercelPlace) create(ctx context.Context, all []Write, done func(Outcome) error) error {
	var items []vercelNew
	for _, w := range all {
		items = append(items, p.own(w))
	}
	made, err := p.post(ctx, items)
	if over(err) || errors.Is(err, ErrNotFound) {
		return err
	}
	if made.divisible && len(all) > 1 {
		half := len(all) / 2
		if err := p.create(ctx, all[:half], done); err != nil {
			return err
		}
		return p.create(ctx, all[half:], done)
	}
	for _, w := range all {
		if err := tell(done, w.Key, made.marks[w.Key], cmp.Or(err, made.failed(w.Key))); err != nil {
			return err
		}
	}
	return nil
}

// vercelMade is what became of a request for records.
type vercelMade struct {
	marks     map[string]string // of those that were made
	codes     map[string]Code   // of those that were not; "" has that of no key in particular
	divisible bool              // all of it was turned down, perhaps because of some
	id        string
}

// failed says why a key was not made, or nil.
func (m vercelMade) failed(key string) error {
	if code, ok := m.codes[key]; ok {
		return &Failure{Code: code, RequestID: m.id}
	}
	if _, ok := m.marks[key]; ok {
		return nil
	}
	return &Failure{Code: cmp.Or(m.codes[""], CodeUnavailable), RequestID: m.id}
}

// post makes records, some of which may fail while others do not.
func (p vercelPlace) post(ctx context.Context, items []vercelNew) (vercelMade, error) {
	q := p.call(http.MethodPost, "v10")
	q.query.Set("upsert", "true")
	q.json, q.again = items, true // an upsert does the same again
	var said struct {
		Created json.RawMessage `json:"created"` // a list, or a bare record
		Failed  []struct {
			Error struct {
				Code   string `json:"code"`
				Key    string `json:"key"`
				EnvKey string `json:"envVarKey"`
			} `json:"error"`
		} `json:"failed"`
	}
	a, err := p.v.api.ask(ctx, q, &said)
	if err != nil {
		f, refused := errors.AsType[*Failure](err)
		some := refused && f.Code != CodeLimit && (a.Status == http.StatusBadRequest || a.Status == http.StatusRequestEntityTooLarge)
		return vercelMade{divisible: some}, err
	}
	made := vercelMade{marks: map[string]string{}, codes: map[string]Code{}, id: a.requestID()}
	var created []vercelRecord
	if json.Unmarshal(said.Created, &created) != nil {
		created = make([]vercelRecord, 1)
		if len(said.Created) > 0 && json.Unmarshal(said.Created, &created[0]) != nil {
			return made, a.senseless()
		}
	}
	for _, r := range created {
		made.marks[r.Key] = r.mark()
	}
	for _, f := range said.Failed {
		code, known := vercelCodes[strings.ToUpper(f.Error.Code)]
		if !known {
			code = CodeRefused
		}
		made.codes[cmp.Or(f.Error.EnvKey, f.Error.Key)] = code
	}
	return made, nil
}

// Delete deletes records that are the target's own, many at once, and takes the
// target out of those that it shares.
func (v *vercel) Delete(ctx context.Context, c Credential, t Target, all []Variable, done func(Outcome) error) error {
	p := v.place(c, t)
	own := map[string]string{} // id → key
	var ids []string
	for _, x := range all {
		r, _ := x.native.(vercelRecord)
		var err error
		switch {
		case x.Origin != FromUser:
			err = &Failure{Code: CodeForbidden}
		case !r.shared():
			own[r.ID] = x.Key
			ids = append(ids, r.ID)
			continue
		default:
			err = gone(p.leave(ctx, r))
		}
		if err := tell(done, x.Key, "", err); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(ids, vercelDelete) {
		if err := p.remove(ctx, chunk, own, done); err != nil {
			return err
		}
	}
	return nil
}

// gone is err, unless that is that there is nothing to be deleted.
func gone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// remove deletes records. What Vercel does not say to be deleted may have been
// gone before, and may have kept the others of the request from being deleted:
// then it is asked a second time for those that are still there.
func (p vercelPlace) remove(ctx context.Context, ids []string, own map[string]string, done func(Outcome) error) error {
	var refusal error
	for try := 0; try < 2 && len(ids) > 0; try++ {
		q := p.call(http.MethodDelete, "v1")
		q.json = map[string][]string{"ids": ids}
		var said struct {
			IDs []string `json:"ids"`
		}
		if _, refusal = p.v.api.ask(ctx, q, &said); over(refusal) {
			return refusal
		}
		if gone(refusal) != nil {
			break
		}
		left := func(id string) bool { return !slices.Contains(said.IDs, id) }
		if slices.ContainsFunc(ids, left) {
			there, err := p.everything(ctx)
			if err != nil {
				return err
			}
			left = func(id string) bool {
				return slices.ContainsFunc(there, func(r vercelRecord) bool { return r.ID == id })
			}
		}
		for _, id := range ids {
			if left(id) {
				continue
			}
			if err := done(Outcome{Key: own[id]}); err != nil {
				return err
			}
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !left(id) })
	}
	for _, id := range ids {
		if err := tell(done, own[id], "", cmp.Or(refusal, error(&Failure{Code: CodeRefused}))); err != nil {
			return err
		}
	}
	return nil
}
