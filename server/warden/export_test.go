package warden_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store/kv"
)

func exportVault(t testing.TB, w *warden.Warden, who warden.Caller) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := w.ExportVaultActivity(t.Context(), who, api.Ref{Owner: "ann", Repo: "api"}, &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// exportLines are the lines of a file.
func exportLines(t testing.TB, file []byte) (all []map[string]any) {
	t.Helper()
	for _, line := range bytes.Split(bytes.TrimSpace(file), []byte("\n")) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func TestWhatIsExportedVerifies(t *testing.T) {
	h, w := logHouse(t)
	file := export(t, w)
	r := verifyFile(t, w, file)
	rows := uint64(len(h.rows(tagRow)))
	if verdict(r) != sound || r.Source != "export" || r.Records != rows || r.Begins.Number != 0 || r.Ends.Number != rows {
		t.Errorf("%s: %+v", verdict(r), r)
	}
	lines := exportLines(t, file)
	last := lines[len(lines)-2]
	if last["action"] != "activity_exported" || last["actor"] != nil {
		t.Errorf("the export is not recorded: %v", last)
	}
	want := []string{"action", "actor", "id", "ip", "link", "metadata", "number", "platform", "prev", "record", "repoFullName", "timestamp", "userAgent", "vaultId"}
	if got := slices.Sorted(maps.Keys(last)); !slices.Equal(got, want) {
		t.Errorf("a line has %v", got)
	}
	// The file outlives restarts.
	must(t, w.Close())
	if got := verdict(verifyFile(t, h.warden(h.db), file)); got != sound {
		t.Errorf("after a restart: %s", got)
	}
	// Another instance does not know it.
	other := newHouse(t)
	r = verifyFile(t, other.warden(other.db), file)
	if r.Intact || r.Complete || r.Faults[0].Kind != api.FaultForeign || r.Faults[0].Line != 1 {
		t.Errorf("at another instance: %s", verdict(r))
	}
}

func TestWhatIsDoneToAnExportedFileIsNamed(t *testing.T) {
	_, w := logHouse(t)
	lines := bytes.SplitAfter(export(t, w), []byte("\n"))
	lines = lines[:len(lines)-1]
	for name, c := range map[string]struct {
		change func([][]byte) [][]byte
		want   string
		line   int
	}{
		"one byte flipped": {func(l [][]byte) [][]byte { l[5][40] ^= 1; return l }, "intact false, complete true; intact: altered 5", 6},
		"the tail cut off": {func(l [][]byte) [][]byte { return l[:9] }, "intact true, complete false; complete: cut 9", 9},
		"one dropped":      {func(l [][]byte) [][]byte { return slices.Delete(l, 5, 6) }, "intact true, complete false; complete: missing 5", 6},
		"two reordered":    {func(l [][]byte) [][]byte { l[5], l[6] = l[6], l[5]; return l }, "intact false, complete true; intact: reordered 6", 6},
	} {
		changed := make([][]byte, len(lines))
		for i, l := range lines {
			changed[i] = bytes.Clone(l)
		}
		r := verifyFile(t, w, bytes.Join(c.change(changed), nil))
		if verdict(r) != c.want || r.Faults[0].Line != c.line {
			t.Errorf("%s: %s in line %d", name, verdict(r), r.Faults[0].Line)
		}
	}
}

func TestAnAdminExportsTheVaultOnly(t *testing.T) {
	h, w := logHouse(t)
	export(t, w) // a record of no vault lies between
	h.use(w, 3)
	file := exportVault(t, w, h.ann(w))
	r := verifyFile(t, w, file)
	if verdict(r) != sound || r.VaultID == "" || r.First != 1 || r.Last != r.Records || r.Ends.Number != r.Last {
		t.Errorf("%s: %+v", verdict(r), r)
	}
	for _, line := range strings.Split(string(file), "\n") {
		if strings.Contains(line, `"action"`) && !strings.Contains(line, r.VaultID) {
			t.Errorf("not of the vault: %s", line)
		}
	}
	lines := strings.SplitAfter(string(file), "\n")
	r = verifyFile(t, w, []byte(strings.Join(slices.Delete(lines, 4, 5), "")))
	if got := verdict(r); got != "intact true, complete false; complete: missing 4" {
		t.Errorf("one dropped: %s", got)
	}
}

func TestOnlyAdminsAndTheOperatorExport(t *testing.T) {
	h, w := logHouse(t)
	ann := h.ann(w)
	op := operator(t, w)
	must(t, second(w.AddLocalUser(t.Context(), op, api.AddLocalUser{Username: "bob", Password: api.NewSecret("a password")})))
	made, err := w.IssueToken(t.Context(), op, api.IssueToken{Username: "bob", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets}})
	must(t, err)
	bob, err := w.Identify(t.Context(), warden.Credential{Bearer: string(made.Token)})
	must(t, err)
	var out bytes.Buffer
	for name, c := range map[string]struct {
		err  error
		want api.Code
	}{
		"a user, everything":       {w.ExportAudit(t.Context(), ann, &out), api.Forbidden},
		"a user, verify":           {second(w.VerifyAudit(t.Context(), ann)), api.Forbidden},
		"a user, verify a file":    {second(w.VerifyAuditFile(t.Context(), ann, &out)), api.Forbidden},
		"a stranger, the vault":    {w.ExportVaultActivity(t.Context(), bob, api.Ref{Owner: "ann", Repo: "api"}, &out), api.NotFound},
		"no vault":                 {w.ExportVaultActivity(t.Context(), ann, api.Ref{Owner: "ann", Repo: "no"}, &out), api.NotFound},
		"the operator, no vault's": {w.ExportVaultActivity(t.Context(), op, api.Ref{Owner: "ann", Repo: "api"}, &out), api.Forbidden},
	} {
		var e *api.Error
		if !errors.As(c.err, &e) || e.Code != c.want {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("something was written: %s", out.String())
	}
}

// brokenPipe fails after a while.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(b), nil
}

func TestAnExportThatFailsHasNoEnd(t *testing.T) {
	_, w := logHouse(t)
	if err := w.ExportAudit(t.Context(), operator(t, w), &brokenPipe{100}); err == nil {
		t.Error("no error")
	}
}

// TestRecordsOfManyAtOnceAreOneChain also seals in the middle: records of reads
// that wait for their batch are written before the keys go.
func TestRecordsOfManyAtOnceAreOneChain(t *testing.T) {
	for _, batched := range []bool{false, true} {
		h, w := logHouse(t, func(c *warden.Config) { c.BatchReads = batched })
		ann, op := h.ann(w), operator(t, w)
		before := len(h.rows(tagRow))
		answered := make(chan int, 8)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				n := 0
				for range 40 {
					if _, err := w.ViewSecret(context.Background(), ann, api.ViewSecret{Repo: repo, Environment: "production", Key: "A"}); err == nil {
						n++
					}
				}
				answered <- n
			})
		}
		time.Sleep(5 * time.Millisecond)
		must(t, w.Seal(t.Context(), op))
		wg.Wait()
		close(answered)
		want := before + 1 // that of the sealing
		for n := range answered {
			want += n
		}
		if got := len(h.rows(tagRow)); got != want {
			t.Errorf("batched %v: %d answers, %d records", batched, want-before, got-before)
		}
		if err := w.ExportAudit(t.Context(), op, &bytes.Buffer{}); err == nil {
			t.Error("a sealed instance exports")
		}
		if _, err := w.VerifyAudit(t.Context(), op); err == nil {
			t.Error("a sealed instance verifies")
		}
		must(t, w.Unseal(t.Context(), api.Unseal{}))
		if got := verdict(verify(t, w)); got != sound {
			t.Errorf("batched %v: %s", batched, got)
		}
	}
}

// TestACloseLosesNoRecord: what was answered before is there after.
func TestACloseLosesNoRecord(t *testing.T) {
	h, w := logHouse(t, func(c *warden.Config) { c.BatchReads = true })
	before := len(h.rows(tagRow))
	h.use(w, 30)
	must(t, w.Close())
	if got := len(h.rows(tagRow)); got != before+30 {
		t.Errorf("%d of 30 records are there", got-before)
	}
}

// TestAClockMayJump: the order is that of numbers.
func TestAClockMayJump(t *testing.T) {
	c := aClock()
	h, w := logHouse(t, c.set)
	for _, days := range []int{-365, 1, -2, 3650} {
		c.days(days)
		h.use(w, 6)
	}
	if got := verdict(verify(t, w)); got != sound {
		t.Errorf("the data: %s", got)
	}
	if got := verdict(verifyFile(t, w, export(t, w))); got != sound {
		t.Errorf("the file: %s", got)
	}
	l, err := w.Activity(t.Context(), h.ann(w), api.ListActivity{})
	must(t, err)
	for i, a := range l.Items[1:] {
		if a.ID == l.Items[i].ID {
			t.Error("a record is listed twice")
		}
	}
}

// TestDataThatWasPutBackIsSeenByAFile: from inside it cannot be seen.
func TestDataThatWasPutBackIsSeenByAFile(t *testing.T) {
	h, w := logHouse(t)
	older := make(map[string][]byte)
	must(t, h.db.View(t.Context(), func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, v []byte) error {
			older[string(k)] = bytes.Clone(v)
			return nil
		})
	}))
	h.use(w, 10)
	file := export(t, w)
	part := exportVault(t, w, h.ann(w))
	if r := verifyFile(t, w, file); verdict(r) != sound || r.Log != api.LogSame {
		t.Errorf("%s, the log is %s", verdict(r), r.Log)
	}
	must(t, w.Close())
	h.change(func(tx kv.Tx) error {
		return tx.Scan(kv.Range{}, func(k, _ []byte) error {
			k = bytes.Clone(k)
			if _, ok := older[string(k)]; !ok {
				return tx.Delete(k)
			}
			return nil
		})
	})
	h.change(func(tx kv.Tx) error {
		for k, v := range older {
			if err := tx.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	})
	w = h.warden(h.db)
	if got := verdict(verify(t, w)); got != sound {
		t.Errorf("the data: %s", got)
	}
	if r := verifyFile(t, w, file); verdict(r) != sound || r.Log != api.LogBehind {
		t.Errorf("%s, the log is %s", verdict(r), r.Log)
	}
	h.use(w, 20)
	for _, file := range [][]byte{file, part} {
		if r := verifyFile(t, w, file); verdict(r) != sound || r.Log != api.LogDiffers {
			t.Errorf("later: %s, the log is %s", verdict(r), r.Log)
		}
	}
}
