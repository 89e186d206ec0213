package crypto

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"filippo.io/age"
	"filippo.io/age/plugin"
)

var (
	// ErrPluginMissing says that the program of a plugin is not there.
	ErrPluginMissing = errors.New("the plugin's program is missing")

	// ErrPluginAsks says that a plugin wants an answer from somebody, and a server
	// has nobody to ask.
	ErrPluginAsks = errors.New("the plugin asks for something")

	// ErrPluginSlow says that a plugin did not finish in time.
	ErrPluginSlow = errors.New("the plugin did not answer in time")

	// ErrPlugin says that a plugin refused, or did not keep to age's protocol.
	ErrPlugin = errors.New("the plugin failed")
)

// Plugin is an age plugin's key: a piece of hardware, mostly, that a program named
// age-plugin-NAME asks. Its texts are no secrets.
type Plugin struct {
	identity, recipient string
	name                string
}

// ParsePlugin reads an identity file of a plugin: one line AGE-PLUGIN-NAME-1…,
// beside comments. Where recipient is empty it is taken from a comment, in which
// plugins tend to put it, and else the plugin is asked to encrypt to the identity
// itself. Errors wrap [ErrIdentity] or [ErrRecipient] and never quote the text,
// which may be a key that belongs elsewhere.
func ParsePlugin(text []byte, recipient string) (*Plugin, error) {
	if len(text) > maxIdentityText {
		return nil, fmt.Errorf("%w: the file is too long", ErrIdentity)
	}
	p := &Plugin{recipient: strings.TrimSpace(recipient)}
	var noted []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			noted = append(noted, recipientInComment.FindAllString(line, -1)...)
		case p.identity != "":
			return nil, fmt.Errorf("%w: it holds more than one key", ErrIdentity)
		default:
			p.identity = strings.ToUpper(line)
		}
	}
	if !strings.HasPrefix(p.identity, "AGE-PLUGIN-") {
		return nil, fmt.Errorf("%w: no line begins with AGE-PLUGIN-", ErrIdentity)
	}
	var err error
	if p.name, _, err = plugin.ParseIdentity(p.identity); err != nil {
		return nil, fmt.Errorf("%w: it is incomplete or mistyped", ErrIdentity)
	}
	for _, r := range noted {
		if name, _, err := plugin.ParseRecipient(r); p.recipient == "" && err == nil && name == p.name {
			p.recipient = r
		}
	}
	if p.recipient == "" {
		return p, nil
	}
	if name, _, err := plugin.ParseRecipient(p.recipient); err != nil || name != p.name {
		return nil, fmt.Errorf("%w: expected one that begins with age1%s1", ErrRecipient, p.name)
	}
	return p, nil
}

var recipientInComment = regexp.MustCompile(`\bage1[a-z0-9-]+1[a-z0-9]+\b`)

// Name is the name of the plugin; its program is age-plugin-NAME.
func (p *Plugin) Name() string { return p.name }

// Identity returns the text that the plugin finds its key by.
func (p *Plugin) Identity() string { return p.identity }

// Recipient returns the public half, "" if none is known.
func (p *Plugin) Recipient() string { return p.recipient }

// Fingerprint returns a short name that people can compare.
func (p *Plugin) Fingerprint() string {
	if p.recipient == "" {
		return fingerprint(p.identity)
	}
	return fingerprint(p.recipient)
}

// WrapPlugin returns the master identity as an age file to a plugin's key. The
// plugin runs as a child process until ctx ends.
//
// Not every plugin withstands a quantum computer, and whoever knows the recipient
// can make such a file, as with [WrapIdentity].
func WrapPlugin(ctx context.Context, m *Master, p *Plugin) ([]byte, error) {
	text := m.text()
	defer clear(text)
	file, err := encryptKey(text, pluginKey{ctx, p})
	if err != nil {
		return nil, classifyPlugin(err)
	}
	return file, nil
}

// UnwrapPlugin opens a file of [WrapPlugin]. It fails with [ErrPluginMissing],
// [ErrPluginAsks], [ErrPluginSlow], [ErrPlugin] or [ErrWrongKey].
func UnwrapPlugin(ctx context.Context, file []byte, p *Plugin) (*Master, error) {
	payload, err := decryptKey(file, pluginKey{ctx, p})
	if err != nil {
		return nil, err
	}
	return parseMaster(payload)
}

// classifyPlugin finds a plugin's error in the words that age put around it.
func classifyPlugin(err error) error {
	if wrong, ok := errors.AsType[*pluginError](err); ok {
		return wrong
	}
	return err
}

// pluginError is one of our errors with what the plugin said.
type pluginError struct {
	kind error
	text string
}

func (e *pluginError) Error() string {
	if e.text == "" {
		return e.kind.Error()
	}
	return fmt.Sprintf("%s: %s", e.kind, e.text)
}

func (e *pluginError) Unwrap() error { return e.kind }

// pluginKey is a plugin's key as age uses it.
type pluginKey struct {
	ctx context.Context
	p   *Plugin
}

// Wrap encrypts a file key.
func (k pluginKey) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	answer, err := k.ask(pluginCall{FileKey: fileKey})
	return answer.Stanzas, err
}

// Unwrap decrypts a file key.
func (k pluginKey) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	answer, err := k.ask(pluginCall{Stanzas: stanzas})
	return answer.FileKey, err
}

func (k pluginKey) ask(call pluginCall) (pluginAnswer, error) {
	call.Identity, call.Recipient = k.p.identity, k.p.recipient
	answer, err := runPluginHelper(k.ctx, call)
	if err != nil {
		return answer, err
	}
	program := "age-plugin-" + k.p.name
	switch {
	case answer.Missing:
		return answer, &pluginError{ErrPluginMissing, program + " is in no directory of the server's PATH, or cannot be run"}
	case answer.Asked != "":
		return answer, &pluginError{ErrPluginAsks, fmt.Sprintf("%s wants an answer (%s) and a server has nobody to ask; make a key that needs none", program, oneLine(answer.Asked))}
	case answer.Wrong:
		return answer, &pluginError{ErrWrongKey, program + " does not open it: this is another key than it was made for, or the device is not there"}
	case answer.Failure != "":
		return answer, &pluginError{ErrPlugin, oneLine(answer.Failure)}
	}
	return answer, nil
}

// oneLine makes what a plugin said fit for a message.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
