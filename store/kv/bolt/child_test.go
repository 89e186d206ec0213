package bolt

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"coffer/store/kv"
)

const (
	childEnv   = "COFFER_BOLT_CHILD" // what the test binary does instead of testing
	childPath  = "COFFER_BOLT_PATH"
	childHold  = "hold"
	childWrite = "write"
	childSwap  = "swap" // write, and rewrite the file all the time

	crashWriters = 8
)

// childMain turns the test binary into a second process, when it was started as
// one, and does not return then.
func childMain() {
	job := os.Getenv(childEnv)
	if job == "" {
		return
	}
	d, err := Open(os.Getenv(childPath), Options{})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	switch job {
	case childHold:
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		d.Close()
	case childWrite:
		writeForever(d)
	case childSwap:
		go rewriteForever(d)
		writeForever(d)
	}
	os.Exit(0)
}

// writeForever writes pairs of keys that belong together, and reports each pair
// after it was acknowledged.
func writeForever(d *DB) {
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() {
			for n := nextSeq(d, w); ; n++ {
				err := d.Update(background, func(tx kv.Tx) error { return putPair(tx, w, n) })
				if err != nil {
					fmt.Println("error:", err)
					os.Exit(1)
				}
				// One write system call, so lines of several writers do not mix.
				os.Stdout.WriteString(fmt.Sprintf("%d %d\n", w, n))
			}
		})
	}
	wg.Wait()
}

func rewriteForever(d *DB) {
	for {
		if _, err := d.Rewrite(background, nil); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
}

func pairKey(side string, w, n int) []byte { return fmt.Appendf(nil, "%s/%02d/%09d", side, w, n) }

func putPair(tx kv.Tx, w, n int) error {
	value := strconv.Itoa(n)
	for _, side := range []string{"left", "right"} {
		if err := tx.Put(pairKey(side, w, n), []byte(value)); err != nil {
			return err
		}
	}
	// Some churn, so that pages are freed and used again.
	if n%4 == 3 {
		return tx.Put(fmt.Appendf(nil, "churn/%02d", w), make([]byte, n%9000))
	}
	return nil
}

func nextSeq(d *DB, w int) (n int) {
	_ = d.View(background, func(r kv.Reader) error {
		g := kv.Prefix(fmt.Appendf(nil, "left/%02d/", w))
		g.Reverse, g.Limit = true, 1
		return r.Scan(g, func(_, v []byte) (err error) {
			n, err = strconv.Atoi(string(v))
			n++
			return err
		})
	})
	return n
}

func child(t *testing.T, job, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, "-test.run=^$")
	c.Env = append(os.Environ(), childEnv+"="+job, childPath+"="+path)
	c.Stderr = os.Stderr
	return c
}
