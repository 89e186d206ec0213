package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OperatorUnsealMethod is an unseal method as whoever runs the instance sees it.
type OperatorUnsealMethod struct {
	UnsealMethod
	Label              string `json:"label,omitempty"`
	KeyFile            string `json:"keyFile,omitempty"` // where it is looked for at start
	Plugin             string `json:"plugin,omitempty"`  // name of the age plugin
	ProtectsFrom       string `json:"protectsFrom"`
	DoesNotProtectFrom string `json:"doesNotProtectFrom"`
}

// MaxLabel is how long a label may be, in characters.
const MaxLabel = 64

// MaxShares is into how many shares a key may be split.
const MaxShares = 32

// AddUnsealMethod asks for another way to unseal. Of the members behind Label, each
// kind takes its own. Proof is a way to unseal that is there already; without it
// what the server was started with is the proof.
type AddUnsealMethod struct {
	Kind       string  `json:"kind" need:"true"`
	Label      string  `json:"label"`
	Passphrase *Secret `json:"passphrase"` // of a passphrase
	Key        *Secret `json:"key"`        // of a key file: a key that is there; else one is made
	KeyFile    string  `json:"keyFile"`    // of a key file: where it is at start
	Identity   string  `json:"identity"`   // of a plugin: its identity file
	Recipient  string  `json:"recipient"`  // of a plugin: its recipient, unless the file names it; of a key file: instead of the key
	Threshold  int     `json:"threshold"`  // of shares
	Total      int     `json:"total"`      // of shares
	Proof      *Unseal `json:"proof"`
}

// Check holds the members against what the kind takes.
func (r AddUnsealMethod) Check(f *Fields) {
	if utf8.RuneCountInString(r.Label) > MaxLabel {
		f.Add("label", TooLong, "At most %d characters.", MaxLabel)
	}
	if strings.ContainsFunc(r.Label, func(c rune) bool { return unicode.IsControl(c) }) {
		f.Add("label", InvalidFormat, "No control characters.")
	}
	switch r.Kind {
	case MethodPassphrase:
		if r.Passphrase == nil {
			f.Add("passphrase", Required, "This field is needed.")
		} else {
			checkPassphrase(f, "passphrase", *r.Passphrase)
		}
	case MethodKeyFile:
		if r.Key != nil && r.Recipient != "" {
			f.Add("recipient", NotAllowed, "Send the key or its recipient, not both.")
		}
		if r.KeyFile != "" && !strings.HasPrefix(r.KeyFile, "/") && !(len(r.KeyFile) > 2 && r.KeyFile[1] == ':') {
			f.Add("keyFile", InvalidFormat, "The whole path of the file on the server.")
		}
	case MethodRecovery:
	case MethodPlugin:
		if r.Identity == "" {
			f.Add("identity", Required, "The identity file of the plugin, with a line AGE-PLUGIN-….")
		}
	case MethodShares:
		r.checkShares(f)
	default:
		f.Add("kind", UnknownValue, "One of passphrase, key-file, recovery-key, plugin and shares.")
	}
	if r.Proof != nil {
		r.Proof.check(f, "proof.")
	}
}

func (r AddUnsealMethod) checkShares(f *Fields) {
	if r.Threshold < 2 {
		f.Add("threshold", TooSmall, "At least 2 shares must be needed.")
	}
	if r.Total < r.Threshold || r.Total > MaxShares {
		f.Add("total", NotAllowed, "At least as many as are needed, and at most %d.", MaxShares)
	}
}

// AddedUnsealMethod answers the adding of an unseal method. What opens it is shown
// this once.
type AddedUnsealMethod struct {
	OperatorUnsealMethod
	Key    *Revealed  `json:"key,omitempty"`    // a new key file's or recovery key's
	Shares []Revealed `json:"shares,omitempty"` // new ones
}

// Created says that something new was made.
func (AddedUnsealMethod) Created() (bool, string) { return true, "" }

// RemoveUnsealMethod asks to take a way to unseal away. Proof is another one; see
// AddUnsealMethod.
type RemoveUnsealMethod struct {
	ID    string  `path:"id"`
	Proof *Unseal `json:"proof"`
}

// Check wants one proof at most.
func (r RemoveUnsealMethod) Check(f *Fields) {
	if r.Proof != nil {
		r.Proof.check(f, "proof.")
	}
}

// RemovedUnsealMethod answers the removal of an unseal method.
type RemovedUnsealMethod struct {
	ID      string `json:"id"`
	Warning string `json:"warning,omitempty"` // what should be done now
}
