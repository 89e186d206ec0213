package audit

import (
	"fmt"
	"slices"

	"coffer/server/api"
)

// fault speaks against a verdict.
type fault struct {
	against, kind string
	at            place
	text          string // behind "record N"
}

// finding is a fault that counts: the first against its verdict.
type finding struct {
	pos int
	api.AuditFault
}

// blame keeps the fault if it stands before all others against its verdict.
func (j *Judge) blame(f fault) {
	what := fmt.Sprintf("Record %d", f.at.number)
	if f.at.number == 0 {
		what = "What stands here"
	}
	j.keep(f.at.pos, api.AuditFault{Against: f.against, Kind: f.kind, Number: f.at.number, Line: f.at.line, Detail: what + " " + f.text + "."})
}

func (j *Judge) keep(pos int, f api.AuditFault) {
	first := &j.intact
	if f.Against == api.VerdictComplete {
		first = &j.complete
	}
	if *first == nil || pos < (*first).pos {
		*first = &finding{pos, f}
	}
}

// Fault adds a fault, found by somebody else, that stands where the judge is.
func (j *Judge) Fault(f api.AuditFault) {
	j.pos++
	j.keep(j.pos, f)
}

// Foreign adds a record that has no business here.
func (j *Judge) Foreign(line int, number uint64, text string) {
	j.blame(fault{api.VerdictIntact, api.FaultForeign, place{j.pos, line, number}, text})
}

func missing(g gap) fault {
	text := "is missing"
	if g.to > g.from {
		text = fmt.Sprintf("and those up to %d are missing", g.to)
	}
	return fault{api.VerdictComplete, api.FaultMissing, place{g.seen.pos, g.seen.line, g.from}, text}
}

func reordered(g gap) fault {
	return fault{api.VerdictIntact, api.FaultReordered, g.seen, fmt.Sprintf("stands where record %d belongs", g.from)}
}

func cut(at place, last uint64) fault {
	text := "is missing at the end"
	if last > at.number {
		text = fmt.Sprintf("and those up to %d are missing at the end", last)
	}
	return fault{api.VerdictComplete, api.FaultCut, at, text}
}

// Sound reports whether nothing was found so far.
func (j *Judge) Sound() bool {
	return j.intact == nil && j.complete == nil && len(j.gaps) == 0 && j.unproven.count == 0
}

// Report writes the verdicts.
func (j *Judge) Report(r *api.AuditReport) {
	r.Intact, r.Complete = j.intact == nil, j.complete == nil
	r.Records, r.First, r.Last = j.Records, j.First, j.Last
	var found []*finding
	for _, f := range []*finding{j.intact, j.complete} {
		if f != nil {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b *finding) int { return a.pos - b.pos })
	r.Faults = make([]api.AuditFault, 0, len(found))
	for _, f := range found {
		r.Faults = append(r.Faults, f.AuditFault)
	}
}
