package httpd

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// someone is a subject with a number.
func someone(n int) (s subject) {
	binary.BigEndian.PutUint64(s.id[8:], uint64(n))
	return s
}

// takes counts n requests and returns how many of them were admitted.
func takes(c *counter, s subject, at time.Duration, n int) (admitted int) {
	for range n {
		if c.take(s, at).admitted {
			admitted++
		}
	}
	return admitted
}

func TestAWindowOpensWithItsFirstRequest(t *testing.T) {
	c := newCounter(3, time.Minute)
	for _, step := range []struct {
		at   time.Duration
		want allowance
	}{
		{100 * time.Second, allowance{true, 2, 160 * time.Second}},
		{110 * time.Second, allowance{true, 1, 160 * time.Second}},
		{159 * time.Second, allowance{true, 0, 160 * time.Second}},
		{159 * time.Second, allowance{false, 0, 160 * time.Second}},
		{160*time.Second - 1, allowance{false, 0, 160 * time.Second}},
		{160 * time.Second, allowance{true, 2, 220 * time.Second}},
		{500 * time.Second, allowance{true, 2, 560 * time.Second}},
	} {
		if got := c.take(someone(1), step.at); got != step.want {
			t.Errorf("at %v: got %+v, want %+v", step.at, got, step.want)
		}
	}
	if got := c.take(someone(2), 510*time.Second); got != (allowance{true, 2, 570 * time.Second}) {
		t.Errorf("somebody else: got %+v", got)
	}
}

// TestCountsAgreeWithAPlainModel lets many subjects come at many times and
// compares with counts that are never swept.
func TestCountsAgreeWithAPlainModel(t *testing.T) {
	const limit, window = 4, time.Minute
	c, random := newCounter(limit, window), rand.New(rand.NewPCG(1, 2))
	model := map[subject]*tally{}
	at := time.Duration(0)
	for range 200_000 {
		if random.IntN(20) == 0 {
			at += time.Duration(random.Int64N(int64(window / 2)))
		}
		s := someone(random.IntN(60))
		m := model[s]
		if m == nil || at >= m.ends {
			m = &tally{ends: at + window}
			model[s] = m
		}
		want := m.used < limit
		if want {
			m.used++
		}
		if got := c.take(s, at); got != (allowance{want, limit - m.used, m.ends}) {
			t.Fatalf("at %v: got %+v, want %t of %+v", at, got, want, *m)
		}
	}
}

func TestAClockThatGoesBackLocksNobodyOutNorLetsAnybodyIn(t *testing.T) {
	for _, back := range []time.Duration{time.Second, time.Minute, 90 * time.Second, time.Hour, 1000 * time.Hour} {
		c := newCounter(3, time.Minute)
		const before = time.Hour
		takes(c, someone(1), before, 3)
		takes(c, someone(2), before, 1)
		at := before - back
		if n := takes(c, someone(1), at, 1); n != 0 {
			t.Errorf("back by %v: the clock gave room", back)
		}
		if n := takes(c, someone(2), at, 3); n != 2 {
			t.Errorf("back by %v: %d admitted, want the 2 that were left", back, n)
		}
		for range 10 {
			at += 6 * time.Second
			if n := takes(c, someone(1), at-1, 1); n != 0 {
				t.Errorf("back by %v: the clock gave room", back)
			}
		}
		if n := takes(c, someone(1), at, 4); n != 3 {
			t.Errorf("back by %v: after a whole window %d admitted, want 3", back, n)
		}
	}
}

func TestAClockThatRunsAheadAndIsSetRightGivesRoomOnce(t *testing.T) {
	c := newCounter(3, time.Minute)
	const right, ahead = time.Hour, 2 * time.Hour
	takes(c, someone(1), right, 3)
	if n := takes(c, someone(1), ahead, 4); n != 3 {
		t.Errorf("%d admitted, want 3: by the clock a window is over", n)
	}
	for at := right; at < right+time.Minute; at += time.Second {
		if n := takes(c, someone(1), at, 1); n != 0 {
			t.Errorf("%v after the clock was set right it gave room again", at-right)
		}
	}
	if n := takes(c, someone(1), right+time.Minute, 4); n != 3 {
		t.Errorf("%d admitted a window later, want 3", n)
	}
}

func TestARefundGivesBackWhatItsWindowCounted(t *testing.T) {
	c := newCounter(2, time.Minute)
	first := c.take(someone(1), 0)
	c.take(someone(1), 0)
	if got, ok := c.refund(someone(1), first.ends); !ok || got != (allowance{true, 1, time.Minute}) {
		t.Errorf("got %+v, %t", got, ok)
	}
	if n := takes(c, someone(1), time.Second, 2); n != 1 {
		t.Errorf("%d admitted after a refund, want 1", n)
	}
	takes(c, someone(1), time.Minute, 2)
	for name, r := range map[string]struct {
		who  subject
		ends time.Duration
	}{"a window that is over": {someone(1), first.ends}, "a stranger": {someone(2), 2 * time.Minute}} {
		if got, ok := c.refund(r.who, r.ends); ok {
			t.Errorf("%s: refunded %+v", name, got)
		}
	}
	for range 3 {
		c.refund(someone(1), 2*time.Minute)
	}
	if n := takes(c, someone(1), time.Minute, 5); n != 2 {
		t.Errorf("%d admitted after too many refunds, want 2", n)
	}
}

func TestConcurrentRequestsAreCountedExactly(t *testing.T) {
	c := newCounter(1000, time.Minute)
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				a := c.take(someone(1), 0)
				if !a.admitted {
					continue
				}
				admitted.Add(1)
				if a.remaining%10 == 0 {
					if _, ok := c.refund(someone(1), a.ends); ok {
						admitted.Add(-1)
					}
				}
			}
		})
	}
	all.Wait()
	if n := admitted.Load() + int64(takes(c, someone(1), 0, 2000)); n != 1000 {
		t.Errorf("%d admitted, want 1000", n)
	}
}

func TestMemoryIsBoundedAndSwept(t *testing.T) {
	c := newCounter(1, time.Minute)
	for n := range 5 * maxTallies {
		c.take(someone(n), time.Duration(n))
		if held := len(c.newer) + len(c.older); held > 2*maxTallies {
			t.Fatalf("%d tallies", held)
		}
	}
	if c.take(someone(5*maxTallies-1), time.Second).admitted {
		t.Error("the flood made the counter forget somebody who was just there")
	}
	c.take(someone(0), 2*time.Minute)
	c.take(someone(0), 4*time.Minute)
	if held := len(c.newer) + len(c.older); held > 2 {
		t.Errorf("%d tallies after everything ended", held)
	}
}

func TestAddressesThatCountAsOne(t *testing.T) {
	of := func(s string) subject { return addressOf(netip.MustParseAddr(s)) }
	if of("2001:db8:0:1::1") != of("2001:db8:0:1:ffff::2") {
		t.Error("one network of IPv6 counts as one")
	}
	if of("2001:db8:0:1::1") == of("2001:db8:0:2::1") || of("203.0.113.7") == of("203.0.113.8") {
		t.Error("others count for themselves")
	}
	if addressOf(netip.Addr{}).credential {
		t.Error("no address is no credential")
	}
}

func BenchmarkCounter(b *testing.B) {
	for name, subjects := range map[string]int{"one": 1, "many": 10_000} {
		b.Run(name, func(b *testing.B) {
			c := newCounter(100, 15*time.Minute)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.take(someone(i%subjects), time.Duration(i))
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			c := newCounter(100, 15*time.Minute)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(subjects); pb.Next(); i++ {
					c.take(someone(i%subjects), time.Duration(i))
				}
			})
		})
	}
}
