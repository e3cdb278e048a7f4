package server

import (
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// FuzzAnyOrderLosesNothing has jobs come and go in any order at any kind of server, reusing
// those that have ended, as callers do.
func FuzzAnyOrderLosesNothing(f *testing.F) {
	f.Add([]byte("\x00take some, drop some, wait \x00\xff\x41\x82\x03\x04\x95"))
	f.Add([]byte("\x01\x10\x11\x12\x13\x14\x90\x91\x92\xd0\xd1\xff\x10\x20\x30\x40\x50\xa0\xb0\xc0"))
	f.Add([]byte{2, 0, 1, 2, 3, 4, 200, 5, 6, 7, 8, 9, 130, 131, 140, 255, 1, 2, 3, 255, 255})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) == 0 {
			return
		}
		o := &opera{t: t, s: fuzzed(ops[0])}
		for _, op := range ops[1:] {
			switch {
			case op < 128:
				o.take(op)
			case op < 192:
				o.drop(int(op) % len(o.jobs))
			default:
				o.wait(int64(op-192) * int64(op-192) * ms)
			}
			o.look()
		}
		o.close()
	})
}

func fuzzed(kind byte) *Server {
	faults := []Fault{
		{Kind: Slow, From: 100 * ms, To: 2 * second, Factor: 0.5}, {Kind: Black, From: 3 * second, To: 4 * second},
		{Kind: Hang, From: 5 * second, To: 8 * second, Part: 0.5}, {Kind: FailFast, From: 6 * second, To: 9 * second, Part: 0.3},
		{Kind: Cut, From: 7 * second, To: 10 * second, Part: 0.5}, {Kind: Cold, From: 9 * second, To: 11 * second},
		{Kind: Exhausted, From: 10 * second, To: 12 * second},
	}
	if kind%2 == 0 {
		return New(api(func(h *Hosted) {
			h.RequestsPerMinute, h.TokensPerMinute, h.Concurrency, h.Fixed = int64(kind), 100*int64(kind), int(kind%7), kind%4 == 0
		}), 1, faults)
	}
	return New(simple(func(o *Own) { o.KVTokens, o.CacheTokens, o.Slots = 2000, 4*blockTokens, 3 }), 1, faults)
}

// opera is a server and what should be on it.
type opera struct {
	t       *testing.T
	s       *Server
	now     int64
	jobs    [40]Job
	here    [40]bool
	first   [40]bool
	waiting int
	news    []News
}

func (o *opera) take(op byte) {
	i := int(op) % len(o.jobs)
	if o.here[i] {
		return
	}
	n := int64(op)
	j := Job{ID: int32(i), Input: n * 16, Output: n % 20, Stream: op%3 != 0, Chance: uint32(op) * 0x9E3779B9, Blocks: []uint64{uint64(op % 5), uint64(op % 7), uint64(op)}}
	o.jobs[i], o.here[i], o.first[i] = j, true, false
	o.waiting++
	o.s.Predict(o.now, &Job{Input: n, Output: n, Blocks: j.Blocks})
	o.s.Take(o.now, &o.jobs[i])
}

func (o *opera) drop(i int) {
	o.s.Drop(o.now, &o.jobs[i])
	if o.here[i] {
		o.here[i] = false
		o.waiting--
	}
}

func (o *opera) wait(us int64) {
	o.now += us
	o.news = o.s.Advance(o.now, o.news[:0])
	last := int64(0)
	for i := range o.news {
		n := &o.news[i]
		id := n.Job.ID
		if !o.here[id] || n.At < last || n.At > o.now {
			o.t.Fatalf("at %d after %d: news of %d, which is here: %t", n.At, last, id, o.here[id])
		}
		last = n.At
		if n.First {
			if o.first[id] || !n.Job.Stream {
				o.t.Fatalf("a first token of %d, which had one: %t", id, o.first[id])
			}
			o.first[id] = true
			continue
		}
		if n.Outcome.Kind == route.Served && n.Job.Stream && !o.first[id] {
			o.t.Fatalf("%d was served without a first token", id)
		}
		o.here[id] = false
		o.waiting--
	}
}

func (o *opera) look() {
	if o.s.InFlight() != o.waiting {
		o.t.Fatalf("in flight %d, want %d", o.s.InFlight(), o.waiting)
	}
	if o.s.Due() < o.now {
		o.t.Fatalf("due at %d, now is %d", o.s.Due(), o.now)
	}
	if w, ok := o.s.works.(*own); ok && (w.used < 0 || w.used > w.spec.KVTokens || len(w.batch.ends) > w.spec.Slots) {
		o.t.Fatalf("memory %d of %d, %d of %d slots", w.used, w.spec.KVTokens, len(w.batch.ends), w.spec.Slots)
	}
}

// close lets everything end but what hangs.
func (o *opera) close() {
	o.wait(1000 * second)
	for i := range o.jobs {
		if o.here[i] && o.jobs[i].phase != hanging {
			o.t.Fatalf("%d never ended: phase %d", i, o.jobs[i].phase)
		}
		o.drop(i)
	}
	o.look()
	if o.s.Due() != Never {
		o.t.Fatalf("due at %d with nothing left", o.s.Due())
	}
	if w, ok := o.s.works.(*own); ok && (w.used != 0 || w.queue.head != nil || w.queue.tail != nil || w.filling != nil) {
		o.t.Fatalf("left behind: %+v", w.engine)
	}
}
