package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
	"coffer/store/kv/kvtest"
)

// What a process is told that runs to be killed.
const (
	rollbackEnv = "COFFER_TEST_ROLLBACK" // data directory of one that goes back
	killEnv     = "COFFER_TEST_KILL"     // the step after which it kills itself
	levelEnv    = "COFFER_TEST_LEVEL"    // of its log
	keyFileEnv  = "COFFER_TEST_KEY_FILE"
)

// dieAfter ends the process as kill -9 does, without a chance to do anything.
func dieAfter(step string) {
	if step == os.Getenv(killEnv) {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		panic(fmt.Sprintf("still alive: %v", err))
	}
}

func rollBackChild(data string) {
	r, err := server.PlanRollback(context.Background(), server.Config{Data: data, Store: server.StoreConfig{TestOnlyStep: dieAfter}})
	if err == nil {
		err = errors.Join(r.Do(), r.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// nowhere are hosting providers that nobody reaches.
func nowhere() server.HostingConfig {
	none := server.ProviderConfig{APIURL: "http://127.0.0.1:1", WebURL: "http://127.0.0.1:1"}
	return server.HostingConfig{Vercel: none, Netlify: none, Railway: none, GitHubActions: none}
}

// old is data of an earlier schema in a directory of its own.
type old struct {
	*testing.T
	dir string // of the data
	key string // file
	kept
}

// schemas are the schemas of which data is kept in testdata.
var schemas = []int{1}

func openOld(t *testing.T, schema int) *old {
	t.Helper()
	from := filepath.Join("testdata", fmt.Sprintf("schema%d", schema))
	o := &old{T: t, dir: t.TempDir()}
	o.key = filepath.Join(o.dir, "coffer.key")
	text, errJSON := os.ReadFile(filepath.Join(from, "kept.json"))
	key, errKey := os.ReadFile(filepath.Join(from, "coffer.key"))
	o.must(errors.Join(errJSON, errKey))
	o.must(json.Unmarshal(text, &o.kept))
	o.must(os.WriteFile(o.key, key, 0o600))
	o.unpack(from)
	return o
}

// unpack puts the data file that is kept in a directory into place.
func (o *old) unpack(from string) {
	o.Helper()
	packed, err := os.Open(filepath.Join(from, "coffer.db.gz"))
	o.must(err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	o.must(err)
	data, err := io.ReadAll(unpacked)
	o.must(err)
	o.must(os.WriteFile(filepath.Join(o.dir, server.DataFile), data, 0o600))
}

func (o *old) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func (o *old) config(log io.Writer) server.Config {
	made := o.Made
	return server.Config{
		Listen: "127.0.0.1:0", Data: o.dir, Limits: server.NoLimits(), Hosting: nowhere(), Version: "9.9.9",
		Unseal: server.UnsealConfig{KeyFile: o.key}, Log: server.LogConfig{Level: "info", Output: log},
		Store:       server.StoreConfig{TestOnlyWrap: kvtest.Twice},
		TestOnlyNow: func() time.Time { return made }, Upgrade: true,
	}
}

// header is the header of a data file.
func (o *old) header(name string) store.Header {
	o.Helper()
	db, err := bolt.Open(filepath.Join(o.dir, name), bolt.Options{})
	o.must(err)
	h, err := store.ReadHeader(o.Context(), db)
	o.must(errors.Join(err, db.Close()))
	return h
}

// files are the names in the data directory.
func (o *old) files() string {
	o.Helper()
	entries, err := os.ReadDir(o.dir)
	o.must(err)
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") && !strings.HasSuffix(e.Name(), ".sock") {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// holdsAll wants an instance to answer all that it answered before the upgrade.
func (o *old) holdsAll(transport http.RoundTripper, url string) {
	o.Helper()
	r := &reader{T: o.T, transport: transport, url: url, tokens: o.Tokens}
	if diff := cmp.Diff(o.Answers, r.everything()); diff != "" {
		o.Error(diff)
	}
}

// TestDataOfEverySchemaComesOutWhole opens what earlier versions kept, and asks for
// everything that they answered.
func TestDataOfEverySchemaComesOutWhole(t *testing.T) {
	for _, schema := range schemas {
		o := openOld(t, schema)
		var log bytes.Buffer
		s, err := server.New(o.config(&log))
		o.must(err)
		op := &client.Client{URL: "http://operator", Transport: s.Operator()}
		if st, err := op.Status(t.Context()); err != nil || st.Sealed {
			t.Fatalf("it is sealed: %+v, %v", st, err)
		}
		if got := auditOf(t, op); got != o.Audit {
			t.Errorf("the audit log is %+v and was %+v", got, o.Audit)
		}
		o.holdsAll(s.Operator(), "http://in.process")
		o.must(s.Close())
		_, err = server.Check(server.Config{Data: o.dir})
		o.must(err)
		snapshot := fmt.Sprintf("%s.schema-%d", server.DataFile, schema)
		if got := o.header(snapshot); got.Schema != schema {
			t.Errorf("the snapshot has the header %+v", got)
		}
		if got, want := o.header(server.DataFile), (store.Header{Schema: store.Schema, Version: "9.9.9"}); got != want {
			t.Errorf("the data has the header %+v", got)
		}
		for _, want := range []string{"upgraded the data", snapshot, "coffer rollback-upgrade --data " + o.dir} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, &log)
			}
		}
		if fi, err := os.Stat(filepath.Join(o.dir, snapshot)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("the snapshot: %v, %v", fi.Mode(), err)
		}
	}
}

// TestDataIsUpgradedOnce starts a second time, with the recovery key's way of
// opening still there.
func TestDataIsUpgradedOnce(t *testing.T) {
	o := openOld(t, 1)
	var log bytes.Buffer
	for range 2 {
		log.Reset()
		s, err := server.New(o.config(&log))
		o.must(err)
		o.must(s.Close())
	}
	if strings.Contains(log.String(), "upgrading") || !strings.Contains(log.String(), "from before the last upgrade is there") {
		t.Errorf("the second start says:\n%s", &log)
	}
	recovery, err := os.ReadFile("testdata/schema1/recovery.key")
	o.must(err)
	c := o.config(&log)
	c.Unseal.KeyFile = filepath.Join(o.dir, "none")
	s, err := server.New(c)
	o.must(err)
	key := api.NewSecret(strings.TrimSpace(string(recovery)))
	op := &client.Client{URL: "http://operator", Transport: s.Operator()}
	o.must(op.Unseal(t.Context(), api.Unseal{Key: &key}))
	o.must(s.Close())
}

// TestOnlyAServerUpgrades: whatever else opens old data leaves it as it is.
func TestOnlyAServerUpgrades(t *testing.T) {
	o := openOld(t, 1)
	c := o.config(io.Discard)
	c.Upgrade = false
	if _, err := server.New(c); !errors.Is(err, server.ErrOlder) {
		t.Errorf("%v", err)
	}
	checked, err := server.Check(server.Config{Data: o.dir})
	if err != nil || *checked != (server.Checked{Schema: 1, Older: true}) {
		t.Errorf("%+v, %v", checked, err)
	}
	if _, err := server.PlanRollback(t.Context(), c); !errors.Is(err, server.ErrNoSnapshot) {
		t.Errorf("%v", err)
	}
	if got := o.header(server.DataFile); got.Schema != 1 {
		t.Errorf("it has %+v", got)
	}
	if got := o.files(); got != "coffer.db coffer.key" {
		t.Errorf("there are %s", got)
	}
}

// TestLaterDataIsRefused opens data of a schema that is not known yet.
func TestLaterDataIsRefused(t *testing.T) {
	o := &old{T: t, dir: t.TempDir()}
	o.unpack("testdata/schema99")
	for _, upgrade := range []bool{true, false} {
		c := o.config(io.Discard)
		c.Upgrade = upgrade
		if _, err := server.New(c); !errors.Is(err, server.ErrNewer) || !strings.Contains(err.Error(), "schema 99") {
			t.Errorf("serve: %v", err)
		}
	}
	if _, err := server.Check(server.Config{Data: o.dir}); !errors.Is(err, server.ErrNewer) {
		t.Errorf("check: %v", err)
	}
	if got, want := o.header(server.DataFile), (store.Header{Schema: 99, Version: "99.0.0"}); got != want {
		t.Errorf("it has %+v", got)
	}
	if got := o.files(); got != "coffer.db" {
		t.Errorf("there are %s", got)
	}
}

// TestGoingBackFromLaterDataIsPossible: only what is lost cannot be counted.
func TestGoingBackFromLaterDataIsPossible(t *testing.T) {
	o := upgraded(t)
	o.must(os.Remove(filepath.Join(o.dir, server.DataFile)))
	o.unpack("testdata/schema99")
	r, err := server.PlanRollback(t.Context(), o.config(io.Discard))
	o.must(err)
	if r.Counted || r.From != 99 || r.To != 1 {
		t.Errorf("%+v", r)
	}
	o.must(errors.Join(r.Do(), r.Close()))
	s, err := server.New(o.config(io.Discard))
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}

// TestWithoutRoomForASnapshotNothingIsUpgraded runs where the machine offers a small
// file system, whose path COFFER_SMALL_DISK tells.
func TestWithoutRoomForASnapshotNothingIsUpgraded(t *testing.T) {
	disk := os.Getenv("COFFER_SMALL_DISK")
	if disk == "" {
		t.Skip("COFFER_SMALL_DISK is not set")
	}
	o := openOld(t, 1)
	dir, err := os.MkdirTemp(disk, "upgrade")
	o.must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	o.must(os.CopyFS(dir, os.DirFS(o.dir)))
	o.dir = dir
	fill := filepath.Join(dir, "fill")
	o.must(fillDisk(fill, 100<<10))
	_, err = server.New(o.config(io.Discard))
	if !errors.Is(err, kv.ErrFull) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	o.must(os.Remove(fill))
	if got := o.header(server.DataFile); got.Schema != 1 || o.files() != "coffer.db coffer.key" {
		t.Errorf("it has %+v, and there are %s", got, o.files())
	}
	s, err := server.New(o.config(io.Discard))
	o.must(err)
	o.must(s.Close())
}

// fillDisk fills a disk but for some bytes.
func fillDisk(path string, leave int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(make([]byte, 16<<10))
		size += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return f.Truncate(max(0, size-int64(leave)))
}

// killed runs a process of this test until it kills itself after a step, and
// returns what it said.
func (o *old) killed(env, step string) string {
	o.Helper()
	said, err := o.runs(env, step)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		o.Fatalf("after %q: %v\n%s", step, err, said)
	}
	return said
}

func (o *old) runs(env, step string) (string, error) {
	cmd := exec.CommandContext(o.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+o.dir, killEnv+"="+step, keyFileEnv+"="+o.key, levelEnv+"=info")
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// TestAKilledUpgradeIsFinishedAtTheNextStart kills a server after each step.
func TestAKilledUpgradeIsFinishedAtTheNextStart(t *testing.T) {
	for step, then := range map[string]struct {
		schema int
		said   string
	}{
		"copied":   {1, "unfinished copy is removed"},
		"kept":     {1, "was interrupted before it changed anything; it begins anew"},
		"upgraded": {store.Schema, "a snapshot of the data from before the last upgrade is there"},
	} {
		t.Run(step, func(t *testing.T) {
			o := openOld(t, 1)
			o.killed(childEnv, step)
			if got := o.header(server.DataFile); got.Schema != then.schema {
				t.Errorf("after the kill it has %+v", got)
			}
			var log bytes.Buffer
			s, err := server.New(o.config(&log))
			o.must(err)
			if !strings.Contains(log.String(), then.said) {
				t.Errorf("the next start does not say %q:\n%s", then.said, &log)
			}
			o.holdsAll(s.Operator(), "http://in.process")
			o.must(s.Close())
			if got := o.header("coffer.db.schema-1"); got.Schema != 1 {
				t.Errorf("the snapshot has %+v", got)
			}
			if got := o.header(server.DataFile); got.Schema != store.Schema {
				t.Errorf("it has %+v", got)
			}
			if got := o.files(); got != "coffer.db coffer.db.schema-1 coffer.key" {
				t.Errorf("there are %s", got)
			}
		})
	}
}

// upgraded is data that was upgraded, and changed since.
func upgraded(t *testing.T) *old {
	t.Helper()
	o := openOld(t, 1)
	c := o.config(io.Discard)
	c.TestOnlyNow = func() time.Time { return o.Made.Add(time.Hour) }
	s, err := server.New(c)
	o.must(err)
	ann := &client.Client{URL: "http://in.process", Transport: s.Operator(), Token: o.Tokens["ann"]}
	_, err = ann.Push(t.Context(), api.PushSecrets{
		RepoFullName: "ann/app", Environment: "production", Secrets: map[string]api.Secret{"SINCE": api.NewSecret("new")}, Mode: new(api.ModeMerge),
	})
	o.must(err)
	o.must(s.Close())
	return o
}

func TestGoingBackTellsWhatIsLost(t *testing.T) {
	o := upgraded(t)
	c := o.config(io.Discard)
	r, err := server.PlanRollback(t.Context(), c)
	o.must(err)
	if _, err := server.PlanRollback(t.Context(), c); !errors.Is(err, server.ErrLocked) {
		t.Errorf("somebody else may work on it: %v", err)
	}
	aside := "coffer.db.schema-2-set-aside-" + o.Made.Format("20060102T150405Z")
	if r.From != store.Schema || r.To != 1 || filepath.Base(r.Aside) != aside || filepath.Base(r.Snapshot) != "coffer.db.schema-1" {
		t.Errorf("%+v", r)
	}
	// What came since: it was unsealed, and somebody pushed.
	if !r.Counted || r.Lost < 1 || r.Lost > 2 || !r.Since.Equal(o.Made.Add(time.Hour)) {
		t.Errorf("lost are %d records since %s (%t)", r.Lost, r.Since, r.Counted)
	}
	o.must(r.Do())
	o.must(r.Close())
	if got, want := o.files(), "coffer.db "+aside+" coffer.key"; got != want {
		t.Errorf("there are %s", got)
	}
	if got := o.header(aside); got.Schema != store.Schema {
		t.Errorf("aside is %+v", got)
	}
	if got := o.header(server.DataFile); got.Schema != 1 {
		t.Errorf("in place is %+v", got)
	}
	if _, err := server.PlanRollback(t.Context(), c); !errors.Is(err, server.ErrRolledBack) || !strings.Contains(err.Error(), aside) {
		t.Errorf("once more: %v", err)
	}
	s, err := server.New(c)
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}

// TestAKilledRollbackHappenedOrNot kills it after each step.
func TestAKilledRollbackHappenedOrNot(t *testing.T) {
	for step, schema := range map[string]int{"set aside": store.Schema, "put back": 1} {
		t.Run(step, func(t *testing.T) {
			o := upgraded(t)
			o.killed(rollbackEnv, step)
			if got := o.header(server.DataFile); got.Schema != schema {
				t.Errorf("it has %+v", got)
			}
			var log bytes.Buffer
			s, err := server.New(o.config(&log))
			o.must(err)
			o.must(s.Close())
			if said := strings.Contains(log.String(), "a rollback of the last upgrade was interrupted"); said != (schema == store.Schema) {
				t.Errorf("the next start says:\n%s", &log)
			}
			if aside := strings.Contains(o.files(), "set-aside"); aside != (schema == 1) {
				t.Errorf("there are %s", o.files())
			}
			if said, err := o.runs(rollbackEnv, ""); err != nil {
				t.Errorf("it cannot be done again: %v\n%s", err, said)
			}
		})
	}
}

// TestDamagedDataIsNoObstacleToGoingBack: that is when one wants to.
func TestDamagedDataIsNoObstacleToGoingBack(t *testing.T) {
	o := upgraded(t)
	path := filepath.Join(o.dir, server.DataFile)
	o.must(os.WriteFile(path, bytes.Repeat([]byte("x"), 40<<10), 0o600))
	r, err := server.PlanRollback(t.Context(), o.config(io.Discard))
	o.must(err)
	if r.Counted || r.From != 0 || r.To != 1 {
		t.Errorf("%+v", r)
	}
	o.must(errors.Join(r.Do(), r.Close()))
	s, err := server.New(o.config(io.Discard))
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}

// TestADamagedSnapshotIsNotGoneBackTo cuts it off.
func TestADamagedSnapshotIsNotGoneBackTo(t *testing.T) {
	o := upgraded(t)
	o.must(os.Truncate(filepath.Join(o.dir, "coffer.db.schema-1"), 100<<10))
	if _, err := server.PlanRollback(t.Context(), o.config(io.Discard)); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if got := o.header(server.DataFile); got.Schema != store.Schema {
		t.Errorf("it has %+v", got)
	}
}

// kept is what must come out of the data of an earlier version.
type kept struct {
	Made    time.Time         // when the data was made
	Tokens  map[string]string // credentials of users
	Audit   keptLog           // what verifying the audit log said
	Answers map[string]any    // by user and path
}

// keptLog is the part of a report that stays the same while the log grows.
type keptLog struct {
	Last                uint64
	Instance, PublicKey string
}

// reader asks an instance for all that it holds.
type reader struct {
	*testing.T
	transport http.RoundTripper
	url       string
	tokens    map[string]string
	answers   map[string]any
}

// everything is what the users of an instance can see of it: lists, records,
// histories, and every value of every version.
func (r *reader) everything() map[string]any {
	r.answers = make(map[string]any)
	for _, who := range []string{"ann", "bob"} {
		for _, path := range []string{"/activity?limit=100", "/activity?limit=100&offset=100", "/users/me", "/users/me/usage", "/api-keys", "/auth/sessions", "/orgs", "/orgs/acme", "/orgs/acme/members", "/orgs/acme/billing", "/integrations/connections"} {
			r.get(who, path)
		}
		vaults, _ := r.get(who, "/vaults?limit=100").([]any)
		for _, v := range vaults {
			r.vault(who, "/vaults/"+field(v, "repoFullName"), field(v, "repoFullName"))
		}
	}
	return r.answers
}

func (r *reader) vault(who, path, repo string) {
	r.get(who, path)
	for _, of := range []string{"/activity?limit=100", "/collaborators", "/trash?limit=100", "/permissions/effective", "/permissions/defaults", "/permissions/overrides"} {
		r.get(who, path+of)
	}
	secrets, _ := r.get(who, path+"/secrets?limit=100").([]any)
	for _, s := range secrets {
		if who != "ann" {
			break // of the same versions
		}
		versions, _ := r.get(who, path+"/secrets/"+field(s, "id")+"/versions").([]any)
		for _, v := range versions {
			r.get(who, path+"/secrets/"+field(s, "id")+"/versions/"+field(v, "id")+"/value")
		}
	}
	envs, _ := r.get(who, path+"/environments").(map[string]any)
	for _, e := range envs["environments"].([]any) {
		pull := "/secrets/pull?format=json&repo=" + repo + "&environment=" + field(e, "name")
		r.get(who, pull)
		newest, _ := e.(map[string]any)["revision"].(float64)
		for n := 1; n <= int(newest); n++ {
			r.get(who, fmt.Sprintf("%s&revision=%d", pull, n))
		}
	}
}

// get keeps what a user gets at a path: the data, or the code of the refusal.
func (r *reader) get(who, path string) any {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.url+"/v1"+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.tokens[who])
	res, err := r.transport.RoundTrip(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		r.Fatalf("%s: %v: %s", path, err, text)
	}
	seen := answer["data"]
	if res.StatusCode != http.StatusOK {
		seen = fmt.Sprintf("refused with %d", res.StatusCode)
	}
	r.answers[who+" "+path] = still(seen)
	return seen
}

// still leaves out of an answer what looking at it changes.
func still(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = still(v[i])
		}
	case map[string]any:
		for _, name := range []string{"lastUsedAt", "usageCount", "lastUsedIp"} {
			delete(v, name)
		}
		for name := range v {
			v[name] = still(v[name])
		}
	}
	return v
}

func field(v any, name string) string {
	text, _ := v.(map[string]any)[name].(string)
	return text
}

// auditOf verifies the audit log as operator.
func auditOf(t *testing.T, op *client.Client) keptLog {
	t.Helper()
	report, err := op.VerifyAudit(t.Context(), nil)
	if err != nil || !report.Intact || !report.Complete {
		t.Fatalf("the audit log: %+v, %v", report, err)
	}
	return keptLog{Last: report.Last, Instance: report.Instance, PublicKey: report.PublicKey}
}
