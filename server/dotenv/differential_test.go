package dotenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joho/godotenv"
)

// A reader is somebody else's program: it reads one file for each value, in
// which the key is V, and returns what it found. A file that it refuses gives
// something that no value equals.
type reader func(t *testing.T, files []string) []string

const refused = "\x00refused"

func bash(t *testing.T, files []string) []string {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	dir := t.TempDir()
	for i, file := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -a; for ((i = 0; i < $1; i++)); do V=; . "./$i" 2>/dev/null; printf '%s\0' "$V"; done`
	cmd := exec.Command(shell, "-c", script, "bash", fmt.Sprint(len(files)))
	cmd.Dir, cmd.Env = dir, []string{"PATH=/nonexistent"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// nodeDotenv uses a dotenv that Node finds, for example through NODE_PATH.
func nodeDotenv(t *testing.T, files []string) []string {
	return node(t, files, `require("dotenv").parse`, "node finds no dotenv; install it somewhere and set NODE_PATH")
}

// nodeBuiltIn is what node --env-file does.
func nodeBuiltIn(t *testing.T, files []string) []string {
	return node(t, files, `require("util").parseEnv`, "this node has no reader built in")
}

func node(t *testing.T, files []string, parse, missing string) []string {
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	if exec.Command(program, "-e", parse+`("V=1")`).Run() != nil {
		t.Skip(missing)
	}
	in, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-e", `
		const files = JSON.parse(require("fs").readFileSync(0, "utf8"));
		const values = files.map(f => `+parse+`(f).V ?? "\0refused");
		process.stdout.write(JSON.stringify(values));`)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	if err := json.Unmarshal(out, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func joho(_ *testing.T, files []string) []string {
	values := make([]string, len(files))
	for i, file := range files {
		found, err := godotenv.Unmarshal(file)
		values[i] = found["V"]
		if err != nil {
			values[i] = refused
		}
	}
	return values
}

// nastyValues are the vectors and random mixtures of what makes trouble.
func nastyValues(t *testing.T) []string {
	values := []string{}
	for _, v := range vectors(t) {
		values = append(values, v.value)
	}
	pieces := []string{
		"a", "B1", "0123", " ", "\t", "'", `"`, "`", `\`, "$", "$HOME", "$(id)", "${x}", "#", " #", "\n", "\r", "\r\n",
		`\n`, "=", ":", "~", "!", "*", "[a]", "{b,c}", "&", ";", "|", "<", "(", "é", "日本", "\u00a0", "\ufeff", "\u2028", "%s", "-",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		values = append(values, b.String())
	}
	return values
}

// agrees checks that the reader reads every promised value and says how many
// of the others it reads as well.
func agrees(t *testing.T, read reader, write func(string) string, promised func(string) bool) {
	t.Helper()
	values := nastyValues(t)
	files := make([]string, len(values))
	for i, v := range values {
		files[i] = write(v)
	}
	got := read(t, files)
	if len(got) != len(values) {
		t.Fatalf("%d answers for %d files", len(got), len(values))
	}
	promises, others, luck := 0, 0, 0
	for i, v := range values {
		switch {
		case promised(v):
			promises++
			if got[i] != v {
				t.Errorf("%q written as %q is read as %q", v, files[i], got[i])
			}
		default:
			others++
			if got[i] == v {
				luck++
			}
		}
	}
	t.Logf("%d promised; %d of %d others agree too", promises, luck, others)
}

func TestOthersReadWhatWriteWrote(t *testing.T) {
	write := func(v string) string { return Write([]Entry{{Key: "V", Value: v}}) }
	escapes := func(v string) bool { return strings.ContainsAny(v, "'\r") }
	for _, c := range []struct {
		name     string
		read     reader
		promised func(string) bool
	}{
		{"bash", bash, func(v string) bool { return !strings.Contains(v, "\r") }},
		{"node", nodeDotenv, func(v string) bool { return !escapes(v) || !strings.ContainsAny(v, "\"\\$`") }},
		{"node --env-file", nodeBuiltIn, func(v string) bool {
			return !strings.Contains(v, "\r") && (!escapes(v) || !strings.ContainsAny(v, "\"\\$`"))
		}},
		{"godotenv", joho, func(v string) bool {
			return !strings.HasSuffix(v, `\`) && (!escapes(v) || !strings.HasSuffix(v, `"`))
		}},
	} {
		t.Run(c.name, func(t *testing.T) { agrees(t, c.read, write, c.promised) })
	}
}

func TestOthersReadWhatEncodeWrote(t *testing.T) {
	write := func(v string) string { return Encode(map[string]string{"V": v}) }
	oneLine := func(v string) bool { return !strings.ContainsAny(v, "\r\n") }
	rule5 := func(v string) bool {
		return oneLine(v) && strings.ContainsAny(v, "\"\\$`") && strings.Contains(v, "'")
	}
	// What the contract takes out of its promise to dotenv libraries.
	excepted := func(v string) bool {
		return strings.ContainsAny(v, "\"'`") && strings.Contains(v, "#") || strings.HasSuffix(v, `\`)
	}
	for _, c := range []struct {
		name     string
		read     reader
		promised func(string) bool
	}{
		{"bash", bash, func(v string) bool { return oneLine(v) && !rule5(v) }},
		{"node", nodeDotenv, func(v string) bool { return !excepted(v) && !sharesText(v) }},
		{"godotenv", joho, func(v string) bool {
			plainBreaks := !oneLine(v) && !strings.ContainsAny(v, "\"\\$")
			return !excepted(v) && (plainBreaks || oneLine(v) && !rule5(v))
		}},
	} {
		t.Run(c.name, func(t *testing.T) { agrees(t, c.read, write, c.promised) })
	}
}

func TestParseReadsWhatOthersAgreeOn(t *testing.T) {
	files := []string{
		"V=a#b\n", "V=a # b\n", "export V='x' # y\n", "V=\"a\nb\"\n", "V='a\nb'\n", "V=\n", "V= # c\n",
		"V=a=b\n", "V=\"it's\"\n", "V='say \"hi\"'\n", "\n# c\nV=x\n", "V=\"\"\n", "V=''\n", "V=日本\n", "V=\"a # b\"\n",
	}
	// Node's dotenv cuts at any "#", godotenv takes a lone comment for a value.
	alone := map[string]string{"node": "V=a#b\n", "godotenv": "V= # c\n"}
	readers := map[string]reader{"bash": bash, "godotenv": joho, "node": nodeDotenv}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			got := read(t, files)
			for i, file := range files {
				if file == alone[name] {
					continue
				}
				entries, err := Parse([]byte(file))
				if err != nil || Values(entries)["V"] != got[i] {
					t.Errorf("%q: %q, %v; %s reads %q", file, Values(entries)["V"], err, name, got[i])
				}
			}
		})
	}
}
