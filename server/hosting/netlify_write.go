package hosting

import (
	"context"
	"errors"
	"net/http"

	"coffer/server/api"
)

// netlifyRun tells what became of each variable.
type netlifyRun struct {
	done func(Outcome) error
	down int // variables in a row for which there was no answer
}

// tell tells of one, unless the error is one after which nothing more can be
// done.
func (r *netlifyRun) tell(ctx context.Context, key, mark string, err error) error {
	if err == nil {
		r.down = 0
		return r.done(Outcome{Key: key, Mark: mark})
	}
	u := (*Unavailable)(nil)
	if errors.As(err, &u) {
		r.down++
	}
	if errors.Is(err, ErrCredential) || ctx.Err() != nil || u != nil && (u.Limited || r.down > 1) {
		return err
	}
	return r.done(Outcome{Key: key, Err: FailureOf(err)})
}

func (n *netlify) Write(ctx context.Context, c Credential, t Target, all []Write, done func(Outcome) error) error {
	at, err := t.netlify(c)
	if err != nil {
		return err
	}
	return n.write(ctx, at, all, &netlifyRun{done: done}, tries)
}

// write gives a new value to what the site has, whatever was listed earlier, and
// creates the rest, of which it is read at most so many times what has become.
func (n *netlify) write(ctx context.Context, at netlifyPlace, all []Write, run *netlifyRun, reads int) error {
	held, err := n.held(ctx, at)
	if err != nil {
		return err
	}
	var missing []Write
	for _, w := range all {
		v, ok := held[w.Key]
		if !ok {
			missing = append(missing, w)
			continue
		}
		var mark string
		err := twice(func() (err error) { mark, err = n.change(ctx, at, v, w.Value); return })
		if err := run.tell(ctx, w.Key, mark, err); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return n.create(ctx, at, missing, run, reads-1)
}

// twice tries once more what met somebody else's change.
func twice(do func() error) error {
	err := do()
	if f := (*Failure)(nil); errors.As(err, &f) && f.Code == CodeConflict {
		return do()
	}
	return err
}

// held are all variables of the site by their keys.
func (n *netlify) held(ctx context.Context, at netlifyPlace) (map[string]netlifyVar, error) {
	vars, err := n.vars(ctx, at)
	held := map[string]netlifyVar{}
	for _, v := range vars {
		held[v.Key] = v
	}
	return held, err
}

// create makes variables in one call, which is refused as a whole: then it has
// to be found out for which of them.
func (n *netlify) create(ctx context.Context, at netlifyPlace, all []Write, run *netlifyRun, reads int) error {
	marks, err := n.post(ctx, at, all)
	f := (*Failure)(nil)
	u := (*Unavailable)(nil)
	switch {
	case err == nil:
	case errors.As(err, &f) && f.Code != CodeForbidden && f.Code != CodePlan:
		return n.divide(ctx, at, all, run, f)
	case reads <= 0 || ctx.Err() != nil:
	case errors.Is(err, ErrNotFound), errors.As(err, &u) && !u.Limited:
		return n.write(ctx, at, all, run, reads)
	}
	for _, w := range all {
		if err := run.tell(ctx, w.Key, marks[w.Key], err); err != nil {
			return err
		}
	}
	return nil
}

// divide goes on with each half of what was refused together. What is refused
// alone may be there by now.
func (n *netlify) divide(ctx context.Context, at netlifyPlace, all []Write, run *netlifyRun, why *Failure) error {
	if half := len(all) / 2; half > 0 {
		if err := n.write(ctx, at, all[:half], run, tries); err != nil {
			return err
		}
		return n.write(ctx, at, all[half:], run, tries)
	}
	w := all[0]
	mark := ""
	v, err := n.again(ctx, at, w.Key)
	switch {
	case err == nil:
		mark, err = n.change(ctx, at, v, w.Value)
	case errors.Is(err, ErrNotFound) && why.Code == CodeConflict:
		var marks map[string]string
		marks, err = n.post(ctx, at, all)
		mark = marks[w.Key]
	case errors.Is(err, ErrNotFound):
		err = why
	}
	return run.tell(ctx, w.Key, mark, err)
}

// post asks for new variables with a value in one context. It answers their
// marks, if the answer speaks of all of them.
func (n *netlify) post(ctx context.Context, at netlifyPlace, all []Write) (map[string]string, error) {
	type value struct {
		Context string `json:"context"`
		Value   string `json:"value"`
	}
	type variable struct {
		Key    string  `json:"key"`
		Values []value `json:"values"`
	}
	var body []variable
	for _, w := range all {
		body = append(body, variable{w.Key, []value{{at.context, w.Value.Reveal()}}})
	}
	var made []netlifyVar
	if _, err := n.wire.ask(ctx, at.call(http.MethodPost, "", body), &made); err != nil {
		return nil, err
	}
	marks := map[string]string{}
	for _, v := range made {
		if v.whole() && v.own(at.context) != nil {
			marks[v.Key] = v.Updated
		}
	}
	for _, w := range all {
		if _, ok := marks[w.Key]; !ok {
			return nil, errNetlifyHollow
		}
	}
	return marks, nil
}

// change writes one value of a variable that there is, and takes the context out
// of the value for all. Wherever it is cut off, every context has a value.
func (n *netlify) change(ctx context.Context, at netlifyPlace, v netlifyVar, value api.Secret) (mark string, err error) {
	own, shared := v.own(at.context), v.own(netlifyAll)
	if own != nil && shared == nil && v.readable(own) && *own.Value == value {
		return v.Updated, nil
	}
	if shared != nil {
		if v, err = n.again(ctx, at, v.Key); err == nil {
			v, err = n.apart(ctx, at, v)
		}
		if err != nil {
			return "", err
		}
	}
	if v, err = n.set(ctx, at, v.Key, at.context, value); err != nil {
		return "", err
	}
	if shared := v.own(netlifyAll); shared != nil && n.unset(ctx, at, v.Key, shared) == nil {
		return "", nil
	}
	// If it could not be unset it takes effect nowhere any more, and the value is
	// written all the same.
	return v.Updated, nil
}

// apart gives every other context the value for all of them as its own, so that
// this may go without being missed. The variable must have been looked at just
// now: somebody may have given one of them another value.
func (n *netlify) apart(ctx context.Context, at netlifyPlace, v netlifyVar) (netlifyVar, error) {
	shared := v.own(netlifyAll)
	if shared == nil {
		return v, nil
	}
	for _, other := range netlifyContexts {
		if other == at.context || v.own(other) != nil {
			continue
		}
		if !v.readable(shared) {
			return v, &Failure{Code: CodeRefused} // what cannot be read cannot be kept
		}
		var err error
		if v, err = n.set(ctx, at, v.Key, other, *shared.Value); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (n *netlify) Delete(ctx context.Context, c Credential, t Target, all []Variable, done func(Outcome) error) error {
	at, err := t.netlify(c)
	if err != nil {
		return err
	}
	held, err := n.held(ctx, at)
	if err != nil {
		return err
	}
	run := &netlifyRun{done: done}
	for _, v := range all {
		var err error
		if v.Origin == FromAbove {
			err = &Failure{Code: CodeForbidden} // it is the team's
		} else if _, ok := held[v.Key]; ok {
			err = twice(func() error { return n.remove(ctx, at, v.Key) })
		}
		if err := run.tell(ctx, v.Key, "", err); err != nil {
			return err
		}
	}
	return nil
}

// remove takes a variable out of one context. Only one that has no other goes as
// a whole, after another look at it.
func (n *netlify) remove(ctx context.Context, at netlifyPlace, key string) error {
	v, err := n.again(ctx, at, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case len(v.Values) == 1 && v.own(at.context) != nil:
		return n.gone(ctx, at.call(http.MethodDelete, "/"+segment(key), nil))
	}
	if v, err = n.apart(ctx, at, v); err != nil {
		return err
	}
	if err := n.unset(ctx, at, key, v.own(netlifyAll)); err != nil {
		return err
	}
	return n.unset(ctx, at, key, v.own(at.context))
}
