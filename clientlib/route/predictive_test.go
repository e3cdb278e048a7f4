package route

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/test/story"
)

func TestPredictiveIsThatOfTheVectors(t *testing.T) {
	story.Table(t, "../../test/vectors/predictive.txt", func(question string) string {
		name, rest, _ := strings.Cut(question, " ")
		var n []float64
		for v := range strings.FieldsSeq(rest) {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			n = append(n, f)
		}
		return strconv.FormatFloat(predictiveTable(name, n), 'g', -1, 64)
	})
}

func predictiveTable(name string, n []float64) float64 {
	switch name {
	case "span":
		m := manner{read: n[0], pace: n[1], slots: n[2]}
		return m.span(n[6], n[7], &burden{n[3], n[4], n[5]})
	case "mix":
		return mix(n[0], n[1], n[2], n[3], n[4])
	case "eighths":
		return eighths(n[0], int(n[1]))
	}
	return fitness(n[0], n[1], n[2], n[3])
}

// The roots are of binary64: their product is the power as nearly as that can be said.
func TestEighthsArePowers(t *testing.T) {
	for k := range 9 {
		for _, x := range []float64{0, 1e-300, 0.02, 0.5, 1, 3, 1e300} {
			if got, want := eighths(x, k), math.Pow(x, float64(k)/8); math.Abs(got-want) > 1e-14*want {
				t.Errorf("%g^(%d/8) = %g, want %g", x, k, got, want)
			}
		}
	}
}

// FuzzSpan: more load or more prompts before it never make a place look better, and nothing that
// can be declared or told makes a score no number.
func FuzzSpan(f *testing.F) {
	f.Add(100.0, 15_000.0, uint16(32), int64(1000), int64(50), 3.0, 2000.0, 1.0, 500.0)
	f.Add(0.0, 15_000.0, uint16(0), int64(0), int64(0), 0.0, 0.0, 0.0, 0.0)
	f.Add(1e6, 1e6, uint16(1), int64(1<<40), int64(1<<40), 1e18, 1e18, 1.0, 1.0)
	f.Fuzz(func(t *testing.T, read, pace float64, slots uint16, uncached, answer int64, load, pending, more, longer float64) {
		m := manner{read: within(read, 1e8), pace: within(pace, 1e8), slots: float64(slots), speed: 1}
		b := burden{within(float64(uncached), 1<<40), within(float64(answer), 1<<40), 500}
		load, pending = within(load, 1e18), within(pending, 1e18)
		s := m.span(load, pending, &b)
		if s < 0 || math.IsInf(s, 0) || math.IsNaN(s) {
			t.Fatalf("%+v at %g, %g: %g", m, load, pending, s)
		}
		if worse := m.span(load+within(more, 1e18), pending, &b); worse < s {
			t.Errorf("%+v: %g with more load, %g before", m, worse, s)
		}
		if worse := m.span(load, pending+within(longer, 1e18), &b); worse < s {
			t.Errorf("%+v: %g with more prompts before it, %g without", m, worse, s)
		}
		usual := foresight{usual: manner{read: m.read / 2, pace: m.pace, slots: m.slots}, load: load, pending: pending}
		if v := usual.temper(&m, &b, 0); v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("%+v is tempered by %g", m, v)
		}
	})
}

// within is any number as one from 0 to most.
func within(v, most float64) float64 {
	if !(v >= 0) {
		return 0
	}
	return min(v, most)
}

// What waits is counted once and given back once, however an attempt ends.
func TestAPromptWaitsUntilItIsReadOnce(t *testing.T) {
	for name, way := range map[string]struct {
		stream bool
		end    func(x *teller, a Attempt)
	}{
		"a first token": {true, func(x *teller, a Attempt) {
			x.router.FirstToken(x.now, a)
			x.router.FirstToken(x.now, a)
		}},
		"an end without one":  {true, func(x *teller, a Attempt) { x.router.Settle(x.now, a, Outcome{Kind: Faulted}) }},
		"nobody knows":        {true, func(x *teller, a Attempt) { x.router.Abandon(x.now, a) }},
		"lost":                {true, func(x *teller, a Attempt) { x.router.Tick(x.now + 3600*second) }},
		"its time has passed": {false, func(x *teller, a Attempt) { x.router.Tick(x.now + prefill(1000)) }},
		"twice": {false, func(x *teller, a Attempt) {
			x.router.Tick(x.now + prefill(1000))
			x.router.Tick(x.now + second)
			x.router.FirstToken(x.now+second, a)
		}},
	} {
		x := newTeller(t, func(c *Catalog) {
			c.Endpoints[0].Capabilities, c.Endpoints[1].Capabilities = []string{"stream"}, []string{"stream"}
		})
		pending := func() (n int64) {
			for _, l := range x.router.current {
				n += l.pending
			}
			return n
		}
		c := x.router.Begin(x.now, "w0", Request{Input: 1000, Stream: way.stream})
		s := x.router.Next(x.now, 1, &c)
		if s.Kind != Send || pending() != 1000 {
			t.Fatalf("%s: %d tokens wait: %v", name, pending(), s.Err)
		}
		if x.router.Tick(x.now + 1); pending() != 1000 {
			t.Errorf("%s: %d tokens wait while nothing was read", name, pending())
		}
		if way.end(x, s.Attempt); pending() != 0 {
			t.Errorf("%s: %d tokens wait for ever", name, pending())
		}
		if x.router.Settle(x.now+second, s.Attempt, Outcome{Kind: Served}); pending() != 0 {
			t.Errorf("%s: %d tokens wait after the end", name, pending())
		}
	}
}

func TestWhatWaitedElsewhereIsTheFleetsLessTheOwnOfThen(t *testing.T) {
	l := &learned{}
	l.shift(second, ownLoad{1, 700})
	l.shift(2*second, ownLoad{1, 50})
	l.shift(3*second, ownLoad{0, -700})
	for at, want := range map[int64]float64{second / 2: 1000, second: 300, 2*second + 1: 250, 3 * second: 950} {
		if l.hear(&word{at: at, pending: 1000}); l.queued != want {
			t.Errorf("at %d: %g of others, want %g", at, l.queued, want)
		}
	}
	if l.hear(&word{at: second, pending: 600}); l.queued != 0 {
		t.Errorf("%g of others, of less than the own", l.queued)
	}
}

func TestTheMedianOfAnswersIsFound(t *testing.T) {
	var o outputs
	if o.typical() != firstOutput {
		t.Errorf("%g before there is an answer", o.typical())
	}
	for i := range int64(20_000) {
		o.learn(i, []int64{100, 200, 300, 9000, 40}[Draw(uint32(i), 0)%5])
	}
	if v := o.typical(); v < 150 || v > 250 {
		t.Errorf("%g, want about 200", v)
	}
	for i := range int64(200) {
		o.learn(i, 0)
	}
	if v := o.typical(); v < 0 {
		t.Errorf("%g", v)
	}
}

func TestWhoIsSelfHosted(t *testing.T) {
	for name, v := range map[string]struct {
		endpoint Endpoint
		want     bool
	}{
		"a provider's":          {Endpoint{Name: "gpt", Dialect: "openai"}, false},
		"with a capacity":       {Endpoint{Name: "gpu", Dialect: "openai-compatible", Capacity: Capacity{Slots: 1}}, true},
		"with metrics":          {Endpoint{Name: "gpu", Metrics: "sglang"}, true},
		"one of many instances": {Endpoint{Name: InstanceName("gpu", "10.0.0.1:80")}, true},
		"with instances":        {Endpoint{Name: "gpu", Instances: Instances{DNS: "gpu:80"}}, true},
		"a model server's":      {Endpoint{Name: "gpu", Dialect: "vllm"}, true},
	} {
		if got := v.endpoint.selfHosted(); got != v.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// predicting is a router of which all that is known is two answers at its one endpoint with a share, the
// second twice as slow as its tokens explain.
func predicting(t *testing.T) (*teller, *pool, int32) {
	x := newTeller(t, func(c *Catalog) { c.Endpoints[0].Metrics, c.Endpoints[1].Weight = "vllm", 0 })
	usual := prefill(1000) + firstOutput*tpot
	x.settle(x.send(1000), usual, Outcome{Kind: Served}) // the first says nothing
	x.settle(x.send(1000), 2*usual, Outcome{Kind: Served})
	return x, x.router.works["w0"].list[0], 0
}

func TestAnOwnSampleOfSlowdownCountsTwice(t *testing.T) {
	x, p, place := predicting(t)
	f := foresight{slowdown: 1, manners: []manner{{at: -silence}, {at: -silence}}}
	if got, want := x.router.health(x.now, p, place, &f), math.Sqrt((2*2+3*1)/5.0); got != want {
		t.Errorf("%g, want %g", got, want)
	}
}

func TestCachedTokensAreNotRead(t *testing.T) {
	x, p, place := predicting(t)
	c := x.router.Begin(x.now, "w0", Request{Input: 1000, Stream: true})
	var whole, part, more Inputs
	x.router.predict(x.now, p, place, &c, 0, &whole)
	x.router.predict(x.now, p, place, &c, 400, &part)
	x.router.predict(x.now, p, place, &c, 4000, &more)
	if whole.Time-part.Time != 400*kappa || whole.Time-more.Time != 1000*kappa {
		t.Errorf("%g, %g with 400 cached, %g with more than there are", whole.Time, part.Time, more.Time)
	}
}

func TestWithABiasTheFirstWinsATie(t *testing.T) {
	for _, v := range []struct {
		a, b, bias float64
		tie        uint32
		want       uint8
	}{
		{2, 2, 0, 0, 0}, {2, 2, 0, 1 << 31, 1}, {2, 2, 1, 1 << 31, 1}, {2, 1, 0, 0, 1}, {1, 2, 1, 1 << 31, 0},
		{0.5, 1, 0.5, 1 << 31, 0}, {0.5, 0.9, 0.5, 0, 1}, {2, 1, 2, 1 << 31, 0}, {2, 0.9, 2, 0, 1},
	} {
		if got := better(v.a, v.b, v.bias, v.tie); got != v.want {
			t.Errorf("%+v: %d", v, got)
		}
	}
}
