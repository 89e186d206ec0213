package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A block is one piece of a document between fences.
type block struct {
	word string // behind the opening fence
	line int    // of the document, on which the text begins
	text string
}

// blocksOf takes a document apart.
func blocksOf(t *testing.T, name string) []block {
	t.Helper()
	var blocks []block
	open := false
	number := 0
	for line := range strings.Lines(read(t, name)) {
		number++
		word, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && !open:
			blocks = append(blocks, block{word: word, line: number + 1})
			open = true
		case isFence:
			open = false
		case open:
			blocks[len(blocks)-1].text += line
		}
	}
	if open {
		t.Fatalf("%s: the fence before line %d is not closed", name, blocks[len(blocks)-1].line)
	}
	return blocks
}

// freshMachine makes of this one a machine on which nothing was done yet: its own
// mounts, processes and network, which is loopback alone. $1 is a directory with the
// released files, which go to where somebody would have unpacked them.
const freshMachine = `
ip link set lo up && ip address add 192.0.2.7/32 dev lo
mount -t tmpfs tmpfs /root
cp -r "$1/release/." /root/
mount -t tmpfs tmpfs /media
mkdir -p /media/upper /media/work
cp "$1/story" /media/story
mount -t overlay overlay -o lowerdir=/etc,upperdir=/media/upper,workdir=/media/work /etc
for place in /var/lib /usr/local /run /srv /mnt; do mount -t tmpfs -o mode=755 tmpfs $place; done
mkdir -p /usr/local/bin /usr/local/sbin
cp "$1/systemctl" /usr/local/sbin/systemctl
printf '#!/bin/sh\ncat /run/coffer.log\n' > /usr/local/sbin/journalctl
chmod 755 /usr/local/sbin/*
mount -t tmpfs -o mode=1777 tmpfs /tmp
cd /root
exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	bash -euo pipefail /media/story </dev/null
`

// standIn does for coffer.service what systemd would do with it, as far as the
// document needs it: it runs the unit's program as the unit's user.
const standIn = `#!/bin/bash
set -euo pipefail
unit=/etc/systemd/system/coffer.service
say() { sed -n "s/^$1=//p" "$unit"; }
running() { [ -s /run/coffer.pid ] && kill -0 "$(cat /run/coffer.pid)" 2>/dev/null; }
start() {
	running && return
	(umask 077; exec setsid setpriv --reuid="$(say User)" --regid="$(say Group)" --clear-groups \
		env HOME=/var/lib/coffer $(say ExecStart)) >>/run/coffer.log 2>&1 </dev/null &
	echo $! >/run/coffer.pid
	for _ in {1..200}; do
		running || { cat /run/coffer.log >&2; exit 1; }
		coffer health --data /var/lib/coffer >/dev/null 2>&1 && return
		sleep 0.05
	done
	echo "coffer.service does not get ready" >&2; cat /run/coffer.log >&2; exit 1
}
stop() {
	running || return 0
	kill "$(cat /run/coffer.pid)"
	while running; do sleep 0.05; done
}
case "$*" in
daemon-reload) ;;
"enable --now coffer" | "start coffer") start ;;
"stop coffer") stop ;;
"restart coffer") stop; start ;;
"reload coffer") kill -HUP "$(cat /run/coffer.pid)" ;;
*) echo "the stand-in for systemctl does not know: $*" >&2; exit 1 ;;
esac
`

// TestOperationsWork follows docs/operations.md: every block of commands as it is
// printed, in order, as root on a fresh machine, and what it shows as their output.
// "…" stands there for whatever is in a line, or alone in a line for any lines.
func TestOperationsWork(t *testing.T) {
	const name = "docs/operations.md"
	if os.Getenv("COFFER_SLOW") != "1" {
		t.Skip("COFFER_SLOW is not 1")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can follow it")
	}
	isolated := []string{"unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if out, err := exec.Command(isolated[0], append(isolated[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("here is no machine of its own to be had: %v %s", err, out)
	}
	blocks := blocksOf(t, name)
	dir := t.TempDir()
	layRelease(t, filepath.Join(dir, "release"))
	put(t, filepath.Join(dir, "systemctl"), standIn)
	put(t, filepath.Join(dir, "story"), story(blocks))

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, isolated[0], append(isolated[1:], "bash", "-euc", freshMachine, "machine", dir)...)
	out, err := cmd.CombinedOutput()
	printed := strings.Split(string(out), marker)
	ran := printed[1:]
	for i, b := range blocks {
		if len(ran) == 0 {
			break
		}
		if b.word != "sh" {
			continue
		}
		if os.Getenv("COFFER_SHOW") == "1" {
			t.Logf("%s:%d\n%s\n%s", name, b.line, b.text, ran[0])
		}
		if err != nil && len(ran) == 1 {
			t.Fatalf("%s:%d: %v\n%s\nprinted\n%s", name, b.line, err, b.text, ran[0])
		}
		if i+1 < len(blocks) && blocks[i+1].word == "output" && !shows(blocks[i+1].text, ran[0]) {
			t.Errorf("%s:%d: it shows\n%s\nbut\n%s\nprinted\n%s", name, blocks[i+1].line, blocks[i+1].text, b.text, ran[0])
		}
		ran = ran[1:]
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, printed[0])
	}
}

// marker stands before what a block printed.
const marker = "\n@@@ the next block\n"

// story is a script of all commands of a document.
func story(blocks []block) string {
	var b strings.Builder
	b.WriteString("exec 2>&1\ntrap '[ $? = 0 ] || { echo; echo its log ends with; tail -n 20 /run/coffer.log; }' EXIT\n")
	for _, block := range blocks {
		if block.word == "sh" {
			fmt.Fprintf(&b, "printf '%%b' '%s'\n%s", strings.ReplaceAll(marker, "\n", `\n`), block.text)
		}
	}
	return b.String()
}

// shows says whether what was printed is what the document shows.
func shows(shown, printed string) bool {
	var b strings.Builder
	b.WriteString(`^`)
	for line := range strings.Lines(shown) {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		words := strings.Split(line, "…")
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		b.WriteString(strings.Join(words, ".*") + ` *\n`)
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String()).MatchString(strings.TrimSpace(printed) + "\n")
}

// layRelease puts into a directory what is in a released archive.
func layRelease(t *testing.T, dir string) {
	t.Helper()
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "nomsgpack", "-o", filepath.Join(dir, "coffer"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	put(t, filepath.Join(dir, "config.example.yaml"), read(t, "config.example.yaml"))
	if err := os.CopyFS(filepath.Join(dir, "docs"), os.DirFS("docs")); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEveryFenceSaysWhatItIs keeps a command out of the documents that nobody tries
// because its fence lacks a word.
func TestEveryFenceSaysWhatItIs(t *testing.T) {
	known := []string{"sh", "output", "console", "text", "yaml", "ini"}
	for _, b := range blocksOf(t, "docs/operations.md") {
		if !slices.Contains(known, b.word) {
			t.Errorf("docs/operations.md:%d: the fence says %q, which is none of %v", b.line, b.word, known)
		}
	}
}

func TestShows(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\nc\n", false},
		{"a …\n", "a 17\n", true},
		{"a …\n", "b 17\n", false},
		{"a\n…\nz\n", "a\nb\nc\nz\n", true},
		{"a\n…\nz\n", "a\nb\nc\n", false},
		{"a\n", "a\nb\n", false},
	} {
		if got := shows(c.shown, c.printed); got != c.want {
			t.Errorf("%q shows %q: %v", c.shown, c.printed, got)
		}
	}
}
