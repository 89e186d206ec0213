package web

import (
	"fmt"
	"strings"
	"time"
)

// The first run, step by step, and the page of a vault that is sealed.

// Setup asks for the claim token of a server that nobody has set up.
type Setup struct {
	Frame
	Form Form
}

// SetupMethod asks how the server shall be unsealed.
type SetupMethod struct {
	Frame
	Form    Form
	KeyFile string // where the key file would be
	Until   time.Time
}

// SetupKey shows the recovery key, this once.
type SetupKey struct {
	Frame
	Key         string
	Groups      []string // the key in pieces, to count
	Fingerprint string
	KeyFile     string // where the key file is, or ""
	Until       time.Time
}

// SetupCheck asks for some characters of the recovery key.
type SetupCheck struct {
	Frame
	Form            Form
	Group, From, To int
	Until           time.Time
}

// SetupUser asks for the first user, or says who will be able to sign in.
type SetupUser struct {
	Frame
	Form     Form
	Forge    string // name of the code host, or "" for the built-in one
	ForgeURL string
	Until    time.Time
}

// SetupRestore asks for a backup, and for what opens it.
type SetupRestore struct {
	Frame
	Form  Form
	Until time.Time
}

// SetupRestored says what was restored.
type SetupRestored struct {
	Frame
	Made        time.Time
	Record      uint64 // last one of the audit log
	Fingerprint string // of the master key
	KeyFile     string // or ""
	NewKeyFile  bool
	Unsealed    bool
	Key         string // a new recovery key, or ""
}

// FirstVault makes a vault of a .env file.
type FirstVault struct {
	Frame
	Form  Form
	Text  string // the file as it was sent, to be sent again
	Found *EnvFile
	Forge string
}

// EnvFile is what a .env file holds, without its values.
type EnvFile struct {
	Keys     []EnvKey
	Problems []EnvProblem
}

// EnvKey is a key of a .env file.
type EnvKey struct {
	Name string
	Line int
}

// EnvProblem is what is wrong with a line of a .env file.
type EnvProblem struct {
	Line int // 0 for the file as a whole
	Text string
}

// Ready shows how the secrets of a vault are used.
type Ready struct {
	Frame
	Form        Form
	Server      string
	Repository  string
	At          string // path of this page
	Environment string
	Keys        []string // of the environment, as many as fit
	More        int      // further ones
	Count       int
	Token       string // a new API key, or ""
	KeyName     string // of that
}

// Unseal asks for a key of a sealed vault.
type Unseal struct {
	Frame
	Methods []UnsealMethod
	Return  string // where to go afterwards, or ""
	Problem string // why the attempt just made failed, or ""
	Last    string // why the last one failed, or ""

	Attempts []UnsealAttempt // what the last one tried by itself, where that was more than one
	Given    *GivenShares    // while more shares are needed
}

// UnsealMethod is one way to unseal.
type UnsealMethod struct {
	Kind        string // as the API names it
	Fingerprint string // or ""
	Since       time.Time

	Threshold, Total int // of shares
}

func (Setup) file() string         { return "setup.html" }
func (SetupMethod) file() string   { return "setup_method.html" }
func (SetupKey) file() string      { return "setup_key.html" }
func (SetupCheck) file() string    { return "setup_check.html" }
func (SetupUser) file() string     { return "setup_user.html" }
func (SetupRestore) file() string  { return "setup_restore.html" }
func (SetupRestored) file() string { return "setup_restored.html" }
func (FirstVault) file() string    { return "setup_vault.html" }
func (Ready) file() string         { return "setup_ready.html" }
func (Unseal) file() string        { return "unseal.html" }

const setUpTitle = "Set up this server"

// Title is the page's title.
func (Setup) Title() string { return setUpTitle }

// Title is the page's title.
func (SetupMethod) Title() string { return setUpTitle }

// Title is the page's title.
func (SetupKey) Title() string { return setUpTitle }

// Title is the page's title.
func (SetupCheck) Title() string { return setUpTitle }

// Title is the page's title.
func (SetupUser) Title() string { return setUpTitle }

// Title is the page's title.
func (SetupRestore) Title() string { return setUpTitle }

// Title is the page's title.
func (SetupRestored) Title() string { return "The backup is restored" }

// Title is the page's title.
func (FirstVault) Title() string { return "A vault from your .env" }

// Title is the page's title.
func (r Ready) Title() string { return r.Repository + " is ready" }

// Title is the page's title.
func (Unseal) Title() string { return "This vault is sealed" }

const setupScript = "setup.js"

// Script is the page's module.
func (SetupRestore) Script() string { return "restore.js" }

// Script is the page's module.
func (Setup) Script() string { return setupScript }

// Script is the page's module.
func (SetupKey) Script() string { return setupScript }

// Script is the page's module.
func (FirstVault) Script() string { return setupScript }

// Script is the page's module.
func (Ready) Script() string { return setupScript }

// Has reports whether there is a method of a kind.
func (u Unseal) Has(kind string) bool {
	for _, m := range u.Methods {
		if m.Kind == kind {
			return true
		}
	}
	return false
}

// CLI are lines for a terminal.
func (r Ready) CLI() string {
	return fmt.Sprintf("export COFFER_URL=%s\ncoffer login\ncoffer run%s -- ./your-program", r.Server, r.flags())
}

// CI is a step of a workflow as GitHub, Gitea and Forgejo read them.
func (r Ready) CI() string {
	return fmt.Sprintf("- name: Test\n  env:\n    COFFER_URL: %s\n    COFFER_TOKEN: ${{ secrets.COFFER_TOKEN }}\n  run: coffer run%s -- make test", r.Server, r.flags())
}

// Compose is a file for Docker Compose, which takes from its own surroundings
// what it names without a value.
func (r Ready) Compose() string {
	var b strings.Builder
	b.WriteString("services:\n  app:\n    image: your-image\n    environment:\n")
	for _, key := range r.Keys {
		fmt.Fprintf(&b, "      - %s\n", key)
	}
	switch {
	case len(r.Keys) == 0:
		b.WriteString("      - YOUR_KEY\n")
	case r.More > 0:
		fmt.Fprintf(&b, "      # and %d more\n", r.More)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ComposeRun starts what Compose describes.
func (r Ready) ComposeRun() string {
	return fmt.Sprintf("export COFFER_URL=%s COFFER_TOKEN=…\ncoffer run%s -- docker compose up", r.Server, r.flags())
}

func (r Ready) flags() string { return " --repo " + r.Repository + " -e " + r.Environment }
