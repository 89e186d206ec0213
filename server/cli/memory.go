package cli

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// memory is what this machine remembers of pushes and pulls: for each file, what
// it and the vault last agreed on. It holds names and fingerprints, no values.
//
// Nothing depends on it. Where it cannot be read or written, as in a container
// without a home, a push cannot tell who changed what before it looked.
type memory struct {
	dir    string // of the files, or ""
	key    []byte // of the fingerprints
	server string
}

func (a *app) memory(server string) *memory {
	dir, config := a.env.stateDir(), a.env.configDir()
	if dir == "" || config == "" {
		return &memory{}
	}
	// In a file and never in the keyring: every push and pull needs it, and none
	// should wait for somebody to unlock something.
	key, err := fingerprintKey(filepath.Join(config, "fingerprints.key"))
	if err != nil {
		return &memory{}
	}
	return &memory{filepath.Join(dir, "agreed"), key, server}
}

// fingerprintKey reads the key, or makes it.
func fingerprintKey(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err == nil && len(text) == 2*sha256.Size {
		return text, nil
	}
	raw := make([]byte, sha256.Size)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	key := []byte(hex.EncodeToString(raw))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return key, writePrivate(name, key)
}

// marks are fingerprints by key. A key without one had no value.
type marks map[string]string

// agreement is what a file and an environment last agreed on. The value of each
// key has its own moment: a push that leaves a key alone leaves its mark alone.
type agreement struct {
	Server      string `json:"server"`
	Repository  string `json:"repoFullName"`
	Environment string `json:"environment"`
	File        string `json:"file"`
	Revision    uint64 `json:"revision"`
	Key         string `json:"key"` // which key made the marks
	Marks       marks  `json:"marks"`
}

// mark is the fingerprint of a value: the same value of another key has another.
func (m *memory) mark(key, value string) string {
	h := hmac.New(sha256.New, m.key)
	fmt.Fprintf(h, "%d %s %s", len(key), key, value)
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)[:16])
}

func (m *memory) marksOf(values map[string]string) marks {
	all := make(marks, len(values))
	for key, value := range values {
		all[key] = m.mark(key, value)
	}
	return all
}

// path is the file about a file. Standard input has no past.
func (m *memory) path(at place, file string) (name, absolute string, ok bool) {
	absolute, err := filepath.Abs(file)
	if m.dir == "" || file == "-" || err != nil {
		return "", "", false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", m.server, at.repo, at.environment, absolute))
	return filepath.Join(m.dir, hex.EncodeToString(sum[:16])+".json"), absolute, true
}

// recall is what a file and an environment last agreed on, or nil. An environment
// that is at an earlier revision now is another one, or was restored.
func (m *memory) recall(at place, file string, revision uint64) *agreement {
	name, absolute, ok := m.path(at, file)
	if !ok {
		return nil
	}
	var a agreement
	data, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(data, &a) != nil || a.Marks == nil {
		return nil
	}
	if a.File != absolute || a.Key != m.mark("", "") || a.Revision > revision {
		return nil
	}
	return &a
}

// remember keeps what they agree on now.
func (m *memory) remember(at place, file string, revision uint64, agreed marks) {
	name, absolute, ok := m.path(at, file)
	if !ok {
		return
	}
	data, err := json.Marshal(agreement{m.server, at.repo, at.environment, absolute, revision, m.mark("", ""), agreed})
	if err == nil && os.MkdirAll(m.dir, 0o700) == nil {
		_ = writePrivate(name, data)
	}
}

// forget drops what is remembered of a vault, or of one environment in it.
func (m *memory) forget(repo, environment string) {
	files, _ := filesIn(m.dir, ".json")
	for _, name := range files {
		var a agreement
		data, err := os.ReadFile(name)
		if err != nil || json.Unmarshal(data, &a) != nil {
			continue
		}
		if a.Server == m.server && a.Repository == repo && (environment == "" || environment == a.Environment) {
			_ = os.Remove(name)
		}
	}
}
