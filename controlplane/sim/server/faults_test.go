package server

import (
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

func faulty(faults ...Fault) *Server { return New(simple(nil), 1, faults) }

func TestEachFaultHasItsOutcome(t *testing.T) {
	tests := []struct {
		name  string
		fault Fault
		at    int64
		want  route.Outcome
	}{
		{"failing fast", Fault{Kind: FailFast}, 50 * ms, route.Outcome{Kind: route.Faulted, Status: 503}},
		{"throttled", Fault{Kind: Throttle}, 50 * ms, route.Outcome{Kind: route.Limited, Status: 429}},
		{"exhausted", Fault{Kind: Exhausted}, 50 * ms, route.Outcome{Kind: route.Limited, Status: 429, RetryAfter: 9 * second}},
		{"black", Fault{Kind: Black}, 1 * ms, route.Outcome{Kind: route.Faulted, Detail: "refused"}},
		{"not there yet", Fault{Kind: Cold}, 1 * ms, route.Outcome{Kind: route.Faulted, Detail: "refused"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.fault
			f.From, f.To = 1*second, 10*second
			s, j := faulty(f), streamed(1, 100, 11)
			now := int64(1*second + 1)
			s.Advance(now, nil)
			if first, total := s.Predict(now, j); first != Never || total != Never {
				t.Errorf("predicted %d, %d, want never", first, total)
			}
			s.Take(now, j)
			got := s.Advance(2*second, nil)
			if len(got) != 1 || got[0].At != now+tt.at || got[0].First || got[0].Outcome != tt.want {
				t.Errorf("got %+v, want %+v at %d", got, tt.want, now+tt.at)
			}
			s.Take(10*second, j) // it is over
			if got = finish(s, nil); len(got) != 2 || got[1].Outcome.Kind != route.Served {
				t.Errorf("after the fault %+v", events(got))
			}
		})
	}
}

func TestAHangHasNoEnd(t *testing.T) {
	s, j := faulty(Fault{Kind: Hang, From: 0, To: second}), streamed(1, 100, 11)
	s.Take(0, j)
	same(t, finish(s, nil))
	if s.InFlight() != 1 {
		t.Errorf("in flight %d", s.InFlight())
	}
	s.Drop(2*second, j)
	if s.InFlight() != 0 {
		t.Errorf("in flight after the drop %d", s.InFlight())
	}
}

func TestAStreamBreaksInItsMiddle(t *testing.T) {
	got := play(faulty(Fault{Kind: Cut, From: 0, To: second}), at{0, streamed(1, 100, 11)})
	same(t, got, event{100 * ms, 1, "first"}, event{155 * ms, 1, "faulted"})
	if got[1].Outcome.HasUsage {
		t.Error("it tells its usage")
	}
}

func TestSlownessIsOfWhatIsUnderWayToo(t *testing.T) {
	s := faulty(Fault{Kind: Slow, From: 50 * ms, To: 255 * ms, Factor: 0.5}, Fault{Kind: Slow, From: 205 * ms, To: 255 * ms, Factor: 0.5})
	got := play(s, at{0, streamed(1, 100, 11)})
	// The second half of the prefill takes 100 ms; 55 ms at a half: 2.5 steps; 50 at a quarter:
	// 50/44; the 6.3636 that are left, at 11 ms, 70.
	same(t, got, event{150 * ms, 1, "first"}, event{325 * ms, 1, "served"})
}

func TestWhatIsPredictedWhileItIsSlowHoldsUntilItIsNot(t *testing.T) {
	s := faulty(Fault{Kind: Slow, From: 0, To: 10 * second, Factor: 0.5})
	s.Advance(0, nil)
	s.Take(0, streamed(1, 100, 11))
	j := streamed(2, 100, 11)
	first, total := s.Predict(0, j)
	got := play(s, at{0, j})
	same(t, got[1:2], event{first, 2, "first"})
	same(t, got[3:], event{total, 2, "served"})
	if first != 400*ms {
		t.Errorf("first token after %d", first)
	}
}

func TestWhatIsSlowerThanTimeNeverEnds(t *testing.T) {
	s := faulty(Fault{Kind: Slow, From: 0, To: Never, Factor: 1e-15})
	s.Advance(0, nil)
	if first, total := s.Predict(0, streamed(1, 100, 11)); first != Never || total != Never {
		t.Errorf("predicted %d, %d", first, total)
	}
	same(t, play(s, at{0, streamed(1, 100, 11)}))
}

func TestWhatIsUnderWayIsResetWhenItTurnsBlack(t *testing.T) {
	model := simple(func(o *Own) { o.CacheTokens = 100 * blockTokens })
	s := New(model, 1, []Fault{{Kind: Black, From: 2 * second, To: 5 * second}, {Kind: Cold, From: 3 * second, To: 6 * second},
		{Kind: Hang, From: 0, To: 1}, {Kind: FailFast, From: 1999 * ms, To: 2 * second}})
	blocks := []uint64{1}
	prompt := func(id int32) *Job { return &Job{ID: id, Input: blockTokens, Output: 2, Stream: true, Blocks: blocks} }
	got := play(s, at{0, prompt(1)}, at{1, streamed(2, 1000, 1000)}, at{2, streamed(3, 600, 10)}, at{3, prompt(4)}, at{1999 * ms, prompt(5)}, at{5 * second, prompt(6)}, at{6 * second, prompt(7)})
	same(t, got, event{1000*ms + 1, 2, "first"}, event{1600*ms + 1, 3, "first"}, event{1600*ms + 1 + 9*24*ms, 3, "served"},
		event{2 * second, 4, "faulted"}, event{2 * second, 2, "faulted"}, event{2 * second, 5, "faulted"}, event{2 * second, 1, "faulted"},
		event{5*second + 1*ms, 6, "faulted"}, event{6*second + 512*ms, 7, "first"}, event{6*second + 523*ms, 7, "served"})
	if o := got[3].Outcome; o.Status != 0 || o.Detail != "reset" || o.RetryAfter != 0 || s.InFlight() != 0 {
		t.Errorf("outcome %+v, in flight %d", o, s.InFlight())
	}
}

func TestAPartOfRequestsIsHit(t *testing.T) {
	hits := func(seed uint64) (n int, by [1000]bool) {
		s := New(simple(nil), seed, []Fault{{Kind: FailFast, From: 0, To: second, Part: 0.3}})
		for i := range by {
			j := streamed(1, 1, 1)
			j.Chance = uint32(i) * 0x9E3779B9
			by[i] = s.PredictFirst(0, j) == Never
			if by[i] {
				n++
			}
		}
		return n, by
	}
	n, one := hits(1)
	if n < 250 || n > 350 {
		t.Errorf("%d of 1000 were hit, want 300", n)
	}
	if _, again := hits(1); again != one {
		t.Error("the same requests were hit otherwise")
	}
	if _, other := hits(2); other == one {
		t.Error("another endpoint hits the very same requests")
	}
}

func TestOfSeveralFaultsTheWorstCounts(t *testing.T) {
	s := faulty(Fault{Kind: FailFast, From: 0, To: second}, Fault{Kind: Exhausted, From: 0, To: 9 * second}, Fault{Kind: Cut, From: 0, To: second},
		Fault{Kind: Stale, From: 0, To: second}, Fault{Kind: Away, From: 0, To: second})
	got := play(s, at{0, streamed(1, 100, 11)})
	if len(got) != 1 || got[0].Outcome != (route.Outcome{Kind: route.Limited, Status: 429, RetryAfter: 9 * second}) {
		t.Errorf("got %+v", got)
	}
}

func TestAWrongArtifactAnswersInvalidly(t *testing.T) {
	got := play(faulty(Fault{Kind: Wrong, From: 0, To: second}), at{0, streamed(1, 100, 11)}, at{second, streamed(2, 100, 11)})
	if len(got) != 4 || got[0].Invalid || !got[1].Invalid || got[1].Outcome.Kind != route.Served || got[3].Invalid {
		t.Errorf("got %+v", got)
	}
}

func TestFaultsAreChecked(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Slow, From: 0, To: 1, Factor: 0.3}, {Kind: Black, From: 0, To: Never}, {Kind: FailFast, From: 1, To: 2, Part: 1},
	} {
		if err := f.Check(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []Fault{
		{From: 0, To: 1}, {Kind: faultKinds, From: 0, To: 1}, {Kind: Black, From: 1, To: 1}, {Kind: Black, From: -1, To: 1},
		{Kind: FailFast, To: 1, Part: 1.5}, {Kind: Slow, To: 1}, {Kind: Slow, To: 1, Factor: -1},
	} {
		if f.Check() == nil {
			t.Errorf("%+v passed", f)
		}
	}
}
