//go:build linux

package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"coffer/server/api"
	"coffer/server/client"
)

// TestNoOutboundConnectionIsOpened watches every system call of a server that
// nobody configured while it is used. A connection over the network, or a
// datagram to a name server, would be there.
func TestNoOutboundConnectionIsOpened(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	data, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	token, _ := crashSetup(t, data)
	c := startChildBy(t, data, strace, "-f", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", trace)
	ann := &client.Client{URL: c.url, Token: token}
	for _, use := range []func() error{
		func() error { _, err := ann.Me(t.Context()); return err },
		func() error { _, err := ann.Vaults(t.Context(), api.Page{}); return err },
		func() error { _, err := ann.Collaborators(t.Context(), repo); return err },
		func() error {
			_, err := ann.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: "production"})
			return err
		},
		func() error { _, err := ann.Status(t.Context()); return err },
	} {
		if err := use(); err != nil {
			t.Fatal(err)
		}
	}
	// strace lets this signal pass, ends with the server, and writes its file.
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
	_ = c.cmd.Wait()
	seen, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) == 0 {
		t.Fatal("strace saw nothing, not even the end")
	}
	for _, call := range regexp.MustCompile(`(?m)^.*sa_family=AF_INET.*$`).FindAllString(string(seen), -1) {
		t.Errorf("the server spoke to the network: %s", call)
	}
}
