package breaker

import "testing"

func TestZeroBreakerRefusesNothing(t *testing.T) {
	var b Breaker
	for range 100 {
		b.Record(1, 0, Sample{Classes: Any.Set(), Failed: true})
		b.Overdue(1, 0, Any.Set(), 0)
		b.Fleet(1, 0, Word{Standing: Held})
	}
	if refuses, _ := b.Refuses(Any.Set()); refuses {
		t.Error("a breaker without a policy refuses")
	}
	if _, ok := b.Probe(1, Any.Set()); ok {
		t.Error("a breaker that refuses nothing gave a probe")
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	var b Breaker
	b.SetPolicy(&Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5, TTFTLimit: 10e6})
	now, set := int64(1), Any.Set()|Stream.Set()|Tools.Set()
	allocs := testing.AllocsPerRun(1000, func() {
		now += 10_000
		b.Record(now, 7, Sample{Classes: set, Round: b.Round(), Phase: Admit, Pace: OnTime})
		b.Record(now, 7, Sample{Classes: set, Round: b.Round(), Phase: Finish, Failed: now%5 == 0})
		b.Refuses(set)
		b.Until(set)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a sample, want none", allocs)
	}
}

func TestOpenAndProbeDoNotAllocate(t *testing.T) {
	var b Breaker
	b.SetPolicy(&Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 1, Cooldown: 5e6, CooldownMax: 5e6})
	now := int64(1)
	allocs := testing.AllocsPerRun(1000, func() {
		b.Record(now, 7, Sample{Classes: Any.Set(), Round: b.Round(), Failed: true})
		for range goodToEnd {
			now += 10_000_000
			round, _ := b.Probe(now, Any.Set())
			b.Record(now, 7, Sample{Classes: Any.Set(), Round: round})
			b.Return(round)
		}
		if refuses, _ := b.Refuses(Any.Set()); refuses {
			t.Fatal("still open after its probes")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a round, want none", allocs)
	}
}

func TestCooldownDoublesToItsMost(t *testing.T) {
	tests := []struct {
		name string
		p    Policy
		want [5]int64
	}{
		{"doubles", Policy{Cooldown: 5, CooldownMax: 120}, [5]int64{5, 10, 20, 40, 80}},
		{"stops at the most", Policy{Cooldown: 5, CooldownMax: 12}, [5]int64{5, 10, 12, 12, 12}},
		{"the most is below it", Policy{Cooldown: 5, CooldownMax: 3}, [5]int64{3, 3, 3, 3, 3}},
		{"zero is zero", Policy{Cooldown: 0, CooldownMax: 9}, [5]int64{}},
		{"does not overflow", Policy{Cooldown: 1 << 61, CooldownMax: 1<<63 - 1}, [5]int64{1 << 61, 1 << 62, 1<<63 - 1, 1<<63 - 1, 1<<63 - 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, want := range tt.want {
				if got := tt.p.CooldownAt(i + 1); got != want {
					t.Errorf("step %d: %d, want %d", i+1, got, want)
				}
			}
		})
	}
}

func TestPartIsExact(t *testing.T) {
	tests := []struct {
		d    int64
		draw uint32
		want int64
	}{
		{100, 0, 0}, {100, 1 << 31, 50}, {100, 1<<32 - 1, 99}, {-5, 1 << 31, 0},
		{1<<63 - 1, 1 << 31, 1<<62 - 1},
	}
	for _, tt := range tests {
		if got := part(tt.d, tt.draw); got != tt.want {
			t.Errorf("part(%d, %d) = %d, want %d", tt.d, tt.draw, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	if got := Class(9).String() + Phase(9).String() + (cause{}).String(); got != "unknownunknown" {
		t.Errorf("names of what does not exist: %q", got)
	}
}
