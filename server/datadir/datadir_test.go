package datadir

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)

const asideHere = "replaced-20261120T091500Z"

func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is what is in a directory, by path.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestARestoreTakesThePlaceOfWhatWasThere(t *testing.T) {
	old := map[string]string{DataFile: "old", DataFile + ".schema-1": "older", KeyFile: "old key", "config.yaml": "mine"}
	for name, c := range map[string]struct {
		before, fresh, want map[string]string
		keep                bool
		aside               string
	}{
		"blank": {nil, map[string]string{DataFile: "new", KeyFile: "new key"}, map[string]string{DataFile: "new", KeyFile: "new key"}, true, ""},
		"moved aside": {old, map[string]string{DataFile: "new", KeyFile: "new key"}, map[string]string{
			DataFile: "new", KeyFile: "new key", "config.yaml": "mine", asideHere + "/" + DataFile: "old", asideHere + "/" + KeyFile: "old key",
			asideHere + "/" + DataFile + ".schema-1": "older",
		}, true, asideHere},
		"without a key": {old, map[string]string{DataFile: "new"}, map[string]string{
			DataFile: "new", KeyFile: "old key", "config.yaml": "mine", asideHere + "/" + DataFile: "old",
			asideHere + "/" + DataFile + ".schema-1": "older",
		}, true, asideHere},
		"a key is kept all the same": {map[string]string{KeyFile: "old key"}, map[string]string{DataFile: "new", KeyFile: "new key"}, map[string]string{
			DataFile: "new", KeyFile: "new key", asideHere + "/" + KeyFile: "old key",
		}, false, asideHere},
		"not kept": {old, map[string]string{DataFile: "new", "scratch": "x"}, map[string]string{DataFile: "new", DataFile + ".schema-1": "older", KeyFile: "old key", "config.yaml": "mine"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			put(t, dir, c.before)
			r, err := Begin(dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, r.Place(), c.fresh)
			if _, _, err := Recover(dir); !errors.Is(err, ErrBusy) {
				t.Errorf("beside it: %v", err)
			}
			aside, err := r.Commit(now, c.keep)
			if err != nil {
				t.Fatal(err)
			}
			if want := c.aside; want != "" && aside != filepath.Join(dir, want) || want == "" && aside != "" {
				t.Errorf("aside is %q", aside)
			}
			if diff := cmp.Diff(c.want, tree(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAFailureBehindThePointOfNoReturnSaysSo: whoever starts a server then gets what was
// restored.
func TestAFailureBehindThePointOfNoReturnSaysSo(t *testing.T) {
	dir := t.TempDir()
	inTheWay := map[string]string{DataFile + "/x": "a file cannot take the place of a directory"}
	put(t, dir, inTheWay)
	r, err := Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, r.Place(), map[string]string{DataFile: "new"})
	if _, err := r.Commit(now, false); !errors.Is(err, ErrUnfinished) || !Pending(dir) {
		t.Errorf("%v, pending: %v", err, Pending(dir))
	}
	if err := os.RemoveAll(filepath.Join(dir, DataFile)); err != nil {
		t.Fatal(err)
	}
	found, release, err := Recover(dir)
	if err != nil || !found.Finished {
		t.Fatalf("%+v, %v", found, err)
	}
	release()
	if diff := cmp.Diff(map[string]string{DataFile: "new"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasMovedAsideIsNeverOverwritten(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"one", "two", "three"} {
		r, err := Begin(dir)
		if err != nil {
			t.Fatal(err)
		}
		put(t, r.Place(), map[string]string{DataFile: text})
		if _, err := r.Commit(now, true); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{DataFile: "three", asideHere + "/" + DataFile: "one", asideHere + "-2/" + DataFile: "two"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestAnAbandonedRestoreLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{DataFile: "old"})
	r, err := Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, r.Place(), map[string]string{DataFile: "half"})
	r.Abandon()
	r.Abandon()
	if diff := cmp.Diff(map[string]string{DataFile: "old"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	found, release, err := Recover(dir)
	if err != nil || found != (Recovered{}) {
		t.Fatalf("%+v, %v", found, err)
	}
	release()
}

// TestWhoeverComesNextFinishesOrUndoes stops a restore behind each of its steps: it
// makes every state of the directory that a kill can leave.
func TestWhoeverComesNextFinishesOrUndoes(t *testing.T) {
	before := map[string]string{DataFile: "old", KeyFile: "old key"}
	fresh := map[string]string{DataFile: "new", KeyFile: "new key"}
	done := map[string]string{
		DataFile: "new", KeyFile: "new key", asideHere + "/" + DataFile: "old", asideHere + "/" + KeyFile: "old key",
	}
	in := func(dir string, files map[string]string) map[string]string {
		all := map[string]string{}
		for name, text := range files {
			all[dir+"/"+name] = text
		}
		return all
	}
	with := func(all ...map[string]string) map[string]string {
		sum := map[string]string{}
		for _, one := range all {
			maps.Copy(sum, one)
		}
		return sum
	}
	plan := map[string]string{complete + "/" + asideName: asideHere}
	for name, c := range map[string]struct {
		left, want map[string]string
		says       string
	}{
		"nothing":        {before, before, ""},
		"being prepared": {with(before, in(preparing, map[string]string{DataFile: "ha"})), before, "undone"},
		"complete":       {with(before, in(complete, fresh), plan), done, "finished"},
		"the old key is aside": {with(map[string]string{DataFile: "old", asideHere + "/" + KeyFile: "old key"}, in(complete, fresh), plan),
			done, "finished"},
		"the key is there": {with(map[string]string{DataFile: "old", KeyFile: "new key", asideHere + "/" + KeyFile: "old key"},
			in(complete, map[string]string{DataFile: "new"}), plan), done, "finished"},
		"the old data is aside": {with(map[string]string{KeyFile: "new key", asideHere + "/" + KeyFile: "old key", asideHere + "/" + DataFile: "old"},
			in(complete, map[string]string{DataFile: "new"}), plan), done, "finished"},
		"only the plan is left":       {with(done, plan), done, "finished"},
		"blank and complete":          {in(complete, fresh), fresh, "finished"},
		"complete, and another begun": {with(before, in(complete, fresh), plan, in(preparing, fresh)), done, "finished"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.left)
			found, release, err := Recover(dir)
			if err != nil {
				t.Fatal(err)
			}
			release()
			if diff := cmp.Diff(c.want, tree(t, dir)); diff != "" {
				t.Error(diff)
			}
			if text := found.String(); (c.says == "") != (text == "") || !strings.Contains(text, c.says) {
				t.Errorf("it says %q", text)
			}
		})
	}
}

func TestAPlanThatIsNotOursIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	left := map[string]string{DataFile: "old", complete + "/" + asideName: "../../elsewhere", complete + "/" + DataFile: "new"}
	put(t, dir, left)
	if _, _, err := Recover(dir); err == nil {
		t.Error("it is followed")
	}
	if diff := cmp.Diff(left, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestOccupiedNamesWhatSpeaksAgainst(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{KeyFile: "k", "coffer.db.lock": "", "lost+found/x": "", "b.tar.age": ""})
	if names, err := Occupied(dir, filepath.Join(dir, "b.tar.age"), "/elsewhere/c"); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	put(t, dir, map[string]string{DataFile: "", "notes": ""})
	if names, err := Occupied(dir); err != nil || strings.Join(names, " ") != "b.tar.age coffer.db notes" {
		t.Errorf("%v, %v", names, err)
	}
	if names, err := Occupied(filepath.Join(dir, "missing")); err != nil || names != nil {
		t.Errorf("%v, %v", names, err)
	}
	if _, release, err := Recover(filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	} else {
		release()
	}
}
