package warden

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"coffer/server/access"
	"coffer/server/api"
)

// CompareQuery asks how two states differ.
type CompareQuery struct {
	api.Ref
	Left, Right Side
}

// Side is what an environment holds, or held at a revision or an instant. With
// neither it is what it holds now.
type Side struct {
	Environment string
	Revision    *int
	At          time.Time
	Field       string // what a complaint calls revision and instant
}

// Comparison names the keys of two states, each in one of four lists, sorted.
type Comparison struct {
	Left, Right                          Compared
	OnlyLeft, OnlyRight, Different, Same []string
}

// Compared is one side of a comparison as it was found.
type Compared struct {
	Revision   uint64
	Incomplete bool // some of it was removed for good since
}

// Compare tells by key how two states differ. Like the matrix it opens and compares
// values, and says of them only whether they are the same, to somebody who may read
// both sides; so it is recorded as little as that.
func (w *Warden) Compare(ctx context.Context, who Caller, req CompareQuery) (*Comparison, error) {
	c := &comparing{out: &Comparison{}}
	err := w.read(ctx, who, access.Pull, req.Repository(), func(v *visit) error {
		left, err := v.side(req.Left, &c.out.Left)
		if err != nil {
			return err
		}
		right, err := v.side(req.Right, &c.out.Right)
		if err != nil {
			return err
		}
		c.visit = v
		return c.run(left, right)
	})
	return c.out, err
}

// side lists the sealed values of one side, by key.
func (v *visit) side(s Side, out *Compared) ([]row, error) {
	e := v.environment(s.Environment)
	if e == nil {
		return nil, v.errPullEnvironment(s.Environment)
	}
	if err := v.allow(e); err != nil {
		return nil, err
	}
	p := pull{req: api.PullSecrets{Revision: s.Revision}, out: &api.Pulled{}}
	switch {
	case s.Revision != nil && uint64(*s.Revision) > e.Revision:
		return nil, api.InvalidField(s.Field, api.FieldTooLarge, "%s is at revision %d.", e.Name, e.Revision)
	case s.At.After(v.now):
		return nil, api.InvalidField(s.Field, api.FieldTooLarge, "A time in the past.")
	case !s.At.IsZero():
		p.req.At = s.At.Format(time.RFC3339Nano)
	}
	rows, revision, err := p.find(v, e)
	*out = Compared{revision, p.out.Incomplete}
	return rows, err
}

// comparing is one comparison under way. It keeps no value but the two that it
// looked at last.
type comparing struct {
	*visit
	out         *Comparison
	left, right []byte
}

// run walks through both sides, which are sorted by key.
func (c *comparing) run(left, right []row) error {
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(right) == 0 || len(left) > 0 && left[0].key < right[0].key:
			c.out.OnlyLeft = append(c.out.OnlyLeft, left[0].key)
			left = left[1:]
		case len(left) == 0 || right[0].key < left[0].key:
			c.out.OnlyRight = append(c.out.OnlyRight, right[0].key)
			right = right[1:]
		default:
			same, err := c.same(left[0], right[0])
			if err != nil {
				return err
			}
			list := &c.out.Different
			if same {
				list = &c.out.Same
			}
			*list = append(*list, left[0].key)
			left, right = left[1:], right[1:]
		}
	}
	return nil
}

// same reports whether two values are. Sealing adds the same to each, so those that
// differ in length need not be opened.
func (c *comparing) same(left, right row) (same bool, err error) {
	if len(left.sealed) != len(right.sealed) {
		return false, nil
	}
	if c.left, err = c.open(c.left, left); err != nil {
		return false, err
	}
	c.right, err = c.open(c.right, right)
	return bytes.Equal(c.left, c.right), err
}

// open opens a sealed value into a buffer that is not needed any more.
func (v *visit) open(buffer []byte, r row) ([]byte, error) {
	k, err := v.key(uint64(r.generation))
	if err != nil {
		return nil, err
	}
	value, err := k.Open(buffer[:0], r.sealed, r.context)
	if err != nil {
		return nil, fmt.Errorf("open the value of %s: %w", r.key, err)
	}
	return value, nil
}
