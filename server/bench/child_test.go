//go:build unix

package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childRole is the environment variable that makes the test binary serve
// instead of test; its value is the role.
const childRole = "COFFER_BENCH_ROLE"

// child is a serving process. It answers one line to each line that it is told.
type child struct {
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// startChild starts the test binary in a role, with settings for it in its
// environment, and ends it with the benchmark.
func startChild(b testing.TB, role string, settings ...string) *child {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := &child{cmd: exec.Command(self)}
	c.cmd.Env = append(append(os.Environ(), childRole+"="+role), settings...)
	c.cmd.Stderr = os.Stderr
	var out io.Reader
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if c.addr, err = c.line(); err != nil {
		b.Fatalf("the %s did not start: %v", role, err)
	}
	b.Cleanup(func() {
		if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
			b.Errorf("the %s did not end well: %v", role, err)
		}
	})
	return c
}

func (c *child) line() (string, error) {
	text, err := c.out.ReadString('\n')
	return strings.TrimSuffix(text, "\n"), err
}

// tell says one line to the child and returns what it answers.
func (c *child) tell(line string) (string, error) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		return "", err
	}
	return c.line()
}

// processorTime is what the child has used so far.
func (c *child) processorTime() (time.Duration, error) {
	text, err := c.tell("time")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(n), err
}

// processorTime is the user and system time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// obey is the child's side: it says where it serves, then does what it is told
// until nobody is left to tell it anything.
func obey(addr string, others func(line string) (string, error)) error {
	fmt.Println(addr)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		answer, err := "", error(nil)
		switch verb, rest, _ := strings.Cut(lines.Text(), " "); verb {
		case "time":
			answer = strconv.FormatInt(int64(processorTime()), 10)
		case "profile":
			err = startProfile(rest)
		case "profiled":
			pprof.StopCPUProfile()
		default:
			answer, err = others(lines.Text())
		}
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return lines.Err()
}

// startProfile lets the file be closed with the process.
func startProfile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}
