//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// request is a whole HTTP/1.1 request as it goes over the wire, made before the
// clock runs.
type request []byte

func newRequest(method, target, token string, body []byte) request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: coffer.example\r\nUser-Agent: coffer-bench/1\r\nAccept: application/json\r\n", method, target)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	if body != nil {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// conn is one keep-alive client. net/http's costs more than the handlers that
// are measured; this one costs one write, one read and no allocation.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReaderSize(c, 64<<10)}, nil
}

// send asks and passes over the answer's body. It knows only answers that say
// their length.
func (c *conn) send(r request) (status int, err error) {
	status, length, err := c.begin(r)
	if err == nil {
		_, err = c.r.Discard(length)
	}
	return status, err
}

// fetch asks and returns the answer's body.
func (c *conn) fetch(r request) (status int, body []byte, err error) {
	status, length, err := c.begin(r)
	if err == nil {
		body = make([]byte, length)
		_, err = io.ReadFull(c.r, body)
	}
	return status, body, err
}

func (c *conn) begin(r request) (status, length int, err error) {
	if _, err = c.Write(r); err != nil {
		return 0, 0, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("not an answer: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	length = -1
	for len(line) > 2 {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		const name = "content-length:"
		if len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return 0, 0, err
			}
		}
	}
	if length < 0 && status != 204 {
		return status, 0, errors.New("the answer does not say its length")
	}
	return status, max(length, 0), nil
}

// sample is what came of one stretch of load.
type sample struct {
	requests int
	elapsed  time.Duration
	p50, p99 time.Duration
	server   time.Duration // processor time of the serving process
	load     time.Duration // processor time of this process
}

func (s sample) perSecond() float64 { return float64(s.requests) / s.elapsed.Seconds() }

func (s sample) serverMicros() float64 {
	return float64(s.server.Nanoseconds()) / 1e3 / float64(s.requests)
}

func (s sample) loadMicros() float64 {
	return float64(s.load.Nanoseconds()) / 1e3 / float64(s.requests)
}

// script is what one client asks, round and round.
type script []request

// load keeps one connection for each script busy for a time.
type load struct {
	conns   []*conn
	scripts []script
	at      []int             // where each client is in its script
	took    [][]time.Duration // kept between stretches
}

func newLoad(addr string, scripts []script) (*load, error) {
	l := &load{scripts: scripts, at: make([]int, len(scripts)), took: make([][]time.Duration, len(scripts))}
	for range scripts {
		c, err := dial(addr)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.conns = append(l.conns, c)
	}
	return l, nil
}

func (l *load) close() (err error) {
	for _, c := range l.conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// run asks for about d and waits for the last answers.
func (l *load) run(d time.Duration) (sample, error) {
	failed := make(chan error, len(l.conns))
	before, start := processorTime(), time.Now()
	var clients sync.WaitGroup
	for i := range l.conns {
		clients.Go(func() {
			if err := l.client(i, start.Add(d)); err != nil {
				failed <- err
			}
		})
	}
	clients.Wait()
	s := sample{elapsed: time.Since(start), load: processorTime() - before}
	close(failed)
	if err := <-failed; err != nil {
		return s, err
	}
	all := slices.Concat(l.took...)
	slices.Sort(all)
	s.requests = len(all)
	s.p50, s.p99 = all[len(all)/2], all[len(all)*99/100]
	return s, nil
}

func (l *load) client(i int, end time.Time) error {
	c, requests, took := l.conns[i], l.scripts[i], l.took[i][:0]
	defer func() { l.took[i] = took }()
	for now := time.Now(); now.Before(end); {
		r := requests[l.at[i]]
		l.at[i] = (l.at[i] + 1) % len(requests)
		status, err := c.send(r)
		if err != nil {
			return err
		}
		if status/100 != 2 {
			line, _, _ := bytes.Cut(r, []byte("\r\n"))
			return fmt.Errorf("%s: status %d", line, status)
		}
		then := time.Now()
		took = append(took, then.Sub(now))
		now = then
	}
	return nil
}
