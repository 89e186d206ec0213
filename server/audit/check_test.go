package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
)

// testKeys are those of an instance: whoever knows its name knows its secret.
func testKeys(instance string) Keys {
	return Keys{
		Instance: instance, PublicKey: "public key of " + instance,
		Link: func(prev Link, number uint64, stored []byte) (Link, error) {
			return digest("link", instance, prev, number, stored), nil
		},
		Signed: func(h *Header, end *Mark) bool {
			signature := sign(instance, h, end)
			if end == nil {
				return bytes.Equal(signature, h.Begins.Signature)
			}
			return bytes.Equal(signature, end.Signature)
		},
		Read: func(r *Record) (string, error) {
			var s testStored
			if err := json.Unmarshal(r.Stored, &s); err != nil {
				return "", err
			}
			r.Number, r.VaultNumber, r.Shown = s.Number, s.VaultNumber, &api.Activity{
				Action: s.Action, VaultID: &s.Vault, Metadata: map[string]any{"key": "A<B>&\u2028", "count": s.Number},
			}
			return s.Vault, nil
		},
	}
}

type testStored struct {
	Number, VaultNumber uint64
	Vault, Action       string
}

func digest(parts ...any) Link { return sha256.Sum256(fmt.Appendf(nil, "%q", fmt.Sprint(parts...))) }

func sign(instance string, h *Header, end *Mark) []byte {
	m, about := h.Begins, "begins"
	if end != nil {
		m, about = *end, "ends"
	}
	m.Signature = nil
	d := digest(about, instance, h.Kind, h.VaultID, fmt.Sprintf("%+v", m))
	return d[:]
}

// testLog is a log of records of two vaults, the odd ones of v1.
type testLog struct {
	keys    Keys
	records []Record
}

func newTestLog(instance string, count int) *testLog {
	l := &testLog{keys: testKeys(instance)}
	var prev Link
	for n := uint64(1); n <= uint64(count); n++ {
		stored, _ := json.Marshal(testStored{n, (n + 1) / 2, fmt.Sprint("v", n%2), "secrets_pulled"})
		link, _ := l.keys.Link(prev, n, stored)
		r := Record{Number: n, Prev: bytes.Clone(prev[:]), Link: link[:], Stored: stored}
		_, _ = l.keys.Read(&r)
		l.records = append(l.records, r)
		prev = link
	}
	return l
}

func (l *testLog) mark(number, vaultNumber, base uint64) Mark {
	m := Mark{Number: number, VaultNumber: vaultNumber, Link: make([]byte, 32), Base: base}
	if number > 0 {
		m.Link = l.records[number-1].Link
	}
	return m
}

// file is an export of the records behind base; of one vault if that is named.
func (l *testLog) file(kind, vault string, base uint64) [][]byte {
	last, lastInVault, baseInVault := uint64(len(l.records)), uint64(0), uint64(0)
	if vault != "" {
		lastInVault, baseInVault = (last+1)/2, (base+1)/2
	}
	h := &Header{Format: Format, Kind: kind, Instance: l.keys.Instance, VaultID: vault, PublicKey: l.keys.PublicKey}
	h.Begins = l.mark(base, baseInVault, base)
	h.Begins.Signature = sign(h.Instance, h, nil)
	end := l.mark(last, lastInVault, base)
	end.Signature = sign(h.Instance, h, &end)
	lines := [][]byte{text(h)}
	for _, r := range l.records[base:] {
		if vault == "" || vault == *r.Shown.VaultID {
			lines = append(lines, text(&r))
		}
	}
	return append(lines, text(&End{&end}))
}

func text(v any) []byte {
	var b bytes.Buffer
	if err := AppendLine(&b, v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func check(t testing.TB, keys Keys, file []byte) *api.AuditReport {
	t.Helper()
	r, _, err := CheckFile(context.Background(), bytes.NewReader(file), keys)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verdict is a report in one line: the verdicts, then kind, number and line of
// each fault.
func verdict(r *api.AuditReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "intact %v, complete %v", r.Intact, r.Complete)
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "; %s: %s %d line %d", f.Against, f.Kind, f.Number, f.Line)
	}
	return b.String()
}

func TestWhatIsDoneToAFileIsNamed(t *testing.T) {
	l := newTestLog("ours", 9)
	other := newTestLog("theirs", 9)
	fork := newTestLog("ours", 4)
	// The same record number in another history of the same instance.
	forked := fork.records[3]
	forked.Stored, _ = json.Marshal(testStored{5, 3, "v1", "other"})
	link, _ := l.keys.Link(Link(forked.Link), 5, forked.Stored)
	foreign := Record{Number: 5, Prev: forked.Link, Link: link[:], Stored: forked.Stored}
	_, _ = l.keys.Read(&foreign)

	drop := func(from, to int) func([][]byte) [][]byte {
		return func(lines [][]byte) [][]byte { return slices.Delete(lines, from-1, to) }
	}
	swap := func(a, b int) func([][]byte) [][]byte {
		return func(lines [][]byte) [][]byte {
			lines[a-1], lines[b-1] = lines[b-1], lines[a-1]
			return lines
		}
	}
	put := func(at int, line []byte) func([][]byte) [][]byte {
		return func(lines [][]byte) [][]byte { return slices.Insert(lines, at-1, line) }
	}
	for _, c := range []struct {
		name   string
		change func([][]byte) [][]byte
		want   string
	}{
		{"nothing", func(l [][]byte) [][]byte { return l }, "intact true, complete true"},
		{"one byte of record 4", func(l [][]byte) [][]byte { l[4][30] ^= 1; return l }, "intact false, complete true; intact: altered 4 line 5"},
		{"two altered", func(l [][]byte) [][]byte { l[4][30] ^= 1; l[5][30] ^= 1; return l }, "intact false, complete true; intact: altered 4 line 5"},
		{"the tail cut off", drop(7, 11), "intact true, complete false; complete: cut 6 line 6"},
		{"the tail cut off, but for the end", drop(9, 10), "intact true, complete false; complete: cut 8 line 9"},
		{"the end cut off", drop(11, 11), "intact true, complete false; complete: cut 10 line 10"},
		{"one dropped", drop(5, 5), "intact true, complete false; complete: missing 4 line 5"},
		{"three dropped", drop(5, 7), "intact true, complete false; complete: missing 4 line 5"},
		{"the first dropped", drop(2, 2), "intact true, complete false; complete: missing 1 line 2"},
		{"two reordered", swap(5, 6), "intact false, complete true; intact: reordered 5 line 5"},
		{"two far ones reordered", swap(3, 9), "intact false, complete true; intact: reordered 8 line 3"},
		{"one repeated", put(7, text(&l.records[2])), "intact false, complete true; intact: repeated 3 line 7"},
		{"a line of rubbish", put(7, []byte("rubbish\n")), "intact false, complete true; intact: foreign 0 line 7"},
		{"an empty line", put(7, []byte("\n")), "intact false, complete true; intact: foreign 0 line 7"},
		{"a record of another instance", put(6, text(&other.records[4])), "intact false, complete true; intact: foreign 5 line 6"},
		{"a record of another history", func(l [][]byte) [][]byte { l[5] = text(&foreign); return l }, "intact false, complete true; intact: foreign 6 line 7"},
		{"the header dropped", drop(1, 1), "intact true, complete false; complete: missing 0 line 1"},
		{"the header changed", func(l [][]byte) [][]byte { l[0][20] ^= 1; return l }, "intact false, complete false; intact: altered 0 line 1; complete: altered 0 line 1"},
		{"the end changed", func(l [][]byte) [][]byte { l[10][20] ^= 1; return l }, "intact false, complete false; intact: altered 0 line 11; complete: cut 10 line 11"},
		{"a header with a later beginning", func(lines [][]byte) [][]byte { lines[0] = l.file(Export, "", 3)[0]; return lines },
			"intact false, complete false; intact: foreign 1 line 2; complete: cut 10 line 11"},
		{"behind the end", put(12, []byte("rubbish\n")), "intact false, complete true; intact: foreign 0 line 12"},
		{"a record altered and one dropped", func(l [][]byte) [][]byte { l[3][30] ^= 1; return slices.Delete(l, 6, 7) },
			"intact false, complete false; intact: altered 3 line 4; complete: missing 6 line 7"},
		{"everything", func([][]byte) [][]byte { return nil }, "intact true, complete false; complete: cut 1 line 0"},
	} {
		lines := c.change(l.file(Export, "", 0))
		if got := verdict(check(t, l.keys, bytes.Join(lines, nil))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if got, want := verdict(check(t, l.keys, bytes.Join(other.file(Export, "", 0), nil))),
		"intact false, complete false; intact: foreign 0 line 1; complete: foreign 0 line 1"; got != want {
		t.Errorf("another instance's file:\n got %s\nwant %s", got, want)
	}
}

func TestAReportSaysWhatWasSeen(t *testing.T) {
	l := newTestLog("ours", 9)
	r := check(t, l.keys, bytes.Join(l.file(Export, "", 3), nil))
	want := &api.AuditReport{
		Source: Export, Intact: true, Complete: true, Faults: []api.AuditFault{}, Records: 6, First: 4, Last: 9,
		Begins: &api.AuditMark{Number: 3}, Ends: &api.AuditMark{Number: 9}, Instance: "ours", PublicKey: "public key of ours",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// TestAFileOfOneVault: between its records lie others, which nobody misses.
func TestAFileOfOneVault(t *testing.T) {
	l := newTestLog("ours", 9)
	file := func() [][]byte { return l.file(Export, "v1", 0) }
	for name, c := range map[string]struct {
		lines [][]byte
		want  string
	}{
		"whole":           {file(), "intact true, complete true"},
		"pruned":          {l.file(Export, "v1", 4), "intact true, complete true"},
		"one dropped":     {slices.Delete(file(), 2, 3), "intact true, complete false; complete: missing 2 line 3"},
		"cut":             {slices.Delete(file(), 5, 6), "intact true, complete false; complete: cut 5 line 6"},
		"another vault's": {slices.Insert(file(), 2, text(&l.records[1])), "intact false, complete true; intact: foreign 0 line 3"},
		"for another vault": {append([][]byte{l.file(Export, "v0", 0)[0]}, file()[1:]...),
			"intact false, complete false; intact: foreign 0 line 2; complete: cut 1 line 7"},
	} {
		if got := verdict(check(t, l.keys, bytes.Join(c.lines, nil))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestAStreamMayRepeat: it is written at least once.
func TestAStreamMayRepeat(t *testing.T) {
	l := newTestLog("ours", 9)
	lines := l.file(Stream, "", 2)
	again := slices.Insert(slices.Clone(lines), 5, lines[2], lines[3], lines[4])
	if r := check(t, l.keys, bytes.Join(again, nil)); !r.Intact || !r.Complete || r.Records != 10 {
		t.Errorf("repeated: %s", verdict(r))
	}
	if r := check(t, l.keys, bytes.Join(slices.Delete(lines, 3, 4), nil)); !r.Intact || r.Complete {
		t.Errorf("dropped: %s", verdict(r))
	}
}

// TestEveryByteCounts flips each bit of a file in turn. The fault stands in the
// line that was changed, whatever it was.
func TestEveryByteCounts(t *testing.T) {
	l := newTestLog("ours", 3)
	lines := l.file(Export, "", 0)
	file := bytes.Join(lines, nil)
	line, left := 1, len(lines[0])
	for i := range file {
		if left == 0 {
			line++
			left = len(lines[line-1])
		}
		left--
		for _, bit := range []int{0, 5, 7} {
			changed := bytes.Clone(file)
			changed[i] ^= 1 << bit
			r := check(t, l.keys, changed)
			if len(r.Faults) == 0 {
				t.Fatalf("bit %d of byte %d in line %d: not seen: %q", bit, i, line, changed[i])
			}
			if got := r.Faults[0].Line; got != line && !(file[i] == '\n' && got == line+1) && changed[i] != '\n' {
				t.Errorf("bit %d of byte %d in line %d: %s", bit, i, line, verdict(r))
			}
		}
	}
}

// TestEveryCutIsSeen cuts the file off behind each byte.
func TestEveryCutIsSeen(t *testing.T) {
	l := newTestLog("ours", 3)
	file := bytes.Join(l.file(Export, "", 0), nil)
	for n := range len(file) - 1 {
		if r := check(t, l.keys, file[:n]); r.Complete || !r.Intact || r.Faults[0].Kind != api.FaultCut {
			t.Errorf("cut to %d bytes: %s", n, verdict(r))
		}
	}
	if r := check(t, l.keys, file[:len(file)-1]); !r.Intact || !r.Complete {
		t.Errorf("without the last line feed: %s", verdict(r))
	}
}

func TestALineWithoutEndCostsNoMemory(t *testing.T) {
	l := newTestLog("ours", 3)
	lines := l.file(Export, "", 0)
	lines = slices.Insert(lines, 2, append(bytes.Repeat([]byte("x"), maxLine+1), '\n'))
	if got, want := verdict(check(t, l.keys, bytes.Join(lines, nil))), "intact false, complete true; intact: foreign 0 line 3"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestAKeyThatIsGoneIsAnError(t *testing.T) {
	l := newTestLog("ours", 3)
	keys := l.keys
	keys.Link = func(Link, uint64, []byte) (Link, error) { return Link{}, errors.New("sealed") }
	if _, _, err := CheckFile(t.Context(), bytes.NewReader(bytes.Join(l.file(Export, "", 0), nil)), keys); err == nil {
		t.Error("no error")
	}
}

// FuzzCheckFile: only the very file that was written is intact and complete.
func FuzzCheckFile(f *testing.F) {
	l := newTestLog("ours", 4)
	lines := l.file(Export, "", 0)
	file := bytes.Join(lines, nil)
	f.Add(file)
	f.Add(bytes.Join(slices.Delete(slices.Clone(lines), 2, 3), nil))
	f.Add(bytes.Join([][]byte{lines[0], lines[2], lines[1], lines[4]}, nil))
	f.Add([]byte(`{"format":"coffer-audit/1","kind":"export","ends":{"number":1,"link":""},"number":3,"prev":"","record":""}`))
	f.Add([]byte("{}\n[]\nnull\n\n"))
	f.Fuzz(func(t *testing.T, changed []byte) {
		r := check(t, l.keys, changed)
		same := bytes.Equal(bytes.TrimSuffix(changed, []byte("\n")), bytes.TrimSuffix(file, []byte("\n")))
		if same != (r.Intact && r.Complete) {
			t.Errorf("%s: %q", verdict(r), changed)
		}
		if r.Intact != !slices.ContainsFunc(r.Faults, func(f api.AuditFault) bool { return f.Against == api.VerdictIntact }) {
			t.Errorf("the faults do not fit: %s", verdict(r))
		}
	})
}
