package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// syslog sends messages of RFC 5424: one in a datagram, or counted by octets over
// TCP as RFC 6587 has it. Nobody acknowledges them: accepted means that the system
// took them.
type syslog struct {
	network, address string
	host             string
	conn             net.Conn
}

const (
	syslogPatience = 5 * time.Second
	// Receivers commonly take that much: a datagram is cut or dropped beyond.
	maxDatagram = 8 << 10
	maxFrame    = 64 << 10

	facilityAudit   = 13 // log audit
	severityWarning = 4
	severityInfo    = 6
)

func newSyslog(network, address string) *syslog {
	host, _ := os.Hostname()
	return &syslog{network: network, address: address, host: header(host, 255)}
}

func (t *syslog) Send(ctx context.Context, b Batch) (int, error) {
	if err := t.dial(ctx); err != nil {
		return 0, err
	}
	// Who must stop does not wait for the network.
	conn := t.conn
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	for i, l := range b.Lines {
		if l.Message == nil {
			continue
		}
		if err := t.send(ctx, l); err != nil {
			_ = t.Close()
			return i, fmt.Errorf("send to syslog at %s: %w", t.address, err)
		}
	}
	return len(b.Lines), nil
}

func (t *syslog) dial(ctx context.Context) error {
	if t.conn != nil && t.gone() {
		_ = t.Close()
	}
	if t.conn != nil {
		return nil
	}
	d := net.Dialer{Timeout: syslogPatience}
	conn, err := d.DialContext(ctx, t.network, t.address)
	if err != nil {
		return fmt.Errorf("reach syslog at %s: %w", t.address, err)
	}
	t.conn = conn
	return nil
}

// gone reports whether the other side closed a connection. Writing to such a one
// succeeds once, and loses what is written.
func (t *syslog) gone() bool {
	if t.network != "tcp" {
		return false
	}
	_ = t.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := t.conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func (t *syslog) send(ctx context.Context, l Line) error {
	_ = t.conn.SetWriteDeadline(time.Now().Add(syslogPatience))
	if err := ctx.Err(); err != nil {
		return err
	}
	limit := maxDatagram
	if t.network == "tcp" {
		limit = maxFrame
	}
	text := t.message(l, l.Message)
	if len(text) > limit {
		text = t.message(l, l.Short)
	}
	err := t.write(text)
	if errors.Is(err, syscall.EMSGSIZE) {
		err = t.write(t.message(l, l.Short))
	}
	return err
}

func (t *syslog) write(text []byte) error {
	if t.network == "tcp" {
		text = append(strconv.AppendInt(nil, int64(len(text)), 10), append([]byte{' '}, text...)...)
	}
	_, err := t.conn.Write(text)
	return err
}

func (t *syslog) message(l Line, text []byte) []byte {
	severity := severityInfo
	if l.Warning {
		severity = severityWarning
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<%d>1 %s %s coffer %d %s - ", facilityAudit*8+severity,
		l.At.UTC().Format("2006-01-02T15:04:05.000Z"), t.host, os.Getpid(), header(l.Name, 32))
	b.Write(text)
	return b.Bytes()
}

// header is s as a field of a message's header may be: printable, without
// blanks, and not empty.
func header(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s[:min(len(s), most)]
}

// Sync does nothing: nobody says when a message is kept.
func (t *syslog) Sync() error { return nil }

func (t *syslog) Close() error {
	if t.conn == nil {
		return nil
	}
	err := t.conn.Close()
	t.conn = nil
	return err
}
