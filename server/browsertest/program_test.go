package browsertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/servertest"
)

// instance is a running server with data of its own.
type instance struct {
	t    *testing.T
	url  string
	data string
	log  *buffer

	mayFail bool // errors in the log are part of the story
}

// password is that of every user that an instance has.
const password = "correct horse battery"

// serve sets a server up and runs it until the test ends. Settings are variables:
// FORGE_KIND=gitea.
func serve(t *testing.T, settings ...string) *instance {
	t.Helper()
	needBrowser(t)
	return serveAt(t, servertest.FreeAddress(), settings...)
}

func serveAt(t *testing.T, address string, settings ...string) *instance {
	t.Helper()
	in := &instance{t: t, url: "http://" + address, data: filepath.Join(t.TempDir(), "data"), log: new(buffer)}
	in.operator("", "init", "--key-file", filepath.Join(t.TempDir(), "unseal.key"))
	c := exec.Command(program, "serve", "--data", in.data, "--listen", address, "--json", "--log-format", "json")
	c.Env, c.Stderr, c.WaitDelay = append(environment(t.TempDir()), "COFFER_LOG_LEVEL=warn"), in.log, time.Minute
	for _, s := range settings {
		c.Env = append(c.Env, "COFFER_"+s)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait())
		if err != nil || !in.mayFail && strings.Contains(in.log.String(), `"level":"ERROR"`) {
			t.Errorf("the server ended with %v, and logged:\n%s", err, in.log)
		}
	})
	var up struct{ State string }
	if err := json.NewDecoder(out).Decode(&up); err != nil || up.State != "ok" {
		t.Fatalf("the server came up as %+v: %v\n%s", up, err, in.log)
	}
	return in
}

// environment is ours, of somebody with a home who has configured nothing.
func environment(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "COFFER_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "SSH_")
	})
	return append(env, "HOME="+home, "COFFER_KEYRING=off", "COFFER_UNSEAL_WORK_FACTOR=17",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(home))
}

// operator runs a command on the data of the instance, which must succeed, and
// returns what it said.
func (in *instance) operator(stdin string, args ...string) string {
	in.t.Helper()
	c := exec.Command(program, append(args, "--data", in.data)...)
	c.Env, c.Stdin = environment(in.t.TempDir()), strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	if err != nil {
		in.t.Fatalf("coffer %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if args[0] != "init" { // which shows the recovery key
		in.t.Logf("$ coffer %s\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// user adds a user of the built-in code host.
func (in *instance) user(name string) {
	in.t.Helper()
	in.operator(password, "admin", "user", "add", name, "--password-file", "-")
}

// terminal is somebody's command line on a machine of their own.
type terminal struct {
	t    *testing.T
	home string
	env  []string // variables that are set there
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	return &terminal{t: t, home: t.TempDir()}
}

// command is one that was started.
type command struct {
	*exec.Cmd
	t           *testing.T
	out, notice buffer // standard output and standard error
}

// start starts a command.
func (c *terminal) start(args ...string) *command {
	c.t.Helper()
	cmd := &command{Cmd: exec.Command(program, args...), t: c.t}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.home, append(environment(c.home), c.env...), &cmd.out, &cmd.notice
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// exits waits for a command and returns its exit code.
func (c *command) exits() int {
	overtime := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	defer overtime.Stop()
	_ = c.Wait() // what it says is in the exit code
	return c.ProcessState.ExitCode()
}

// ends waits for a command and wants it to exit with a code.
func (c *command) ends(code int) *command {
	c.t.Helper()
	got := c.exits()
	said := "$ coffer " + strings.Join(c.Args[1:], " ") + "\n" + c.notice.String() + c.out.String()
	if got != code {
		c.t.Fatalf("exit code %d, want %d:\n%s", got, code, said)
	}
	c.t.Log(said)
	return c
}

// run runs a command that must succeed, and returns what it printed.
func (c *terminal) run(args ...string) string {
	c.t.Helper()
	return c.start(args...).ends(0).out.String()
}

// fails runs a command that must exit with a code, and returns what it said.
func (c *terminal) fails(code int, args ...string) string {
	c.t.Helper()
	return c.start(args...).ends(code).notice.String()
}

// file writes a file into the directory where commands run.
func (c *terminal) file(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.home, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// reads reads a file from there.
func (c *terminal) reads(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.home, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// says waits until a command has said something on standard error.
func (c *command) says(what string) string {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text := c.notice.String(); strings.Contains(text, what) {
			return text
		}
	}
	c.t.Fatalf("coffer %s does not say %q:\n%s", strings.Join(c.Args[1:], " "), what, &c.notice)
	return ""
}

// buffer gathers what a program writes while others read it.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is all that was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
