package route

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

const (
	line  = 64
	extra = 8 // the allocator's word before what is larger than 512 bytes and has pointers
)

func TestWhatAnAttemptTouchesFillsFewCacheLines(t *testing.T) {
	var s slot
	var l learned
	var y tally
	for what, v := range map[string]struct{ got, want uintptr }{
		"a slot":                      {unsafe.Sizeof(s), 3 * line},
		"a slot before its round":     {unsafe.Offsetof(s.round), line},
		"a slot before its limits":    {unsafe.Offsetof(s.taken), 2 * line},
		"a call":                      {unsafe.Sizeof(Call{}), 344},
		"a tally":                     {unsafe.Sizeof(y), 7 * line},
		"a tally before its sums":     {unsafe.Offsetof(y.worked), line},
		"what a candidate reads":      {unsafe.Offsetof(l.latency) + extra, 2 * line},
		"an endpoint's breaker":       {(unsafe.Offsetof(l.breaker) + extra) % line, 0},
		"an endpoint's first numbers": {unsafe.Sizeof(l.running) + extra, 3 * line},
	} {
		if v.got != v.want {
			t.Errorf("%s: %d bytes, want %d", what, v.got, v.want)
		}
	}
}

func TestAnAttemptIsChargedAsTheEndpointWasWhenItWasSent(t *testing.T) {
	was := &Endpoint{ContextWindow: 1000, Price: money.Price{Input: 2_000_000, Output: 3_000_000}}
	is := &Endpoint{ContextWindow: 700, Price: money.Price{Input: 5_000_000}}
	for _, now := range []*Endpoint{was, is} {
		l := &learned{window: now.ContextWindow}
		l.describes(now)
		s := &slot{learned: l, endpoint: was}
		o := &Outcome{HasUsage: true, Usage: money.Usage{Input: 900, Output: 10}}
		if cost, read := s.cost(o.Usage), s.read(o); cost != 1_830_000 || read != 900 {
			t.Errorf("with a window of %d now: %d, %d tokens", now.ContextWindow, cost, read)
		}
	}
}

func TestSlowdownIsWhatTokensDoNotExplain(t *testing.T) {
	for rule, tt := range map[string]struct {
		slot   slot
		tpot   int64
		now    int64
		output int64
		want   delay
	}{
		"streamed: the first token":              {slot{classes: streamClass, firstAt: 600_000, input: 1000}, 0, 9_000_000, 500, delay{600_000, 2}},
		"streamed, no first token seen: the end": {slot{classes: streamClass, input: 1000}, 0, 1_200_000, 500, delay{1_200_000, 4}},
		"whole: 15 ms a token":                   {slot{input: 1000}, 0, 3_600_000, 100, delay{600_000, 2}},
		"whole: the endpoint's own pace":         {slot{input: 1000}, 5_000, 800_000, 100, delay{300_000, 1}},
		"whole: a pace above any is 1 s":         {slot{input: 8000}, 1 << 60, 2_000_000, 1, delay{1_000_000, 1}},
	} {
		tt.slot.learned = &learned{}
		tt.slot.learned.describes(&Endpoint{Capacity: Capacity{TPOT: tt.tpot}})
		if got := tt.slot.delay(tt.now, used{tt.slot.input, tt.output}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", rule, got, tt.want)
		}
	}
}

func TestWhatWasCachedExplainsNothing(t *testing.T) {
	expected := slot{learned: &learned{}, input: 10_000, cached: 6000}
	for rule, tt := range map[string]struct {
		o    Outcome
		want int64
	}{
		"without usage: as expected":          {Outcome{}, 4000},
		"a guess: as expected":                {Outcome{HasUsage: true, Estimated: true, Usage: money.Usage{Input: 10_000}}, 4000},
		"usage: the part that it says":        {Outcome{HasUsage: true, Usage: money.Usage{Input: 12_000, Cached: 3000}}, 7500},
		"usage without any: all":              {Outcome{HasUsage: true, Usage: money.Usage{Input: 12_000}}, 10_000},
		"usage that says more than all: none": {Outcome{HasUsage: true, Usage: money.Usage{Input: 10, Cached: 1 << 62}}, 0},
	} {
		if got := expected.usage(&tt.o).uncached; got != tt.want {
			t.Errorf("%s: %d were read, want %d", rule, got, tt.want)
		}
	}
	half := slot{classes: streamClass, firstAt: 600_000, input: 10_000, learned: &learned{}}
	if got := half.delay(second, used{uncached: 4000}); got != (delay{600_000, 1}) {
		t.Errorf("%+v", got)
	}
}

func TestTheSecondHomeTakesOverWhereItIsMuchBetterOrTheFirstIsNone(t *testing.T) {
	for _, tt := range []struct {
		first, second, most float64
		want                uint8
	}{
		{100, 81, 200, firstHome}, {100, 79, 200, secondHome}, {100, 80, 200, firstHome},
		{100, 99, 99, secondHome}, {100, 101, 99, firstHome}, {100, 100, 99, firstHome},
	} {
		first, second := refuge{score: tt.first, number: firstHome}, refuge{score: tt.second, number: secondHome}
		if got := first.or(second, tt.most); got.number != tt.want {
			t.Errorf("%+v: home %d", tt, got.number)
		}
	}
	if got := (refuge{}).or(refuge{score: 9, number: secondHome}, 1); got.number != secondHome {
		t.Errorf("the first takes nothing: home %d", got.number)
	}
}

func TestACensoredSampleRaisesWhatItCanAndLowersNothing(t *testing.T) {
	l := latency{ttft: average{value: 1000, n: 5}, slowdown: 2}
	for _, tt := range []struct{ sample, want delay }{
		{delay{500, 1}, delay{1000, 2}},
		{delay{2000, 1}, delay{1200, 2}},
		{delay{500, 7}, delay{1200, 3}},
	} {
		l.raise(1, tt.sample)
		if got := (delay{l.ttft.value, l.slowdown}); got != tt.want {
			t.Errorf("after %+v: %+v, want %+v", tt.sample, got, tt.want)
		}
	}
	var none latency
	if none.raise(1, delay{500, 7}); none != (latency{}) {
		t.Errorf("what was never measured was raised: %+v", none)
	}
}

func TestAWorkloadsOwnLatencyIsNotLoweredByACancelledAttempt(t *testing.T) {
	s := slot{learned: &learned{}, tally: &tally{}, classes: streamClass}
	s.learned.latency = latency{ttft: average{value: 100_000, n: 9}, slowdown: 0.5}
	s.tally.latency = latency{ttft: average{value: 900_000, n: 9}, slowdown: 4.5}
	s.censored(400_000)
	if s.learned.ttft.value != 160_000 || s.tally.ttft.value != 900_000 || s.tally.slowdown != 4.5 {
		t.Errorf("endpoint %+v, workload %+v", s.learned.latency, s.tally.latency)
	}
}

func TestCountsFade(t *testing.T) {
	var s success
	s.add(0, 1)
	s.add(fadeEvery-1, 0) // within a quarter of a second of the last time they faded
	if s.ok != 1 || s.n != 2 {
		t.Errorf("%+v", s)
	}
	s.add(successHalf, 1)
	if s.ok != 1.5 || s.n != 2 {
		t.Errorf("a half-life later: %+v", s)
	}
	if ok, n := s.counts(3 * successHalf); ok != 0.375 || n != 0.5 || s.n != 2 {
		t.Errorf("read two later: %g of %g, and it is %+v", ok, n, s)
	}
}

func TestSlowdownsAreKeptWhereTheyAreAskedFor(t *testing.T) {
	sampled := func(st Strategy) *learned {
		w := &work{compiled: &workload{spec: &Workload{Strategy: st}}}
		s := slot{learned: &learned{}, tally: &tally{work: w}}
		for i := range int64(300) {
			s.sample(second+i, delay{1000, 1 + float64(i%100)/50})
		}
		return s.learned
	}
	if mix := sampled(P2C).spread.mix(); mix != -1 {
		t.Errorf("nobody asked: %g", mix)
	}
	l := sampled(LatencyWeighted)
	if mix, want := l.spread.mix(), 0.7*1.98+0.3*2.96; mix < want*31/32 || mix > want*33/32 {
		t.Errorf("%g, want about %g", mix, want)
	}
	l.spread.add(second+halveEvery+300, 1)
	if n := l.spread.counts.Total(); n > 151 || n < 100 {
		t.Errorf("%d after half a minute, want half and one", n)
	}
	l.spread.add(3600*second, 1e300)
	if half := l.spread.blend(); half != mostSlowdown {
		t.Errorf("%g an hour after, want the last one alone, as high as is counted", half)
	}
}

func TestLimitsReserveWhatNineAnswersInTenTake(t *testing.T) {
	var w work
	if got := w.provision(&Request{}); got != firstOutput {
		t.Errorf("before any answer: %d", got)
	}
	for i := range int64(2000) {
		w.output.learn(i, 10+i*7%1000) // in no order
	}
	if got := w.provision(&Request{}); got < 800 || got > 1100 {
		t.Errorf("of 10 to 1010: %d, want about 910", got)
	}
	if got := w.provision(&Request{MaxOutput: 4}); got != 4 {
		t.Errorf("of at most 4: %d", got)
	}
}

func TestWithoutAReaderNothingGrowsAndNothingIsLost(t *testing.T) {
	tr := newTraffic(t, 3, quiet)
	tr.router.Report(tr.now)
	const n = 20_000
	allocated := testing.AllocsPerRun(n-1, func() { tr.step() })
	var got Row
	for _, row := range tr.router.Report(tr.now).Rows {
		if row.Class == breaker.Any {
			got.Finished += row.Finished
			got.Cost = got.Cost.Plus(row.Cost)
			got.InFlight += row.InFlight
		}
	}
	used := tr.used.Usage
	want := Row{Finished: n, InFlight: outstandingAttempts, Cost: n * (&money.Price{Input: 1000, Output: 3000}).Cost(used)}
	if diff := cmp.Diff(want, got); diff != "" || allocated > 0 {
		t.Errorf("%g allocations an attempt\n%s", allocated, diff)
	}
}

func TestClassesAddUpTheirCombinations(t *testing.T) {
	tr := newTraffic(t, 1, quiet)
	for range 4000 {
		tr.step()
	}
	rows := tr.router.Report(tr.now).Rows
	if len(rows) != 4 {
		t.Fatalf("%d rows, want one a class", len(rows))
	}
	for _, row := range rows {
		if row.Class == breaker.Any && row.InFlight != outstandingAttempts {
			t.Errorf("in flight %d, want %d", row.InFlight, outstandingAttempts)
		}
		if row.Class > breaker.Any && (row.Finished >= rows[0].Finished || row.Finished < rows[0].Finished/3) {
			t.Errorf("class %d: %d of %d finished, want about half", row.Class, row.Finished, rows[0].Finished)
		}
		sum := uint64(0)
		for _, b := range row.TTFT {
			sum += b.Count
		}
		if sum != row.Admitted {
			t.Errorf("class %d: %d admitted, and times of %d", row.Class, row.Admitted, sum)
		}
	}
}

// counted: what endpoints count is what is in flight.
func counted(t testing.TB, r *Router) {
	t.Helper()
	inFlight, outstanding, pending := map[*learned]int64{}, map[*learned]int64{}, map[*learned]int64{}
	for i := range r.slots {
		if s := &r.slots[i]; s.serial != 0 {
			inFlight[s.learned]++
			outstanding[s.learned] += s.input + s.output
			if s.unread {
				pending[s.learned] += s.uncached()
			}
		}
	}
	for _, l := range r.learned {
		if l.inFlight != inFlight[l] || l.outstanding != outstanding[l] || l.pending != pending[l] {
			t.Fatalf("%s: in flight %d with %d tokens, %d wait, want %d with %d, %d", l.name, l.inFlight, l.outstanding, l.pending, inFlight[l], outstanding[l], pending[l])
		}
	}
}

// reported: the gauges of a report are what is in flight at the endpoints of the catalog.
func reported(t testing.TB, r *Router, now int64) {
	t.Helper()
	var got, want gauges
	for _, row := range r.Report(now).Rows {
		if row.Class == breaker.Any {
			got.inFlight += int64(row.InFlight)
			got.pending += int64(row.PendingPromptTokens)
			got.tokens += int64(row.OutstandingTokens)
		}
	}
	for i := range r.slots {
		if s := &r.slots[i]; s.serial != 0 && s.learned.leftAt == 0 {
			want.add(now, s)
		}
	}
	if got != want {
		t.Fatalf("reported %+v, want %+v", got, want)
	}
}

func TestAfterAnyOrderEveryGaugeIsZero(t *testing.T) {
	tr := newTraffic(t, 4, quiet)
	r := tr.router
	for i := range uint32(20_000) {
		u := Draw(7, i)
		a := tr.flights[u>>8%outstandingAttempts].attempt // also one that has ended
		switch u % 16 {
		case 0, 1:
			r.FirstToken(tr.now, a)
		case 2:
			r.Abandon(tr.now, a)
		case 3:
			r.Settle(tr.now, a, Outcome{Kind: OutcomeKind(u >> 20 % uint32(outcomeKinds))})
		case 4:
			tr.now += int64(u >> 16 % second)
			r.Tick(tr.now)
		case 5:
			reported(t, r, tr.now)
		case 6:
			r.Apply(tr.now, r.snapshot)
		default:
			tr.step()
		}
		r.events = r.events[:0]
		counted(t, r)
	}
	tr.now += 3600 * second
	r.Tick(tr.now)
	counted(t, r)
	reported(t, r, tr.now)
	if len(r.free) != len(r.slots) {
		t.Errorf("%d of %d slots are free", len(r.free), len(r.slots))
	}
	for _, l := range r.current {
		if l.oldest >= 0 || l.newest >= 0 {
			t.Errorf("%s waits for %d", l.name, l.oldest)
		}
	}
}
