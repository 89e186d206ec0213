package bolt

import (
	"sync/atomic"
	"time"
)

// Stats is how writing went since Open.
type Stats struct {
	Commits uint64        // that wrote something, each with one sync of the disk
	Failed  uint64        // of them, that the disk or the size limit refused
	Updates uint64        // that went into commits: their number by commits is how well they gather
	Took    time.Duration // of all commits together
	Stopped bool          // nothing is written any more until a restart: the disk failed
}

// stats are counted by whoever leads, and read by anybody.
type stats struct {
	commits, failed, updates atomic.Uint64
	took                     atomic.Int64
}

func (s *stats) note(updates int, took time.Duration, err error) {
	s.commits.Add(1)
	s.updates.Add(uint64(updates))
	s.took.Add(int64(took))
	if err != nil {
		s.failed.Add(1)
	}
}

// Stats tells how writing went.
func (d *DB) Stats() Stats {
	return Stats{
		Commits: d.stats.commits.Load(), Failed: d.stats.failed.Load(), Updates: d.stats.updates.Load(),
		Took: time.Duration(d.stats.took.Load()), Stopped: d.bad.Load() != nil || d.stuck.Load() != nil,
	}
}
