//go:build unix

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program builds coffer as it is released, once.
func program(b testing.TB) string {
	b.Helper()
	if templates.program != "" {
		return templates.program
	}
	path := filepath.Join(templateDir(b), "coffer")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "nomsgpack", "-o", path, "coffer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	templates.program = path
	return path
}

// serving is a running program.
type serving struct {
	cmd  *exec.Cmd
	took time.Duration // from exec to the first 200 of /ready
}

// serve starts the program on data and waits until it is ready.
func serve(b testing.TB, path string, d *data) *serving {
	b.Helper()
	addr := freeAddress(b)
	s := &serving{cmd: exec.Command(path, "serve", "--data", d.Dir, "--listen", addr)}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COFFER_") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Env = append(s.cmd.Env, "COFFER_LIMITS_BULK=off", "COFFER_LIMITS_GENERAL=off")
	var log bytes.Buffer
	s.cmd.Stderr = &log
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if err := awaitReady(addr, start.Add(time.Minute)); err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		b.Fatalf("%v: %s", err, log.String())
	}
	s.took = time.Since(start)
	return s
}

func (s *serving) stop(b testing.TB) {
	b.Helper()
	if err := errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait()); err != nil {
		b.Error(err)
	}
}

func freeAddress(b testing.TB) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitReady(addr string, end time.Time) error {
	ready := newRequest("GET", "/ready", "", nil)
	for time.Now().Before(end) {
		if c, err := dial(addr); err == nil {
			status, err := c.send(ready)
			_ = c.Close()
			if err == nil && status == 200 {
				return nil
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
	return errors.New("it did not become ready")
}

// kill ends the program as a crash or a power failure would.
func (s *serving) kill(b testing.TB) {
	b.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		b.Error(err)
	}
	_ = s.cmd.Wait()
}

// BenchmarkStart measures from exec of the program to the first 200 of /ready,
// after an orderly end and after a crash. The large file is measured with its
// pages in memory and, where this process may drop them, without.
func BenchmarkStart(b *testing.B) {
	path := program(b)
	for _, c := range []struct {
		name  string
		l     layout
		cold  bool
		crash bool
		most  float64 // ms
	}{
		{"small", smallLayout, false, false, 15},
		{"small/crashed", smallLayout, false, true, 0},
		{"large", largeLayout, false, false, 500},
		{"large/cold", largeLayout, true, false, 0},
		{"large/crashed", largeLayout, false, true, 0},
		{"large/crashed/cold", largeLayout, true, true, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := ofLayout(b, c.l)
			if c.l == smallLayout {
				d = d.copy(b)
			}
			end := (*serving).stop
			if c.crash {
				end = (*serving).kill
			}
			benchStart(b, starts{path, d, c.cold, func(s *serving) { end(s, b) }, c.most})
		})
	}
}

// starts is how a program is started again and again.
type starts struct {
	path string
	*data
	cold bool
	end  func(*serving)
	most float64
}

func benchStart(b *testing.B, s starts) {
	s.end(serve(b, s.path, s.data))
	var all []float64
	for b.Loop() {
		if s.cold {
			syscall.Sync()
			if err := dropPages(); err != nil {
				b.Skip(err)
			}
		}
		p := serve(b, s.path, s.data)
		all = append(all, float64(p.took.Microseconds())/1e3)
		s.end(p)
	}
	recordFigure(b, figure{what: b.Name(), unit: "ms", value: spreadOf(all).mid, most: s.most})
}

func dropPages() error {
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0)
}

// BenchmarkIdleMemory reads the anonymous memory of the program after two
// seconds without a request: freshly started, and after a load.
func BenchmarkIdleMemory(b *testing.B) {
	path := program(b)
	b.Run("small", func(b *testing.B) { benchIdle(b, path, ofLayout(b, smallLayout).copy(b), 16) })
	b.Run("large", func(b *testing.B) { benchIdle(b, path, ofLayout(b, largeLayout), 60) })
}

func benchIdle(b *testing.B, path string, d *data, most float64) {
	var fresh, used []float64
	for b.Loop() {
		s := serve(b, path, d)
		time.Sleep(2 * time.Second)
		fresh = append(fresh, anonymousMiB(b, s.cmd.Process.Pid))
		work(b, s, d)
		time.Sleep(2 * time.Second)
		used = append(used, anonymousMiB(b, s.cmd.Process.Pid))
		s.stop(b)
	}
	recordFigure(b, figure{what: b.Name(), unit: "MiB", value: spreadOf(fresh).mid, most: most})
	recordFigure(b, figure{what: b.Name() + "/afterload", unit: "MiB-after-load", value: spreadOf(used).mid})
}

// work lets 32 clients pull for a second.
func work(b *testing.B, s *serving, d *data) {
	b.Helper()
	addr := s.cmd.Args[len(s.cmd.Args)-1]
	l, err := newLoad(addr, wanderers(d, "pull10", 32, d.Vaults))
	if err == nil {
		_, err = l.run(time.Second)
	}
	if err == nil {
		err = l.close()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func anonymousMiB(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "RssAnon:" {
			kib, err := strconv.ParseFloat(words[1], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Skip("the system does not tell anonymous memory apart")
	return 0
}

// BenchmarkBinary reports the size of the program.
func BenchmarkBinary(b *testing.B) {
	fi, err := os.Stat(program(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		continue
	}
	recordFigure(b, figure{what: b.Name(), unit: "MB", value: float64(fi.Size()) / 1e6, most: 20})
}
