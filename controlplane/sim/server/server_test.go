package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman/pointsman/clientlib/route"
)

const ms = 1000

// event is news as these tests write it.
type event struct {
	At   int64
	ID   int32
	What string // "first", or a kind of outcome
}

func events(news []News) []event {
	var all []event
	for i := range news {
		n := &news[i]
		e := event{n.At, n.Job.ID, "first"}
		if !n.First {
			e.What = n.Outcome.Kind.String()
		}
		all = append(all, e)
	}
	return all
}

// at is a job and when it comes.
type at struct {
	At int64
	*Job
}

func streamed(id int32, input, output int64) *Job {
	return &Job{ID: id, Input: input, Output: output, Stream: true}
}

// play has jobs come and everything end.
func play(s *Server, jobs ...at) []News {
	var news []News
	for _, j := range jobs {
		news = s.Advance(j.At, news)
		s.Take(j.At, j.Job)
	}
	return finish(s, news)
}

func finish(s *Server, news []News) []News {
	for s.Due() != Never {
		news = s.Advance(s.Due(), news)
	}
	return news
}

func same(t *testing.T, got []News, want ...event) {
	t.Helper()
	if diff := cmp.Diff(want, events(got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
}

// simple is an engine with round numbers: 1 ms a token of the prompt, 10 ms + 1 ms each a
// token of the answer, half of that pace while a prefill runs.
func simple(edit func(*Own)) *Model {
	o := &Own{PrefillTPS: 1000, Slots: 4, Step: 10 * ms, StepEach: 1 * ms, PrefillPace: 0.5}
	if edit != nil {
		edit(o)
	}
	return &Model{Own: o}
}

func TestOneJobAloneTakesItsPrefillAndItsSteps(t *testing.T) {
	got := play(New(simple(nil), 1, nil), at{5 * ms, streamed(1, 100, 11)})
	same(t, got, event{105 * ms, 1, "first"}, event{(105 + 10*11) * ms, 1, "served"})
	want := route.Outcome{Kind: route.Served, Status: 200, HasUsage: true}
	want.Usage.Input, want.Usage.Output = 100, 11
	if diff := cmp.Diff(want, got[1].Outcome); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestTheDefaultsAreThoseOfTheResearch(t *testing.T) {
	got := play(New(&Model{Own: &Own{}}, 1, nil), at{0, streamed(1, 1000, 201)})
	same(t, got, event{100 * ms, 1, "first"}, event{100*ms + 200*15_300, 1, "served"})
}

func TestSpeedIsOfPrefillAndOfDecoding(t *testing.T) {
	got := play(New(simple(func(o *Own) { o.Speed = 2 }), 1, nil), at{0, streamed(1, 100, 11)})
	same(t, got, event{50 * ms, 1, "first"}, event{105 * ms, 1, "served"})
}

func TestAnAnswerThatIsNotStreamedHasNoFirstToken(t *testing.T) {
	same(t, play(New(simple(nil), 1, nil), at{0, &Job{ID: 1, Input: 100, Output: 11}}), event{210 * ms, 1, "served"})
}

func TestAnAnswerOfOneTokenOrNoneEndsWithItsPrefill(t *testing.T) {
	s := New(simple(nil), 1, nil)
	got := play(s, at{0, streamed(1, 100, 1)}, at{0, streamed(2, 100, 0)}, at{0, streamed(3, 0, 0)})
	same(t, got, event{100 * ms, 1, "first"}, event{100 * ms, 1, "served"},
		event{200 * ms, 2, "first"}, event{200 * ms, 2, "served"}, event{200 * ms, 3, "first"}, event{200 * ms, 3, "served"})
}

// The first decodes at half its pace while the second's prefill runs, then both share.
func TestTwoTogetherShareThePace(t *testing.T) {
	got := play(New(simple(nil), 1, nil), at{0, streamed(1, 100, 21)}, at{0, streamed(2, 110, 11)})
	// 100: 1 has its first token, 20 steps to go. Until 210, 110 ms at 1/22: 5 of them.
	// Then 12 ms a step: 2's 10 are done at 330, when 1 has 5 left at 11 ms.
	same(t, got, event{100 * ms, 1, "first"}, event{210 * ms, 2, "first"}, event{330 * ms, 2, "served"}, event{385 * ms, 1, "served"})
}

func TestPrefillsRunOneByOne(t *testing.T) {
	got := play(New(simple(nil), 1, nil), at{0, streamed(1, 100, 1)}, at{50 * ms, streamed(2, 10, 1)}, at{300 * ms, streamed(3, 10, 1)})
	same(t, got, event{100 * ms, 1, "first"}, event{100 * ms, 1, "served"}, event{110 * ms, 2, "first"}, event{110 * ms, 2, "served"},
		event{310 * ms, 3, "first"}, event{310 * ms, 3, "served"})
}

func TestAFullBatchKeepsTheNextWaiting(t *testing.T) {
	s := New(simple(func(o *Own) { o.Slots = 1 }), 1, nil)
	got := play(s, at{0, streamed(1, 100, 11)}, at{0, streamed(2, 50, 1)})
	same(t, got, event{100 * ms, 1, "first"}, event{210 * ms, 1, "served"}, event{260 * ms, 2, "first"}, event{260 * ms, 2, "served"})
}

func TestMemoryIsReservedAndTheHeadOfTheLineBlocks(t *testing.T) {
	s := New(simple(func(o *Own) { o.KVTokens = 200 }), 1, nil)
	got := play(s, at{0, streamed(1, 100, 11)}, at{0, streamed(2, 100, 1)}, at{0, streamed(3, 1, 1)})
	// 1 has 111 until 210; 2 needs 101; 3 would fit, and waits behind it.
	same(t, got, event{100 * ms, 1, "first"}, event{210 * ms, 1, "served"},
		event{310 * ms, 2, "first"}, event{310 * ms, 2, "served"}, event{311 * ms, 3, "first"}, event{311 * ms, 3, "served"})
}

func TestWhatNeverFitsIntoMemoryIsTooLong(t *testing.T) {
	s := New(simple(func(o *Own) { o.KVTokens = 200 }), 1, nil)
	j := streamed(1, 150, 51)
	if first, total := s.Predict(0, j); first != Never || total != Never || s.PredictFirst(0, j) != Never {
		t.Errorf("predicted %d, %d", first, total)
	}
	got := play(s, at{0, j}, at{0, streamed(2, 100, 1)})
	same(t, got, event{50 * ms, 1, "too_long"}, event{100 * ms, 2, "first"}, event{100 * ms, 2, "served"})
	if got[0].Outcome.Status != 400 {
		t.Errorf("status %d", got[0].Outcome.Status)
	}
}

func TestLeadingBlocksThatAreThereCostNothing(t *testing.T) {
	s := New(simple(func(o *Own) { o.CacheTokens = 10 * blockTokens }), 1, nil)
	first := &Job{ID: 1, Input: 2*blockTokens + 100, Output: 1, Blocks: []uint64{7, 8, 9}}
	again := &Job{ID: 2, Input: 2*blockTokens + 100, Output: 1, Blocks: []uint64{7, 8, 9}}
	other := &Job{ID: 3, Input: 2 * blockTokens, Output: 1, Blocks: []uint64{7, 5}}
	behind := &Job{ID: 4, Input: 2 * blockTokens, Output: 1, Blocks: []uint64{6, 8}}
	whole := &Job{ID: 5, Input: 2 * blockTokens, Output: 1, Blocks: []uint64{7, 8}}
	got := play(s, at{0, first}, at{0, again}, at{0, other}, at{0, behind}, at{0, whole})
	want := []int64{0, 2 * blockTokens, blockTokens, 0, blockTokens} // a block that is not full is not kept; the last token is always computed
	var end int64
	for i, n := range got {
		end += (n.Job.Input - want[i]) * ms
		if n.At != end || n.Job.Cached != want[i] || n.Outcome.Usage.Cached != want[i] {
			t.Errorf("%d: cached %d at %d, want %d at %d", n.Job.ID, n.Job.Cached, n.At, want[i], end)
		}
	}
}

// What one leaves that its caller dropped before its prefill was never computed: who is
// behind it does that.
func TestBlocksOfAPromptThatWasDroppedAreComputedByTheNext(t *testing.T) {
	s := New(simple(func(o *Own) { o.CacheTokens = 10 * blockTokens }), 1, nil)
	prompt := []uint64{1, 2}
	input := int64(2*blockTokens + 1)
	busy, dropped := streamed(1, 100, 1), &Job{ID: 2, Input: input, Output: 1, Blocks: prompt}
	s.Take(0, busy)
	s.Take(0, dropped)
	next, after := &Job{ID: 3, Input: input, Output: 1, Blocks: prompt}, &Job{ID: 4, Input: input, Output: 1, Blocks: prompt}
	s.Take(0, next)
	s.Take(0, after)
	s.Drop(50*ms, dropped)
	finish(s, nil)
	if next.Cached != 0 || after.Cached != 2*blockTokens {
		t.Errorf("cached %d and %d, want none and all", next.Cached, after.Cached)
	}
	gone := &Job{ID: 5, Input: input, Output: 1, Blocks: []uint64{3, 4}}
	now := int64(100 * second)
	s.Take(now, gone)
	s.Drop(now+600*ms, gone) // one block and a bit
	last := &Job{ID: 6, Input: input, Output: 1, Blocks: []uint64{3, 4}}
	s.Take(now+600*ms, last)
	if finish(s, nil); last.Cached != blockTokens {
		t.Errorf("cached %d, want the block that was computed", last.Cached)
	}
}

func TestADropInAnyPhaseIsTheLastOfAJob(t *testing.T) {
	tests := []struct {
		name   string
		faults []Fault
		drop   int64
		want   []event
	}{
		{"as its prefill runs", nil, 50 * ms, []event{{160 * ms, 2, "first"}, {270 * ms, 2, "served"}}},
		{"as it is decoded", nil, 111 * ms, []event{{100 * ms, 1, "first"}, {210 * ms, 2, "first"}, {320 * ms, 2, "served"}}},
		{"after its end", nil, 10 * second, []event{{100 * ms, 1, "first"}, {210 * ms, 2, "first"}, {270 * ms, 1, "served"}, {325 * ms, 2, "served"}}},
		{"as it hangs", []Fault{{Kind: Hang, From: 0, To: 1}}, 50 * ms, []event{{110*ms + 1, 2, "first"}, {220*ms + 1, 2, "served"}}},
		{"as it is refused", []Fault{{Kind: FailFast, From: 0, To: 1}}, 10 * ms, []event{{110*ms + 1, 2, "first"}, {220*ms + 1, 2, "served"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(simple(nil), 1, tt.faults)
			j := streamed(1, 100, 11)
			news := s.Advance(0, nil)
			s.Take(0, j)
			next := int64(len(tt.faults)) // as the fault ends
			news = s.Advance(next, news)
			s.Take(next, streamed(2, 110, 11))
			news = s.Advance(tt.drop, news)
			s.Drop(tt.drop, j)
			s.Drop(tt.drop, j) // once is enough
			got := finish(s, news)
			same(t, got, tt.want...)
			if s.InFlight() != 0 {
				t.Errorf("in flight %d", s.InFlight())
			}
		})
	}
}

func TestADropInTheQueueLetsTheNextGo(t *testing.T) {
	s := New(simple(func(o *Own) { o.KVTokens = 200 }), 1, nil)
	big := streamed(2, 190, 1)
	s.Take(0, streamed(1, 50, 50))
	s.Take(0, big)
	s.Take(0, streamed(3, 50, 1))
	s.Take(0, streamed(4, 50, 1)) // 202 with 1 and 3
	s.Drop(50*ms, big)
	news := s.Advance(110*ms, nil)
	same(t, news, event{50 * ms, 1, "first"}, event{100 * ms, 3, "first"}, event{100 * ms, 3, "served"})
}

func TestAProbeKnowsLatenciesAtAboutTheSameLoad(t *testing.T) {
	s := New(simple(nil), 1, nil)
	if n, us := s.Probe(0); n != 0 || us != 0 {
		t.Errorf("new: %d, %d", n, us)
	}
	for range 40 {
		now := s.recent.n
		s.recent.add(0, int64(100+now))
		s.recent.add(9, 5000)
	}
	if _, us := s.Probe(0); us < 100 || us > 200 {
		t.Errorf("with none in flight: %d", us)
	}
	for range 9 {
		s.Take(0, streamed(1, 100, 2))
	}
	if n, us := s.Probe(0); n != 9 || us != 5000 {
		t.Errorf("with 9 in flight: %d, %d", n, us)
	}
}

func TestAProbeForgetsWhatIsOld(t *testing.T) {
	s := New(simple(nil), 1, nil)
	for range recents {
		s.recent.add(0, 900)
	}
	for range recents / 2 {
		s.recent.add(0, 100)
	}
	if _, us := s.Probe(0); us != 100 {
		t.Errorf("%d, want what the newest had", us)
	}
}
