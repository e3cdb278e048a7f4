package server

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func api(edit func(*Hosted)) *Model {
	h := &Hosted{Latency: &Latency{Rows: []Row{{200 * ms, 10 * ms}}}}
	if edit != nil {
		edit(h)
	}
	return &Model{Hosted: h}
}

func TestAHostedAnswerTakesWhatItsRowSaysWhoeverElseAsks(t *testing.T) {
	got := play(New(api(nil), 1, nil), at{0, streamed(1, 5000, 11)}, at{0, streamed(2, 1, 2)}, at{0, &Job{ID: 3, Output: 1}})
	same(t, got, event{200 * ms, 1, "first"}, event{200 * ms, 2, "first"}, event{200 * ms, 3, "served"},
		event{210 * ms, 2, "served"}, event{300 * ms, 1, "served"})
}

func TestAScaleIsOfAllTimes(t *testing.T) {
	got := play(New(api(func(h *Hosted) { h.Scale = 0.5 }), 1, nil), at{0, streamed(1, 1, 11)})
	same(t, got, event{100 * ms, 1, "first"}, event{150 * ms, 1, "served"})
}

func TestAHostedEndpointMayBeSlowToo(t *testing.T) {
	s := New(api(nil), 1, []Fault{{Kind: Slow, From: 100 * ms, To: 250 * ms, Factor: 0.5}})
	got := play(s, at{0, streamed(1, 1, 11)})
	same(t, got, event{275 * ms, 1, "first"}, event{375 * ms, 1, "served"})
}

func TestRowsAreDrawnByTheRequestsChance(t *testing.T) {
	model := api(func(h *Hosted) { h.Latency.Rows = []Row{{100, 1}, {200, 1}, {300, 1}, {400, 1}} })
	s := New(model, 1, nil)
	var seen [4]int
	for i := range 4000 {
		j := &Job{Output: 1, Chance: uint32(i) * 0x9E3779B9}
		first, _ := s.Predict(7, j)
		seen[first/100-1]++
		if again, _ := s.Predict(7, j); again != first {
			t.Fatal("the same request drew another row")
		}
	}
	for i, n := range seen {
		if n < 850 || n > 1150 {
			t.Errorf("row %d was drawn %d times of 4000", i, n)
		}
	}
}

func TestPredictIsWhatAHostedEndpointDoes(t *testing.T) {
	s := New(api(func(h *Hosted) { h.Latency.Rows = []Row{{100.3, 1.7}, {200, 1}} }), 1, nil)
	for i := range 50 {
		now := int64(i) * 1777
		s.Advance(now, nil)
		j := &Job{Output: int64(i), Chance: uint32(i), Stream: true}
		first, total := s.Predict(now, j)
		if only := s.PredictFirst(now, j); only != first {
			t.Errorf("%d: first alone %d, want %d", i, only, first)
		}
		s.Take(now, j)
		for _, n := range finish(s, nil) {
			if want := map[bool]int64{true: first, false: total}[n.First]; n.At-now != want {
				t.Errorf("%d: first %t after %d, predicted %d", i, n.First, n.At-now, want)
			}
		}
	}
}

// limited takes jobs of 1 token in and 1 out at these times, and tells what each had to wait.
func limited(s *Server, times ...int64) []int64 {
	var waits []int64
	for i, now := range times {
		s.Advance(now, nil)
		j := &Job{ID: int32(i), Input: 1, Output: 1}
		s.Take(now, j)
		wait := int64(-1)
		if j.verdict == throttled {
			wait = j.retry
		}
		waits = append(waits, wait)
	}
	return waits
}

func TestLimitsThatRefillLetThroughWhatHasComeBack(t *testing.T) {
	s := New(api(func(h *Hosted) { h.RequestsPerMinute = 6; h.Burst = 1.0 / 3 }), 1, nil)
	got := limited(s, 0, 0, 1, 3*second, 10*second, 10*second, 45*second, 45*second, 45*second)
	want := []int64{-1, -1, 10 * second, 7 * second, -1, 10 * second, -1, -1, 10 * second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestLimitsThatAreFixedAreFullAgainAtTheMinute(t *testing.T) {
	s := New(api(func(h *Hosted) { h.RequestsPerMinute = 2; h.Fixed = true; h.Phase = 50 * second }), 1, nil)
	got := limited(s, 0, 1*second, 2500*ms, 10*second, 10*second, 10*second, 70*second)
	want := []int64{-1, -1, 8 * second, -1, -1, 60 * second, -1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestTokensAreLimitedTooAndALargeRequestLeavesADebt(t *testing.T) {
	s := New(api(func(h *Hosted) { h.TokensPerMinute = 600 }), 1, nil)
	large, next := &Job{Input: 800, Output: 100}, &Job{Input: 60, Output: 40}
	s.Take(0, large)
	s.Take(0, next)
	if large.verdict != served || next.verdict != throttled || next.retry != 40*second {
		t.Errorf("large %d; next %d after %d", large.verdict, next.verdict, next.retry)
	}
}

func TestWhatIsTooMuchAtOnceIsRefused(t *testing.T) {
	s := New(api(func(h *Hosted) { h.Concurrency = 1 }), 1, nil)
	got := play(s, at{0, streamed(1, 1, 1)}, at{0, streamed(2, 1, 1)}, at{300 * ms, streamed(3, 1, 1)})
	same(t, got, event{50 * ms, 2, "limited"}, event{200 * ms, 1, "first"}, event{200 * ms, 1, "served"}, event{500 * ms, 3, "first"}, event{500 * ms, 3, "served"})
	if o := got[0].Outcome; o.Status != 429 || o.RetryAfter != 0 {
		t.Errorf("outcome %+v", o)
	}
}

func TestAHostedEndpointResetsWhatIsUnderWay(t *testing.T) {
	s := New(api(nil), 1, []Fault{{Kind: Black, From: 250 * ms, To: second}})
	got := play(s, at{0, streamed(1, 1, 11)}, at{100 * ms, streamed(2, 1, 1)}, at{250 * ms, streamed(3, 1, 1)})
	same(t, got, event{200 * ms, 1, "first"}, event{250 * ms, 1, "faulted"}, event{250 * ms, 2, "faulted"}, event{251 * ms, 3, "faulted"})
}

func TestAHostedAnswerIsDroppedAndCutToo(t *testing.T) {
	s := New(api(nil), 1, []Fault{{Kind: Cut, From: 0, To: 1}})
	dropped := streamed(1, 1, 11)
	got := s.Advance(0, nil)
	s.Take(0, streamed(2, 1, 11))
	got = s.Advance(1, got)
	s.Take(1, dropped)
	got = s.Advance(250*ms, got)
	s.Drop(250*ms, dropped)
	same(t, finish(s, got), event{200 * ms, 2, "first"}, event{200*ms + 1, 1, "first"}, event{250 * ms, 2, "faulted"})
	if s.InFlight() != 0 {
		t.Errorf("in flight %d", s.InFlight())
	}
}

const llmperf = `provider,model_size,seq,error_code,error_msg,inter_token_latency_s,ttft_s,end_to_end_latency_s,request_output_throughput_token_per_s,number_total_tokens,number_output_tokens,number_input_tokens
a,7b,0,,,0.5,0.5,2.5,34,701,101,550
b,7b,1,429,"too
many",0,0,0,0,0,0,0
a,7b,1,,,0.5,1,2,34,701,11,550
a,70b,2,,,0.5,1,2,34,701,1,550
b,70b,3,,,0.5,0.25,0.25,34,701,3,550
`

func TestLatenciesAreReadWithoutWhatFailed(t *testing.T) {
	got, err := ReadLatencies(strings.NewReader(llmperf))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*Latency{
		"a/7b":  {Rows: []Row{{500_000, 20_000}, {1_000_000, 100_000}}},
		"b/70b": {Rows: []Row{{250_000, 0}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
}

func TestAFaultInLatenciesIsToldByItsLine(t *testing.T) {
	head := "provider,model_size,error_code,ttft_s,end_to_end_latency_s,number_output_tokens\n"
	for text, want := range map[string]string{
		"":                           "line 1: no header",
		"provider,model_size\n":      `line 1: no column "error_code"`,
		head + "a,b,,1,2,3\na,b,,1":  "line 3",
		head + "a,b,,x,2,3\n":        `line 2: ttft_s: "x"`,
		head + "a,b,,1,NaN,3\n":      `line 2: end_to_end_latency_s: "NaN"`,
		head + "a,b,,1,2,-3\n":       `line 2: number_output_tokens: "-3"`,
		head + "a,b,,3,2,3\n":        "line 2: end_to_end_latency_s: 2 is before",
		head + "a,b,,1,900000,3\n":   "line 2: end_to_end_latency_s: 900000",
		head + "a,b,\"1,1,2,3\na,b,": "line 2",
	} {
		if _, err := ReadLatencies(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadLatencies(f *testing.F) {
	f.Add(llmperf)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := ReadLatencies(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, l := range found {
			for _, r := range l.Rows {
				if !r.sound() || math.IsNaN(r.First+r.Each) {
					t.Errorf("%s: %v", name, r)
				}
			}
		}
	})
}
