package stream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestOnlyPlacesThereAreAreOpened(t *testing.T) {
	for config, want := range map[string]string{
		"file:/var/log/audit.jsonl":     "/var/log/audit.jsonl",
		"syslog:unix:///dev/log":        "unixgram /dev/log",
		"syslog:udp://log.example:1514": "udp log.example:1514",
		"syslog:udp://log.example":      "udp log.example:514",
		"syslog:tcp://[2001:db8::1]":    "tcp [2001:db8::1]:601",
	} {
		target, err := Open(config)
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		got := ""
		switch target := target.(type) {
		case *file:
			got = target.path
		case *syslog:
			got = target.network + " " + target.address
		}
		if got != want {
			t.Errorf("%s: %s", config, got)
		}
	}
	for _, config := range []string{"", "file:", "file:relative", "file", "/var/log/x", "syslog:", "syslog:http://x", "syslog:udp://", "syslog:udp://x/path",
		"syslog:unix://", "syslog:unix://host/dev/log", "syslog:tcp://u:p@x", "kafka:x", "syslog:udp://x?y=z"} {
		if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "file:/path") {
			t.Errorf("%q: %v", config, err)
		}
	}
}

// lines is a batch of lines with these names.
func lines(names ...string) Batch {
	b := Batch{Opens: []byte("opens\n"), Closes: []byte("closes\n")}
	for _, name := range names {
		b.Lines = append(b.Lines, Line{Text: []byte(name + "\n"), Message: []byte(`{"n":"` + name + `"}`), Short: []byte("{}"), Name: name,
			Warning: name == "access_denied", At: time.Date(2026, 11, 20, 9, 15, 0, 123_000_000, time.UTC)})
	}
	return b
}

func send(t *testing.T, target Target, b Batch) {
	t.Helper()
	n, err := target.Send(t.Context(), b)
	if err == nil {
		err = target.Sync()
	}
	if err != nil || n != len(b.Lines) {
		t.Fatalf("%d of %d lines were taken: %v", n, len(b.Lines), err)
	}
}

func aFile(t *testing.T) (Target, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	target, err := Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target, path
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

func TestAFileIsFollowedWhereItGoes(t *testing.T) {
	target, path := aFile(t)
	send(t, target, lines("a", "b"))
	send(t, target, lines("c"))
	holds(t, path, "opens\na\nb\nc\n")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it may be read by others: %v, %v", info.Mode(), err)
	}
	// Moved away, as logrotate does.
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	send(t, target, lines("d"))
	holds(t, path+".1", "opens\na\nb\nc\ncloses\n")
	holds(t, path, "opens\nd\n")
	// Emptied in place, as it does with copytruncate.
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	send(t, target, lines("e"))
	holds(t, path, "opens\ne\n")
	// Removed.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	send(t, target, lines("f"))
	holds(t, path, "opens\nf\n")
	// Opened again.
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	send(t, target, lines("g"))
	holds(t, path, "opens\nf\ng\n")
}

func TestALineThatACrashCutOffIsWrittenAgain(t *testing.T) {
	for before, after := range map[string]string{
		"a\n{\"number\":7,":  "a\nb\n",
		"{\"format\":\"coff": "opens\nb\n",
		"somebody else's":    "somebody else's\nb\n",
		"a\n":                "a\nb\n",
	} {
		target, path := aFile(t)
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		send(t, target, lines("b"))
		holds(t, path, after)
	}
}

func TestAFileThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	target, err := Open("file:" + filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := target.Send(t.Context(), lines("a")); n != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d, %v", n, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	send(t, target, lines("a"))
	holds(t, filepath.Join(dir, "audit.jsonl"), "opens\na\n")
	_ = target.Close()
}

var message = regexp.MustCompile(`^<(\d+)>1 2026-11-20T09:15:00\.123Z \S+ coffer \d+ (\S+) - (.*)$`)

func checkMessage(t *testing.T, got, priority, name, text string) {
	t.Helper()
	m := message.FindStringSubmatch(got)
	if m == nil || m[1] != priority || m[2] != name || m[3] != text {
		t.Errorf("got %q", got)
	}
}

func datagrams(t *testing.T, network, address string) (net.PacketConn, string) {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, c.LocalAddr().String()
}

func receive(t *testing.T, c net.PacketConn) string {
	t.Helper()
	b := make([]byte, 1<<16)
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, _, err := c.ReadFrom(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestSyslogByDatagrams(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "log")
	udp, address := datagrams(t, "udp", "127.0.0.1:0")
	unix, _ := datagrams(t, "unixgram", socket)
	for config, c := range map[string]net.PacketConn{"syslog:udp://" + address: udp, "syslog:unix://" + socket: unix} {
		target, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		b := lines("secrets_pulled", "access_denied", "large one")
		b.Lines[2].Message = bytes.Repeat([]byte("x"), maxDatagram)
		b.Lines = append(b.Lines, Line{Text: []byte("for files only\n")})
		send(t, target, b)
		checkMessage(t, receive(t, c), "110", "secrets_pulled", `{"n":"secrets_pulled"}`)
		checkMessage(t, receive(t, c), "108", "access_denied", `{"n":"access_denied"}`)
		checkMessage(t, receive(t, c), "110", "largeone", `{}`)
		_ = target.Close()
	}
}

// server takes messages over TCP as RFC 6587 frames them.
type server struct {
	net.Listener
	got chan string
}

func newServer(t *testing.T, address string) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &server{l, make(chan string, 100)}
}

// serve takes so many messages of one connection, then closes it.
func (s *server) serve(messages int) {
	c, err := s.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for range messages {
		count, err := r.ReadString(' ')
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(strings.TrimSpace(count))
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return
		}
		s.got <- string(b)
	}
}

func TestSyslogOverTCPComesBack(t *testing.T) {
	s := newServer(t, "127.0.0.1:0")
	target, err := Open("syslog:tcp://" + s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for round := range 3 {
		done := make(chan bool)
		go func() { s.serve(2); close(done) }()
		send(t, target, lines(fmt.Sprint("a", round), "b"))
		checkMessage(t, <-s.got, "110", fmt.Sprint("a", round), fmt.Sprintf(`{"n":"a%d"}`, round))
		checkMessage(t, <-s.got, "110", "b", `{"n":"b"}`)
		<-done // the server went away, and comes back
		time.Sleep(10 * time.Millisecond)
	}
	_ = s.Close()
	time.Sleep(10 * time.Millisecond)
	if n, err := target.Send(t.Context(), lines("c")); err == nil || n != 0 {
		t.Errorf("nobody is there: %d, %v", n, err)
	}
}

func TestWhoeverStopsDoesNotWait(t *testing.T) {
	s := newServer(t, "127.0.0.1:0") // accepts nobody, so that buffers fill
	target, err := Open("syslog:tcp://" + s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	b := lines()
	for range 2000 {
		b.Lines = append(b.Lines, Line{Message: bytes.Repeat([]byte("x"), 30<<10), Name: "n"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if n, err := target.Send(ctx, b); err == nil || n == 2000 {
		t.Errorf("%d, %v", n, err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestNoMessageBreaksItsFrame: whatever a name holds, the header stays a header.
func TestNoMessageBreaksItsFrame(t *testing.T) {
	s := newSyslog("udp", "x")
	l := lines("a b\n<1>1 \x00é" + strings.Repeat("n", 100)).Lines[0]
	checkMessage(t, string(s.message(l, []byte("text"))), "110", "ab<1>1"+strings.Repeat("n", 26), "text")
	l.Name = "é"
	checkMessage(t, string(s.message(l, []byte("text"))), "110", "-", "text")
}
