package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// audited is an instance with a vault that was used.
func audited(t *testing.T, options ...func(*server.Config)) (*servertest.Instance, *client.Client) {
	t.Helper()
	in := servertest.New(t, options...)
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": canary, "B": "2"})
	in.Pull(ann, repo, "production")
	return in, ann
}

const canary = "c4n4ry-2b9f-of-the-log"

// byOperator reaches a running instance over its socket.
func byOperator(t *testing.T, in *servertest.Instance) *client.Client {
	t.Helper()
	transport, err := server.DialOperator(in.Data)
	if err != nil {
		t.Fatal(err)
	}
	return &client.Client{URL: "http://operator", Transport: transport}
}

func TestTheLogGoesOutAndIsVerified(t *testing.T) {
	in, ann := audited(t)
	for name, op := range map[string]*client.Client{"in process": in.Operator, "over the socket": byOperator(t, in)} {
		t.Run(name, func(t *testing.T) {
			var file, part bytes.Buffer
			if err := op.ExportAudit(t.Context(), &file); err != nil {
				t.Fatal(err)
			}
			if err := ann.ExportVaultActivity(t.Context(), repo, &part); err != nil {
				t.Fatal(err)
			}
			for what, text := range map[string]io.Reader{"the data": nil, "the file": &file, "the vault's file": &part} {
				r, err := op.VerifyAudit(t.Context(), text)
				if err != nil || !r.Intact || !r.Complete || r.Records == 0 || r.PublicKey == "" {
					t.Errorf("%s: %+v, %v", what, r, err)
				}
			}
			r, err := op.VerifyAudit(t.Context(), strings.NewReader("rubbish\n"))
			if err != nil || r.Intact || r.Complete {
				t.Errorf("rubbish: %+v, %v", r, err)
			}
			// An empty file is a file, and no question about the data.
			r, err = op.VerifyAudit(t.Context(), strings.NewReader(""))
			if err != nil || r.Complete || r.Source != "export" {
				t.Errorf("an empty file: %+v, %v", r, err)
			}
		})
	}
	st, err := ann.Status(t.Context())
	if err != nil || st.AuditKey == "" {
		t.Errorf("the status shows no key: %+v, %v", st, err)
	}
}

func TestNobodyElseGetsTheLog(t *testing.T) {
	in, _ := audited(t)
	bob := in.User("bob")
	for name, err := range map[string]error{
		"the log":         bob.ExportAudit(t.Context(), io.Discard),
		"a judgement":     errOf(bob.VerifyAudit(t.Context(), nil)),
		"a vault's part":  bob.ExportVaultActivity(t.Context(), repo, io.Discard),
		"without a token": in.Client("").ExportAudit(t.Context(), io.Discard),
	} {
		if err == nil {
			t.Errorf("%s is given out", name)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestALargeFileIsVerifiedAsItComes: the limit of other bodies does not hold.
func TestALargeFileIsVerifiedAsItComes(t *testing.T) {
	in, ann := audited(t, servertest.Plain)
	views(t, ann, 1500)
	var file bytes.Buffer
	if err := in.Operator.ExportAudit(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	if file.Len() < api.MaxBody {
		t.Fatalf("the file has %d bytes only", file.Len())
	}
	r, err := byOperator(t, in).VerifyAudit(t.Context(), &file)
	if err != nil || !r.Intact || !r.Complete || r.Records < 1500 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNoValueIsInTheLog looks for a value in everything that the log gives away.
func TestNoValueIsInTheLog(t *testing.T) {
	in, ann := audited(t)
	var out bytes.Buffer
	if err := in.Operator.ExportAudit(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if err := ann.ExportVaultActivity(t.Context(), repo, &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), canary) || strings.Contains(in.Log.String(), canary) {
		t.Error("a value got out")
	}
}

func TestASlowClientDoesNotKeepTheServerFromStopping(t *testing.T) {
	in, ann := audited(t, servertest.Plain)
	views(t, ann, 1000) // more than the socket's buffers take
	transport, err := server.DialOperator(in.Data)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://operator/v1/operator/audit/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	if err != nil || res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/x-ndjson") {
		t.Fatalf("%+v, %v", res, err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	in.Stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("stopping took %v", took)
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the answer looks whole")
	}
}

// views leaves records behind, many at once to share commits.
func views(t *testing.T, c *client.Client, records int) {
	t.Helper()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range records / 50 {
				if _, err := c.ViewSecret(t.Context(), api.ViewSecret{Repo: repo, Environment: "production", Key: "A"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
