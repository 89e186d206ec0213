package contracttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// testBinary builds the program, serves with it, and runs this test binary again
// with the flags that it has, against that instance. It returns its exit code.
func testBinary() int {
	code, err := runAgainstBinary(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func runAgainstBinary(ctx context.Context) (code int, err error) {
	dir, err := os.MkdirTemp("", "coffer-contract")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, data, keyFile := filepath.Join(dir, "coffer"), filepath.Join(dir, "data"), filepath.Join(dir, "unseal.key")
	for _, c := range []*exec.Cmd{
		exec.CommandContext(ctx, "go", "build", "-o", program, "coffer"),
		exec.CommandContext(ctx, program, "init", "--data", data, "--key-file", keyFile),
	} {
		c.Env = cleanEnvironment()
		if out, err := c.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
		}
	}
	url, stop, err := serveWith(ctx, program, "--data", data, "--key-file", keyFile)
	if err != nil {
		return 1, err
	}
	// Without this log the go command does not take the result for one that
	// depends on nothing but this package's sources.
	flags := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(flag string) bool { return strings.HasPrefix(flag, "-test.testlogfile=") })
	again := exec.CommandContext(ctx, os.Args[0], flags...)
	again.Env = append(cleanEnvironment(), "COFFER_TEST_URL="+url, "COFFER_TEST_DATA="+data)
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	err = again.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code, err = failed.ExitCode(), nil
	}
	return code, errors.Join(err, stop())
}

// serveWith runs the program's server without limits on an address of this
// machine. stop ends it, and fails if it did not end well or if its log tells of
// an internal error.
func serveWith(ctx context.Context, program string, args ...string) (url string, stop func() error, err error) {
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--json", "--log-level", "warn", "--log-format", "json"}, args...)
	for _, bucket := range []string{"general", "bulk", "value", "verify", "poll", "login", "ui"} {
		args = append(args, "--limits-"+bucket, "off")
	}
	c := exec.CommandContext(ctx, program, args...)
	var log bytes.Buffer
	c.Env, c.Stderr, c.WaitDelay = cleanEnvironment(), &log, time.Minute
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait())
		if err != nil || strings.Contains(log.String(), `"level":"ERROR"`) {
			return errors.Join(err, fmt.Errorf("the server's log:\n%s", log.String()))
		}
		return nil
	}
	var served struct{ URL, State string }
	if err := json.NewDecoder(out).Decode(&served); err != nil || served.State != "ok" {
		return "", nil, errors.Join(fmt.Errorf("the server came up as %+v: %w", served, err), stop())
	}
	return served.URL, stop, nil
}

// cleanEnvironment is ours without what would configure the program.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "COFFER_") })
}
