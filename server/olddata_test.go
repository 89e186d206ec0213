package server_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/client"
	"coffer/store"
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
