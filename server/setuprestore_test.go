package server_test

import (
	"bytes"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
)

// sendBackup fills in the form of the restore.
func (f *first) sendBackup(fields map[string]string, file []byte) *servertest.Seen {
	f.t.Helper()
	f.clock.turn(time.Minute)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range []string{"key", "passphrase"} {
		if err := w.WriteField(name, fields[name]); err != nil {
			f.t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "b.tar.age")
	if err == nil {
		_, err = part.Write(file)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return f.Send("POST", "/setup/restore", body.String(), "Content-Type", w.FormDataContentType(), "Sec-Fetch-Site", "same-origin")
}

func TestTheFirstRunRestoresABackup(t *testing.T) {
	in := lived(t)
	file, about := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	if err := os.Remove(in.KeyFile()); err != nil {
		t.Fatal(err)
	}
	f := newFirst(t)
	f.contains(f.Open("/setup"), 200, "A restored one, from a backup")
	if s := f.sendBackup(map[string]string{"key": in.Recovery}, file); s.Status != 403 {
		t.Errorf("without the claim token: %d %s", s.Status, s.Text)
	}
	expect(t, f.send("/setup/claim", "claim", f.claim, "kind", "restore"), 303, "/setup")
	f.shows("Restore a backup")
	other := servertest.New(t)
	f.contains(f.sendBackup(map[string]string{}, file), 422, "one of them")
	f.contains(f.sendBackup(map[string]string{"key": other.Recovery}, file), 403, "Wrong key: the backup opens with")
	f.contains(f.sendBackup(map[string]string{"key": in.Recovery}, file[:len(file)/2]), 422, "cut off")
	f.contains(f.sendBackup(map[string]string{"key": in.Recovery}, nil), 422, "damaged")
	if left, _ := filepath.Glob(filepath.Join(f.in.Data, "restore*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if s := f.send("/setup/user", "username", "ann", "password", "long enough", "again", "long enough"); s.Status != 409 {
		t.Errorf("another step: %d", s.Status)
	}

	s := f.sendBackup(map[string]string{"key": "  " + strings.ToLower(in.Recovery) + "\r\n"}, file)
	f.contains(s, 200, "The backup is restored", about.Fingerprint, filepath.Join(f.in.Data, "coffer.key"))
	// The server that runs goes on with what was restored, over every way in.
	f.contains(f.Open("/setup"), 200, "set up already")
	ann := f.in.SignIn("ann")
	if got := f.in.Pull(ann, repo, "production"); got["A"] != canary+" again" {
		t.Errorf("pulled %d values", len(got))
	}
	f.in.Push(ann, repo, "production", map[string]string{"NEW": "1"})
	r, err := byOperator(t, f.in).VerifyAudit(t.Context(), nil)
	if err != nil || !r.Intact || !r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := f.in.Operator.Jobs(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(f.in.Log.String(), in.Recovery) {
		t.Error("the recovery key stands in the log")
	}
	f.in.Restart()
	if got := f.in.Pull(f.in.SignIn("ann"), repo, "production"); got["NEW"] != "1" {
		t.Error("what was written after the restore is lost")
	}
}

func TestTheFirstRunRestoresWithAPassphrase(t *testing.T) {
	in := lived(t)
	words := api.NewSecret("four or five words")
	file, _ := backedUp(t, in.Operator, api.NewBackup{Passphrase: &words})
	f := newFirst(t)
	expect(t, f.send("/setup/claim", "claim", f.claim, "kind", "restore"), 303, "/setup")
	f.contains(f.sendBackup(map[string]string{"passphrase": "others than those"}, file), 403, "Wrong passphrase")
	s := f.sendBackup(map[string]string{"passphrase": "four or five words"}, file)
	f.contains(s, 200, "This is the new one")
	key := f.key(s)
	file, _ = backedUp(t, f.in.Operator, api.NewBackup{})
	if p, err := server.VerifyBackup(t.Context(), plain(""), bytes.NewReader(file), keyOf(key), t.TempDir(), nil); err != nil || !p.Good {
		t.Errorf("%+v, %v", p, err)
	}
}

func keyOf(text string) api.OpenBackup { return key(text) }
