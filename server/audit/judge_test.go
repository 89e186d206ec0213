package audit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"coffer/server/api"
)

// TestTheFirstFaultStandsWhereItSays drops, moves and repeats records at random,
// and compares with what a look at the whole sequence says.
func TestTheFirstFaultStandsWhereItSays(t *testing.T) {
	l := newTestLog("ours", 30)
	for range 3000 {
		order := make([]uint64, len(l.records))
		for i := range order {
			order[i] = uint64(i + 1)
		}
		for range rand.IntN(4) {
			i, k := rand.IntN(len(order)), rand.IntN(len(order))
			switch rand.IntN(3) {
			case 0:
				order = slices.Delete(order, i, i+1)
			case 1:
				order[i], order[k] = order[k], order[i]
			case 2:
				order = slices.Insert(order, i, order[k])
			}
		}
		r := judged(l, order)
		intact, complete := looked(order, uint64(len(l.records)))
		got := map[string]int{}
		for _, f := range r.Faults {
			got[f.Against] = f.Line
		}
		if r.Intact != (intact == 0) || got[api.VerdictIntact] != intact || r.Complete != (complete == 0) || got[api.VerdictComplete] != complete {
			t.Fatalf("%v: %s; should be in lines %d and %d", order, verdict(r), intact, complete)
		}
	}
}

func judged(l *testLog, order []uint64) *api.AuditReport {
	var j Judge
	j.Begin(0, 0, Link{})
	for i, n := range order {
		r := l.records[n-1]
		j.Record(Step{Line: i + 1, Place: n, Number: n, Prev: Link(r.Prev), Link: Link(r.Link)})
	}
	last := l.records[len(l.records)-1]
	j.End(len(order)+1, last.Number, last.Number, Link(last.Link))
	j.Finish(len(order)+1, "no end")
	var r api.AuditReport
	j.Report(&r)
	return &r
}

// looked is in which lines the first faults stand, 0 for none.
func looked(order []uint64, last uint64) (intact, complete int) {
	note := func(first *int, line int) {
		if *first == 0 || line < *first {
			*first = line
		}
	}
	beyond := func(n uint64) int { // the line of the first record behind n
		i := slices.IndexFunc(order, func(other uint64) bool { return other > n })
		if i < 0 {
			i = len(order)
		}
		return i + 1
	}
	for i, n := range order {
		if slices.Contains(order[:i], n) {
			note(&intact, i+1)
		} else if beyond(n) < i+1 {
			note(&intact, beyond(n))
		}
	}
	for n := uint64(1); n <= last; n++ {
		if !slices.Contains(order, n) {
			note(&complete, beyond(n))
		}
	}
	return intact, complete
}

// TestManyGapsCostNoMemory: what is forgotten is still a fault.
func TestManyGapsCostNoMemory(t *testing.T) {
	var j Judge
	j.Begin(0, 0, Link{})
	for n := uint64(2); n < 20*maxGaps; n += 2 {
		j.Record(Step{Place: n, Number: n})
	}
	if len(j.gaps) > maxGaps {
		t.Errorf("%d gaps are remembered", len(j.gaps))
	}
	j.Record(Step{Place: 20*maxGaps - 3, Number: 20*maxGaps - 3})
	j.Finish(0, "no end")
	var r api.AuditReport
	if j.Report(&r); r.Intact || r.Complete {
		t.Error(verdict(&r))
	}
}
