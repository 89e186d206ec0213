package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// confirm asks and returns nil for yes. Without a terminal the answer must have
// been given as --yes.
func (c *console) confirm(ctx context.Context, format string, args ...any) error {
	if c.yes {
		return nil
	}
	question := printable(fmt.Sprintf(format, args...))
	if !c.canAsk() {
		return usagef("%s\nThere is no terminal to ask on. To go ahead, add --yes.", question)
	}
	fmt.Fprintf(c.err, "%s [y/N] ", question)
	reply, err := awaiting(ctx, func() (string, error) { return readLine(c.in) })
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(reply)) {
	case "y", "yes":
		return nil
	}
	return failf(exitError, "Nothing was changed.")
}

// choose asks for one of several answers and returns it in small letters.
func (c *console) choose(ctx context.Context, question string) (string, error) {
	fmt.Fprintf(c.err, "%s ", printable(question))
	reply, err := awaiting(ctx, func() (string, error) { return readLine(c.in) })
	return strings.ToLower(strings.TrimSpace(reply)), err
}

// hidden asks for a text that is not shown while it is typed.
func (c *console) hidden(ctx context.Context, question string) (string, error) {
	fd, ok := terminal(c.in)
	if !ok {
		return "", usagef("There is no terminal to ask on.")
	}
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	fmt.Fprint(c.err, question)
	text, err := awaiting(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	// When a signal came in between, the terminal would stay silent.
	_ = term.Restore(fd, before)
	fmt.Fprintln(c.err)
	return string(text), err
}

// newPassphrase asks for a new passphrase twice; it may be empty.
func (c *console) newPassphrase(ctx context.Context, question string) (string, error) {
	for {
		first, err := c.hidden(ctx, question)
		if err != nil || first == "" {
			return "", err
		}
		second, err := c.hidden(ctx, "Once more: ")
		if err != nil {
			return "", err
		}
		if first == second {
			return first, nil
		}
		c.note("They differ. Again, please.")
	}
}

// awaiting runs read, and gives up waiting for it when ctx ends: a read from a
// terminal cannot be called off.
func awaiting[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	came := make(chan result, 1)
	go func() {
		v, err := read()
		came <- result{v, err}
	}()
	select {
	case r := <-came:
		return r.v, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// readLine reads one line byte by byte, so that nothing behind it is lost.
func readLine(r io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' {
			return string(line), nil
		}
		line = append(line, one[:n]...)
		if errors.Is(err, io.EOF) {
			return string(line), nil
		}
		if err != nil {
			return "", err
		}
	}
}

const maxInput = 4 << 20

// readAll reads a file, or standard input for "-", up to a bound no honest
// input reaches.
func (c *console) readAll(name string) ([]byte, error) {
	if name == "-" {
		return readBounded(c.in, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, name)
}

func readBounded(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(bufio.NewReader(r), maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, failf(exitInvalid, "%s is larger than %d bytes.", name, maxInput)
	}
	return data, nil
}

// readSecretFile reads a password, passphrase or token from a file, or from
// standard input for "-", without its final line break.
func (c *console) readSecretFile(name string) (string, error) {
	data, err := c.readAll(name)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return "", failf(exitInvalid, "%s is empty.", name)
	}
	return text, nil
}

// working says on a terminal what takes so long, after a second. The function
// it returns ends that.
func (c *console) working(text string) (stop func()) {
	if _, ok := terminal(c.err); !ok {
		return func() {}
	}
	var mu sync.Mutex
	shown, over := false, false
	timer := time.AfterFunc(time.Second, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			shown = true
			fmt.Fprintf(c.err, "%s …", text)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if over = true; shown {
			fmt.Fprint(c.err, "\r\033[K")
		}
	}
}

// counting says on a terminal how far something is. The function stop ends that.
func (c *console) counting(text string) (show func(done, total int), stop func()) {
	if !c.canShow() {
		return func(int, int) {}, func() {}
	}
	shown := false
	show = func(done, total int) {
		shown = true
		fmt.Fprintf(c.err, "\r\033[K%s: %d of %d …", text, done, total)
	}
	return show, func() {
		if shown {
			fmt.Fprint(c.err, "\r\033[K")
		}
	}
}
