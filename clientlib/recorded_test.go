package clientlib

import (
	"testing"
	"time"
)

// What waits for the agent is written over, in place.
func TestRecordingAnAttemptAllocatesNothing(t *testing.T) {
	c := &Client{clock: clock{time.Now()}, records: &records{seen: 1}}
	call := &call{}
	info := &AttemptInfo{Outcome: Outcome{Kind: Served}}
	for range maxRecords {
		c.record(call, info)
	}
	c.records.seen = 1 // no sample
	if n := testing.AllocsPerRun(900, func() { c.record(call, info) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if c.records.lost < 900 || len(c.records.ring) != maxRecords {
		t.Errorf("%d lost of a ring of %d", c.records.lost, len(c.records.ring))
	}
}

func TestTheRingKeepsTheNewestInOrder(t *testing.T) {
	var r records
	put, took := 0, 0
	for range 200 {
		for range 50 {
			put++
			r.put(&call{}, &entry{attempt: AttemptInfo{Number: put}})
		}
		for range 7 {
			e, ok := r.take()
			for ok && e.event != nil { // what was lost
				took += e.event.Count
				e, ok = r.take()
			}
			if took++; !ok || e.attempt.Number != took {
				t.Fatalf("took %d, want %d", e.attempt.Number, took)
			}
		}
	}
	if r.count != maxRecords-7 || put != 10_000 {
		t.Errorf("%d wait", r.count)
	}
}

func BenchmarkRecord(b *testing.B) {
	c := &Client{clock: clock{time.Now()}, records: &records{seen: 1}}
	call := &call{}
	info := &AttemptInfo{Outcome: Outcome{Kind: Cancelled}}
	b.ReportAllocs()
	for b.Loop() {
		c.records.seen = 1
		c.record(call, info)
	}
}
