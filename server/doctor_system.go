package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
)

// hardening is what the last Harden of this process reported, nil before.
var hardening atomic.Pointer[warden.Hardening]

// Harden keeps the memory of this process to itself as far as the system
// allows, and reports what could not be done.
func Harden() []string {
	h := warden.Harden()
	hardening.Store(&h)
	return h.Missing()
}

func (s *Server) examineMemory(context.Context) (all []api.Diagnosis) {
	h := hardening.Load()
	if h == nil {
		return nil // only a server hardens itself
	}
	if !h.Locked {
		all = append(all, warning("The system gives no locked memory, so the root key may be swapped to the disk.",
			"Allow the service some (LimitMEMLOCK=64K in its unit, --ulimit memlock=65536 for a container), or turn swap off or encrypt it."))
	}
	if !h.NoCore {
		all = append(all, warning("Core dumps could not be turned off: a crash may write keys to the disk.", "Set LimitCORE=0 in the service's unit."))
	}
	if !h.NotDumpable {
		all = append(all, warning("Other processes of the server's user may read its memory on this system.", "Let the server have a user of its own, and run nothing else as it."))
	}
	if len(all) == 0 {
		all = append(all, fine(fmt.Sprintf("The root key is in memory of its own (%s) that is never swapped, and a crash leaves no core dump.", h.Memory)))
	}
	return all
}

// fewFiles is how many open files are too few for a server with many clients.
const fewFiles = 4096

func (s *Server) examineLimits(context.Context) []api.Diagnosis {
	most, ok := openFiles()
	switch {
	case !ok:
		return nil
	case most < fewFiles:
		return []api.Diagnosis{warning(fmt.Sprintf("This process may have %d files open. Each client takes one, and those beyond are turned away.", most),
			"Set LimitNOFILE=65536 in the service's unit.")}
	}
	return []api.Diagnosis{fine(fmt.Sprintf("This process may have %d files open.", most))}
}

// behind is by how much the clock may be behind the newest record.
const behind = 5 * time.Minute

func (s *Server) examineClock(ctx context.Context) (all []api.Diagnosis) {
	now := s.warden.Now()
	if f, err := s.warden.Figures(ctx); err == nil && f.Newest.Sub(now) > behind {
		all = append(all, problem(fmt.Sprintf("The clock says %s, which is %s before the newest record of the audit log (%s). Either it is behind now, or it was ahead then.", stamp(now), span(f.Newest.Sub(now)), stamp(f.Newest)),
			"Set it right (timedatectl). If it was ahead then: sign-ins and keys of that time live longer than meant, so end them (coffer sessions, coffer keys)."))
	}
	if left := s.jobs.Leap(); left > 0 {
		all = append(all, problem(fmt.Sprintf("The clock leapt ahead to %s. Nothing is removed for the next %s, in case that is wrong.", stamp(now), span(left)),
			"Set it right (timedatectl). If it is right, run one of the jobs that remove by hand, on the page Operator."))
	}
	if drift := s.drift(now); drift.Abs() > time.Hour {
		all = append(all, warning(fmt.Sprintf("The clock was set by %s since the server started.", span(drift.Abs())), "Is the time service running? timedatectl says so."))
	}
	if synced, known := clockSynced(); known && !synced {
		all = append(all, warning("The system says that its clock is not synchronized with any time service.", "Turn one on: timedatectl set-ntp true, or chrony."))
	}
	if len(all) == 0 {
		all = append(all, fine("The clock says "+stamp(now)+", which fits what was recorded."))
	}
	return all
}

// drift is by how much the wall clock moved against the process's own clock.
func (s *Server) drift(now time.Time) time.Duration {
	return now.Round(0).Sub(s.started.Round(0)) - time.Since(s.begun)
}

// span is a time between two for people.
func span(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}} {
		if n := d.Round(unit.size) / unit.size; n >= 2 {
			return fmt.Sprintf("%d %s", n, unit.name)
		}
	}
	return count(int(max(d.Round(time.Minute)/time.Minute, 1)), "minute", "minutes")
}
