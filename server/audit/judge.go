package audit

import (
	"slices"

	"coffer/server/api"
)

// Step is a record that is what its link says.
type Step struct {
	Line       int    // where it stands in a file; 0 in a database
	Place      uint64 // its number in what is judged: the log, or the records of one vault
	Number     uint64 // its number in the log
	Prev, Link Link
}

// Judge watches records go by, in the order in which they stand, and finds what
// is wrong with the order and what is missing. Memory does not grow with the
// number of records.
//
// The order is that of numbers; times play no part, so a clock may jump.
type Judge struct {
	// Repeats says that a record may come again: where files are written at
	// least once, that is no tampering.
	Repeats bool

	Records     uint64 // authentic ones
	First, Last uint64 // lowest and highest place among them
	Top         Step   // the one with the highest number in the log

	pos      int // how many things went by
	begun    bool
	base     uint64 // nothing belongs at or before this place
	at       Step   // the last in order
	known    bool   // at.Link is proven
	ended    bool
	unproven unproven
	gaps     []gap
	overflow bool // more gaps than are remembered

	intact, complete *finding
}

// unproven are records that are not authentic, seen since the last that was.
// What they are is known when the next authentic one comes: if numbers are
// missing between, they were records of ours; else they never were.
type unproven struct {
	count uint64
	first place
}

type place struct {
	pos    int
	line   int
	number uint64
}

// gap is a run of places that nothing stood at when its turn came.
type gap struct {
	from, to  uint64
	low, high edge
	seen      place // what stood there instead
}

// edge is what the record at one end of a gap must fit to: the link of the
// record before it, or the prev of the one behind it.
type edge struct {
	link  Link
	known bool
}

// maxGaps bounds what is remembered of gaps, so that a file cannot cost memory.
const maxGaps = 1024

// Begin says that, as is proven, everything begins behind the record at this
// place. It is called before any record.
func (j *Judge) Begin(at, number uint64, link Link) {
	j.begun, j.known, j.base = true, true, at
	j.at = Step{Place: at, Number: number, Link: link}
}

// Unproven is a record that is not authentic. claimed is the place that it says
// it has, 0 for none.
func (j *Judge) Unproven(line int, claimed uint64) {
	j.pos++
	if j.unproven.count == 0 {
		j.unproven.first = place{j.pos, line, claimed}
	}
	j.unproven.count++
}

// Record is an authentic record.
func (j *Judge) Record(s Step) {
	j.pos++
	j.ended = false
	j.Records++
	j.Last = max(j.Last, s.Place)
	if j.First == 0 || s.Place < j.First {
		j.First = s.Place
	}
	if s.Number > j.Top.Number {
		j.Top = s
	}
	if !j.begun {
		j.Begin(s.Place-1, s.Number-1, s.Prev)
	}
	switch {
	case s.Place <= j.base:
		j.Foreign(s.Line, s.Place, "stands before the signed beginning")
	case s.Place <= j.at.Place:
		j.back(s)
	default:
		j.forward(s)
	}
}

// forward is a record beyond all seen so far.
func (j *Judge) forward(s Step) {
	between := s.Place - j.at.Place - 1
	altered := j.settle(between)
	switch {
	case between > altered:
		j.open(gap{from: j.at.Place + 1 + altered, to: s.Place - 1,
			low: edge{j.at.Link, j.known && altered == 0}, high: edge{s.Prev, true}, seen: place{j.pos, s.Line, s.Place}})
	case between == 0 && !j.follows(s):
		j.blame(fault{api.VerdictIntact, api.FaultForeign, place{j.pos, s.Line, s.Place},
			"is authentic, but belongs to another history of this log: it does not follow the record before it"})
	}
	j.at, j.known = s, true
}

// follows reports whether nothing speaks against s standing right behind the
// last record.
func (j *Judge) follows(s Step) bool {
	switch {
	case !j.known:
		return true
	case s.Number == j.at.Number+1:
		return s.Prev == j.at.Link
	default:
		// Between two records of one vault lie others of the log.
		return s.Number > j.at.Number
	}
}

// settle decides what the unproven records were, of which at most between were
// records of ours, and returns how many.
func (j *Judge) settle(between uint64) (altered uint64) {
	u := j.unproven
	j.unproven = unproven{}
	if u.count == 0 {
		return 0
	}
	altered = min(between, u.count)
	if altered == 0 {
		j.blame(fault{api.VerdictIntact, api.FaultForeign, u.first, "was never in this log"})
		return 0
	}
	if u.first.number <= j.at.Place || u.first.number > j.at.Place+between {
		u.first.number = j.at.Place + 1
	}
	j.blame(fault{api.VerdictIntact, api.FaultAltered, u.first, "is not as it was written"})
	return altered
}

func (j *Judge) open(g gap) {
	if len(j.gaps) == maxGaps {
		j.overflow = true
		j.blame(missing(g))
		return
	}
	j.gaps = append(j.gaps, g)
}

// back is a record whose turn is over: it fills a gap, or it is a repetition.
func (j *Judge) back(s Step) {
	i := slices.IndexFunc(j.gaps, func(g gap) bool { return g.from <= s.Place && s.Place <= g.to })
	switch {
	case i >= 0:
		j.fill(i, s)
	case j.overflow:
		j.blame(fault{api.VerdictIntact, api.FaultReordered, place{j.pos, s.Line, s.Place}, "stands in another record's place"})
	case !j.Repeats:
		j.blame(fault{api.VerdictIntact, api.FaultRepeated, place{j.pos, s.Line, s.Place}, "stands there a second time"})
	}
}

func (j *Judge) fill(i int, s Step) {
	g := j.gaps[i]
	j.blame(reordered(g))
	// Only in the log itself are neighbours by place neighbours by link.
	if s.Place == s.Number && (s.Place == g.from && g.low.known && s.Prev != g.low.link || s.Place == g.to && g.high.known && s.Link != g.high.link) {
		j.blame(fault{api.VerdictIntact, api.FaultForeign, place{j.pos, s.Line, s.Place},
			"is authentic, but belongs to another history of this log: it does not fit between its neighbours"})
	}
	below := gap{from: g.from, to: s.Place - 1, low: g.low, high: edge{s.Prev, true}, seen: g.seen}
	above := gap{from: s.Place + 1, to: g.to, low: edge{s.Link, true}, high: g.high, seen: g.seen}
	var rest []gap
	for _, g := range []gap{below, above} {
		if g.from <= g.to {
			rest = append(rest, g)
		}
	}
	j.gaps = slices.Replace(j.gaps, i, i+1, rest...)
}

// End says that, as is proven, the record at this place was the last when that
// was written: number and link are those of the log's last record then.
func (j *Judge) End(line int, at, number uint64, link Link) {
	j.pos++
	j.ended = true
	here := place{j.pos, line, at}
	if at < j.at.Place {
		j.blame(fault{api.VerdictComplete, api.FaultForeign, here,
			"is named as the last by an end that was written earlier than what stands here"})
		return
	}
	between := at - j.at.Place
	altered := j.settle(between)
	switch {
	case between > altered:
		j.blame(cut(place{j.pos, line, j.at.Place + 1 + altered}, at))
	case between == 0 && j.known && number == j.at.Number && link != j.at.Link:
		j.blame(fault{api.VerdictIntact, api.FaultForeign, here, "is authentic, but belongs to another history of this log: the end does not know it"})
	}
	if between > 0 {
		j.at, j.known = Step{Place: at, Number: number, Link: link}, true
	}
}

// Finish ends the judgement. Without an end behind the last record nothing
// proves that it was the last; why says more.
func (j *Judge) Finish(line int, why string) {
	j.pos++
	if u := j.unproven; u.count > 0 && j.ended && !j.Repeats {
		j.settle(0)
	} else if u.count > 0 {
		j.blame(fault{api.VerdictIntact, api.FaultAltered, u.first, "is not as it was written"})
	}
	for _, g := range j.gaps {
		j.blame(missing(g))
	}
	if !j.ended {
		j.keep(j.pos, api.AuditFault{Against: api.VerdictComplete, Kind: api.FaultCut, Number: j.at.Place + 1, Line: line, Detail: why})
	}
}
