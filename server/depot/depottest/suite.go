package depottest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"coffer/server/depot"
	"coffer/server/standin"
)

// Host is a depot and what lies in it, in truth.
type Host struct {
	depot.Depot

	Put  func(name string, body []byte) // behind the depot's back
	Left func() []string                // all there is, in any state
}

// Two instances.
const (
	Mine   = "099a8057"
	Theirs = "099a8058"
)

// Noon is some day at noon.
var Noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func mine(day int) depot.Name { return depot.Name{Instance: Mine, At: Noon.AddDate(0, 0, day)} }

// Rules hold for every depot.
var Rules = standin.Suite[*Host]{
	Time:   time.Minute,
	Always: func(*Host) error { return nil },
	Rules: []standin.Rule[*Host]{
		{Name: "what was put comes back", Check: roundTrip},
		{Name: "a large one too", Check: large},
		{Name: "an empty one too", Check: empty},
		{Name: "the list is in order of time", Check: ordered},
		{Name: "others' files are left alone", Check: othersLeft},
		{Name: "a source that fails leaves nothing", Check: sourceFails},
		{Name: "a context that ends leaves nothing", Check: stopped},
		{Name: "deleting", Check: deleting},
		{Name: "what is not there", Check: absent},
		{Name: "checking leaves nothing", Check: checking},
	},
}

// Run holds a depot to the rules.
func Run(t *testing.T, host func(*testing.T) *Host) { Rules.Run(t, host) }

func put(ctx context.Context, h *Host, name depot.Name, body []byte) error {
	n, err := h.Depot.Put(ctx, name, iotest.HalfReader(bytes.NewReader(body)))
	if err == nil && n != int64(len(body)) {
		err = fmt.Errorf("put %d bytes, and it says %d", len(body), n)
	}
	return err
}

func holds(ctx context.Context, h *Host, name depot.Name, want []byte) error {
	r, err := h.Get(ctx, name)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%d bytes came back, not the %d that were put", len(got), len(want))
	}
	return errors.Join(err, r.Close())
}

func lists(ctx context.Context, h *Host, instance string, want ...string) error {
	all, err := h.List(ctx, instance)
	var got []string
	for _, o := range all {
		got = append(got, fmt.Sprintf("%s %d", o.Name, o.Size))
	}
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("it lists %q, not %q", got, want)
	}
	return err
}

func roundTrip(ctx context.Context, h *Host) error {
	body := []byte("one backup")
	return errors.Join(put(ctx, h, mine(0), body), holds(ctx, h, mine(0), body), lists(ctx, h, Mine, mine(0).String()+" 10"))
}

func large(ctx context.Context, h *Host) error {
	body := bytes.Repeat([]byte("0123456789abcdef"), 40<<20/16+1) // three parts of S3
	return errors.Join(put(ctx, h, mine(0), body), holds(ctx, h, mine(0), body))
}

func empty(ctx context.Context, h *Host) error {
	return errors.Join(put(ctx, h, mine(0), nil), holds(ctx, h, mine(0), nil), lists(ctx, h, Mine, mine(0).String()+" 0"))
}

func ordered(ctx context.Context, h *Host) error {
	var want []string
	for _, day := range []int{3, 1, 2, -400} {
		if err := put(ctx, h, mine(day), []byte("x")); err != nil {
			return err
		}
	}
	for _, day := range []int{-400, 1, 2, 3} {
		want = append(want, mine(day).String()+" 1")
	}
	return lists(ctx, h, Mine, want...)
}

// othersLeft holds everything against the names that coffer gives.
func othersLeft(ctx context.Context, h *Host) error {
	theirs := depot.Name{Instance: Theirs, At: Noon}
	others := []string{
		"readme.txt", "coffer-" + Mine + "-20260304T120000Z.tar.age.bak", "coffer-" + Mine + "-20260304T120000Z.age",
		"coffer-" + Mine + "-20261399T120000Z.tar.age", "coffer-" + Mine + ".tar.age", "my-" + mine(0).String(), theirs.String(),
	}
	for _, name := range others {
		h.Put(name, []byte("y"))
	}
	h.Put(theirs.String()+".partial", []byte("y"))
	err := errors.Join(put(ctx, h, mine(0), []byte("x")), lists(ctx, h, Mine, mine(0).String()+" 1"),
		lists(ctx, h, "", mine(0).String()+" 1", theirs.String()+" 1"), h.Clean(ctx, Mine), h.Delete(ctx, mine(0)))
	if left, want := h.Left(), len(others)+1; len(left) != want {
		err = errors.Join(err, fmt.Errorf("%d of %d files of others are left: %q", len(left), want, left))
	}
	return err
}

func sourceFails(ctx context.Context, h *Host) error {
	failure := errors.New("the disk of the data broke")
	body := io.MultiReader(bytes.NewReader(make([]byte, 20<<20)), iotest.ErrReader(failure))
	_, err := h.Depot.Put(ctx, mine(0), body)
	if !errors.Is(err, failure) {
		return fmt.Errorf("the source's error became: %w", err)
	}
	return nothingLeft(ctx, h)
}

func stopped(ctx context.Context, h *Host) error {
	ctx2, cancel := context.WithCancel(ctx)
	defer cancel()
	body := io.MultiReader(bytes.NewReader(make([]byte, 20<<20)), stopper{cancel}, bytes.NewReader(make([]byte, 20<<20)))
	if _, err := h.Depot.Put(ctx2, mine(0), body); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("it was stopped, and said: %w", err)
	}
	return nothingLeft(ctx, h)
}

type stopper struct{ stop func() }

func (s stopper) Read([]byte) (int, error) {
	s.stop()
	return 0, io.EOF
}

func nothingLeft(ctx context.Context, h *Host) error {
	err := lists(ctx, h, Mine)
	if left := h.Left(); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("there is left: %q", left))
	}
	return err
}

func deleting(ctx context.Context, h *Host) error {
	err := errors.Join(put(ctx, h, mine(0), []byte("x")), put(ctx, h, mine(1), []byte("x")))
	err = errors.Join(err, h.Delete(ctx, mine(0)), h.Delete(ctx, mine(0)), lists(ctx, h, Mine, mine(1).String()+" 1"))
	if _, gone := h.Get(ctx, mine(0)); !errors.Is(gone, depot.ErrAbsent) {
		err = errors.Join(err, fmt.Errorf("a deleted one is opened with: %w", gone))
	}
	return err
}

func absent(ctx context.Context, h *Host) error {
	_, err := h.Get(ctx, mine(0))
	if !errors.Is(err, depot.ErrAbsent) {
		return fmt.Errorf("what is not there is opened with: %w", err)
	}
	return errors.Join(lists(ctx, h, Mine), lists(ctx, h, ""), h.Clean(ctx, Mine))
}

func checking(ctx context.Context, h *Host) error {
	if err := h.Check(ctx, Mine); err != nil {
		return err
	}
	return nothingLeft(ctx, h)
}
