package crypto

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/plugin"
)

// A plugin runs behind a helper: this program once more, in a process group of its
// own. age's client for plugins cannot be called off while a plugin waits for a
// touch that never comes, and hands it the whole environment, in which a server may
// have a passphrase. The helper has a small environment, gets a file key of 16 bytes
// or the stanza that holds it and never the master, and is killed with its plugin.

// helperName is the name by which this program knows that it is the helper.
const helperName = "coffer-age-plugin-helper"

func init() {
	if len(os.Args) == 1 && os.Args[0] == helperName {
		helpPlugin(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}

// pluginCall asks a plugin to wrap a file key, or to unwrap it from stanzas.
type pluginCall struct {
	Identity, Recipient string
	FileKey             []byte        `json:",omitempty"`
	Stanzas             []*age.Stanza `json:",omitempty"`
}

type pluginAnswer struct {
	FileKey []byte        `json:",omitempty"`
	Stanzas []*age.Stanza `json:",omitempty"`
	Missing bool          // there is no such program
	Wrong   bool          // it is another key
	Asked   string        // what the plugin wanted to know
	Failure string
}

// helpPlugin answers one call.
func helpPlugin(in io.Reader, out io.Writer) {
	var call pluginCall
	var answer pluginAnswer
	err := json.NewDecoder(in).Decode(&call)
	if err == nil {
		answer, err = callPlugin(call)
	}
	if _, ok := errors.AsType[*plugin.NotFoundError](err); ok || errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		answer.Missing = true
	}
	answer.Wrong = errors.Is(err, age.ErrIncorrectIdentity)
	if err != nil {
		answer.Failure = err.Error()
	}
	// Without a reader there is nobody to tell.
	_ = json.NewEncoder(out).Encode(answer)
}

func callPlugin(call pluginCall) (a pluginAnswer, err error) {
	ui := &plugin.ClientUI{
		DisplayMessage: func(string, string) error { return nil },
		RequestValue: func(_, prompt string, _ bool) (string, error) {
			a.Asked = prompt
			return "", errors.New("nobody is here")
		},
		Confirm: func(_, prompt, _, _ string) (bool, error) {
			a.Asked = prompt
			return false, errors.New("nobody is here")
		},
	}
	id, err := plugin.NewIdentity(call.Identity, ui)
	if err != nil {
		return a, err
	}
	if call.FileKey == nil {
		a.FileKey, err = id.Unwrap(call.Stanzas)
		return a, err
	}
	to := id.Recipient()
	if call.Recipient != "" {
		if to, err = plugin.NewRecipient(call.Recipient, ui); err != nil {
			return a, err
		}
	}
	a.Stanzas, err = to.Wrap(call.FileKey)
	return a, err
}

// helperEnvironment are the variables that a plugin may see: where programs and
// devices are, and what tests set.
func helperEnvironment() []string {
	kept := []string{"PATH", "HOME", "TMPDIR", "LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SYSTEMROOT", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA"}
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(kept, strings.ToUpper(name)) || strings.HasPrefix(name, "AGE_PLUGIN_") || strings.HasPrefix(name, "TPM2TOOLS_") || strings.HasPrefix(name, "PCSCLITE_") {
			env = append(env, v)
		}
	}
	return env
}

func runPluginHelper(ctx context.Context, call pluginCall) (answer pluginAnswer, err error) {
	self, err := os.Executable()
	if err != nil {
		return answer, fmt.Errorf("find this program: %w", err)
	}
	in, err := json.Marshal(call)
	if err != nil {
		return answer, err
	}
	defer clear(in)
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{helperName}
	cmd.Env = helperEnvironment()
	cmd.Dir = os.TempDir()
	cmd.Stdin = bytes.NewReader(in)
	var out bytes.Buffer
	cmd.Stdout = &out
	inOwnGroup(cmd)
	// A plugin that got away keeps the pipe open.
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	defer clear(out.Bytes())
	if ctx.Err() != nil {
		return answer, &pluginError{ErrPluginSlow, "it may wait for a touch, or for a device that is not there"}
	}
	if err != nil {
		return answer, &pluginError{ErrPlugin, err.Error()}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return answer, &pluginError{ErrPlugin, "its helper said nothing"}
	}
	return answer, nil
}
