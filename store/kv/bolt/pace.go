package bolt

import (
	"io"
	"os"
	"time"
)

// A copy of everything reads and writes as much in a few seconds as a server does in
// days. Done at once, it takes the processors, and whoever waits for an fsync waits
// for the copy's gigabytes too: pulls became 13 times slower. So it works in small
// pieces, has each of them on the disk before long, and rests after each for several
// times as long as that took. On a busy machine it takes longer and so rests longer.
const (
	pieceSize = 256 << 10
	restTimes = 5
	longest   = 40 * time.Millisecond // rest, because a slow receiver is no busy machine
	syncEvery = 2 << 20               // bytes that wait to be on the disk
)

// pace says when to rest.
type pace struct {
	began time.Time
	n     int
}

// did takes note of n bytes, and rests if it is time to.
func (p *pace) did(n int) {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	if p.n += n; p.n < pieceSize {
		return
	}
	time.Sleep(min(restTimes*time.Since(p.began), longest))
	p.began, p.n = time.Now(), 0
}

// pacedFile is a file that is written and read at a pace.
type pacedFile struct {
	f        *os.File
	pace     pace
	unsynced int
}

func (p *pacedFile) Write(b []byte) (int, error) {
	n, err := p.f.Write(b)
	if p.unsynced += n; err == nil && p.unsynced >= syncEvery {
		p.unsynced, err = 0, p.f.Sync()
	}
	p.pace.did(n)
	return n, err
}

func (p *pacedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := p.f.ReadAt(b, at)
	p.pace.did(n)
	return n, err
}

var (
	_ io.Writer   = (*pacedFile)(nil)
	_ io.ReaderAt = (*pacedFile)(nil)
)
