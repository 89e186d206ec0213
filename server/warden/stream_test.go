package warden_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/stream"
	"coffer/server/warden"
	"coffer/store/kv"
)

// to streams to a place.
func to(t *testing.T, place string) func(*warden.Config) {
	t.Helper()
	target, err := stream.Open(place)
	must(t, err)
	return func(c *warden.Config) { c.Stream, c.StreamName = target, place }
}

func linesOf(path string) int {
	text, _ := os.ReadFile(path)
	return strings.Count(string(text), "\n")
}

func verifyPath(t *testing.T, w *warden.Warden, path string) *api.AuditReport {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return verifyFile(t, w, text)
}

func TestNewRecordsGoToAFileThatVerifies(t *testing.T) {
	h := newHouse(t)
	before := uint64(len(h.rows(tagRow)))
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := h.wardenWith(h.db, to(t, "file:"+path))
	eventually(t, func() bool { return len(h.rows(0x37)) == 1 })
	h.use(w, 5)
	eventually(t, func() bool { return linesOf(path) == 6 })
	// Moved away while it is written.
	must(t, os.Rename(path, path+".1"))
	h.use(w, 4)
	eventually(t, func() bool { return linesOf(path) == 5 })
	h.use(w, 3)
	must(t, w.Close())
	// Another process goes on.
	w = h.wardenWith(h.db, to(t, "file:"+path))
	h.use(w, 2)
	must(t, w.Close())

	w = h.warden(h.db)
	for file, want := range map[string][2]uint64{path + ".1": {before + 1, before + 5}, path: {before + 6, before + 14}} {
		r := verifyPath(t, w, file)
		if verdict(r) != sound || r.Source != "stream" || r.First != want[0] || r.Last != want[1] || r.Ends.Number != want[1] {
			text, _ := os.ReadFile(file)
			t.Errorf("%s: %s %+v\n%s", filepath.Base(file), verdict(r), r, text)
		}
	}
}

// target keeps what it gets, and fails when it is told to.
type target struct {
	mu      sync.Mutex
	numbers []uint64
	failing bool
	slow    time.Duration
	closed  bool
}

var errTarget = errors.New("the target is broken")

func (k *target) Send(ctx context.Context, b stream.Batch) (int, error) {
	k.mu.Lock()
	slow := k.slow
	k.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, l := range b.Lines {
		if k.failing {
			return i, errTarget
		}
		var m struct{ Number uint64 }
		if err := json.Unmarshal(l.Message, &m); err != nil {
			return i, err
		}
		k.numbers = append(k.numbers, m.Number)
	}
	return len(b.Lines), nil
}

func (k *target) Sync() error { return nil }

func (k *target) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	return nil
}

func (k *target) fail(failing bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing = failing
}

func (k *target) got() []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]uint64(nil), k.numbers...)
}

// reached reports whether a record arrived.
func (k *target) reached(number uint64) func() bool {
	return func() bool { return slices.Contains(k.got(), number) }
}

func (k *target) set(c *warden.Config) { c.Stream, c.StreamName = k, "syslog:test" }

// inOrder wants the numbers from first to last, without gaps; some may come
// again.
func inOrder(t *testing.T, numbers []uint64, first, last uint64) {
	t.Helper()
	next := first
	for _, n := range numbers {
		if n > next {
			t.Fatalf("%d follows %d: %v", n, next-1, numbers)
		}
		next = max(next, n+1)
	}
	if next != last+1 {
		t.Errorf("got up to %d of %d", next-1, last)
	}
}

func TestATargetThatFailsHoldsNobodyUp(t *testing.T) {
	h := newHouse(t)
	k := &target{failing: true}
	w := h.wardenWith(h.db, k.set)
	eventually(t, func() bool { return len(h.rows(0x37)) == 1 })
	first := uint64(len(h.rows(tagRow))) + 1
	began := time.Now()
	h.use(w, 300)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("300 requests took %v", took)
	}
	k.fail(false)
	eventually(t, k.reached(first+299))
	inOrder(t, k.got(), first, first+299)
	k.mu.Lock()
	k.slow = time.Hour
	k.mu.Unlock()
	h.use(w, 1)
	began = time.Now()
	must(t, w.Close())
	if took := time.Since(began); took > 10*time.Second || !k.closed {
		t.Errorf("closing took %v, closed %v", took, k.closed)
	}
	// What could not be handed on before is handed on at the next start.
	k.slow = 0
	h.wardenWith(h.db, k.set)
	eventually(t, k.reached(first+300))
	inOrder(t, k.got(), first, first+300)
}

// dead is a database that died.
type dead struct {
	kv.DB
	died *bool
}

func (d dead) Update(ctx context.Context, fn func(kv.Tx) error) error {
	if *d.died {
		return kv.ErrClosed
	}
	return d.DB.Update(ctx, fn)
}

// TestEveryRecordIsStreamedAtLeastOnce, whenever the process is killed.
func TestEveryRecordIsStreamedAtLeastOnce(t *testing.T) {
	h := newHouse(t)
	k := &target{}
	first, last := uint64(len(h.rows(tagRow)))+1, uint64(0)
	for round := range 3 {
		died := new(bool)
		w := h.wardenWith(dead{h.db, died}, k.set)
		eventually(t, func() bool { return len(h.rows(0x37)) == 1 })
		if round > 0 {
			h.use(w, 7)
		} else {
			h.use(w, 1)
		}
		last = uint64(len(h.rows(tagRow)))
		eventually(t, k.reached(last))
		k.mu.Lock() // nothing moves while it dies
		*died = true
		k.mu.Unlock()
		must(t, w.Close())
	}
	inOrder(t, k.got(), first, last)
	if len(k.got()) == int(last-first+1) {
		t.Log("nothing came twice")
	}
}

func TestWhatWasPrunedFirstIsPassedOver(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	k := &target{failing: true}
	w := h.wardenWith(h.db, k.set, c.set, checkpoints)
	eventually(t, func() bool { return len(h.rows(0x37)) == 1 })
	h.use(w, 30)
	h.settled()
	c.days(3)
	must(t, second(w.PruneActivity(t.Context(), c.ago(1))))
	begins := number(first(h.rows(tagRow))[0])
	k.fail(false)
	h.use(w, 2)
	end := number(last(h.rows(tagRow))[0])
	eventually(t, k.reached(end))
	inOrder(t, k.got(), begins, end)
}

func TestWhileSealedNothingIsStreamed(t *testing.T) {
	h := newHouse(t)
	k := &target{}
	w := h.wardenWith(h.db, k.set)
	eventually(t, func() bool { return len(h.rows(0x37)) == 1 })
	h.use(w, 3)
	must(t, w.Seal(t.Context(), operator(t, w)))
	must(t, w.Unseal(t.Context(), api.Unseal{}))
	h.use(w, 3)
	eventually(t, func() bool { return len(k.got()) >= 6 })
	must(t, w.Close())
}

func TestRecordsGoToSyslog(t *testing.T) {
	h := newHouse(t)
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	defer c.Close()
	w := h.wardenWith(h.db, to(t, "syslog:udp://"+c.LocalAddr().String()))
	eventually(t, func() bool { return len(h.rows(0x37)) == 1 })
	h.use(w, 1)
	receive := func() string {
		b := make([]byte, 1<<16)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, _, err := c.ReadFrom(b)
		must(t, err)
		return string(b[:n])
	}
	text := receive()
	if !strings.HasPrefix(text, "<110>1 ") || !strings.Contains(text, " secret_value_accessed - {\"number\":") ||
		!strings.Contains(text, `"key":"A"`) || strings.Contains(text, `"record"`) {
		t.Errorf("got %s", text)
	}
	_, _ = w.SignInWithPassword(t.Context(), warden.Credential{}, "nobody", api.NewSecret("a password"))
	if text := receive(); !strings.HasPrefix(text, "<108>1 ") || !strings.Contains(text, " login_refused - {") {
		t.Errorf("a refused sign-in is a warning; got %s", text)
	}
}
