package traffic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chat is what research simulated: 50 clients, Zipf 0.8.
func chat(cv float64) *Generator {
	return &Generator{Name: "chat", Crowd: Crowd{Clients: 50, Zipf: 0.8}, Rate: 100, CV: cv, Input: Length{Median: 1000, Sigma: 1}, Output: Length{Median: 200, Sigma: 1}}
}

func TestAGeneratorGivesTheSameForTheSameSeed(t *testing.T) {
	g := chat(1.5)
	g.Keys, g.Sessions, g.Labels.Cancel = Keys{Count: 40, Tokens: 4000, Zipf: 1}, Sessions{Turns: 5}, 0.1
	if d := cmp.Diff(play(t, g, 1, 5000), play(t, g, 1, 5000)); d != "" {
		t.Error(d)
	}
	for _, other := range []*Generator{{Name: "batch"}, {Name: "chat"}} {
		h := *g
		h.Name = other.Name
		seed := uint64(1)
		if h.Name == g.Name {
			seed = 2
		}
		same, a, b := 0, play(t, g, 1, 1000), play(t, &h, seed, 1000)
		for i := range a {
			if a[i].Chance == b[i].Chance || a[i].At == b[i].At || a[i].Input == b[i].Input && a[i].Output == b[i].Output {
				same++
			}
		}
		if same > 5 {
			t.Errorf("%s, seed %d: %d of 1000 arrivals are the same", h.Name, seed, same)
		}
	}
}

func TestAnotherRateIsTheSameTrafficFasterOrSlower(t *testing.T) {
	slow, fast := chat(4), chat(4)
	fast.Rate = 200
	a, b := play(t, slow, 1, 5000), play(t, fast, 1, 5000)
	for i := range a {
		if d := a[i].At - 2*b[i].At; d < -2 || d > 2 {
			t.Fatalf("arrival %d at %d and %d", i, a[i].At, b[i].At)
		}
		a[i].At, b[i].At = 0, 0
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

// TestArrivalsAreARenewalProcessInItsSteadyState: the count in a time T is λT from the very
// beginning, with a variance of CV²·λT a client (for long times).
func TestArrivalsAreARenewalProcessInItsSteadyState(t *testing.T) {
	for _, cv := range []float64{0, 0.5, 1.5, 4} {
		g, sum, first := chat(cv), 0.0, 0.0
		g.Until = 100_000_000
		const seeds = 40
		for seed := range uint64(seeds) {
			each(t, g, seed, everything, func(a *Arrival) {
				sum++
				if a.At < 1_000_000 {
					first++
				}
			})
		}
		want := g.Rate * 100 * seeds
		if d, se := sum-want, max(1, cv)*math.Sqrt(want); math.Abs(d) > 3*se {
			t.Errorf("CV %v: %.0f arrivals, want %.0f ± %.0f", cv, sum, want, 3*se)
		}
		// In the first second too: a process that began with the run would have more of them
		// (CV 4: 3.4 times as many).
		if d, se := first-want/100, max(1, cv)*math.Sqrt(want/100); math.Abs(d) > 3*se {
			t.Errorf("CV %v: %.0f arrivals in the first second, want %.0f ± %.0f", cv, first, want/100, 3*se)
		}
	}
}

func TestGapsOfAClientHaveTheirCVAndRatesAreZipfs(t *testing.T) {
	for _, cv := range []float64{0.5, 1, 4} {
		g := chat(cv)
		last, gaps, now := map[int32]int64{}, make([][]float64, 50), int64(0)
		each(t, g, 7, 200_000, func(a *Arrival) {
			if a.At < now {
				t.Fatal("not in order of time")
			}
			if was, ok := last[a.Client]; ok {
				gaps[a.Client] = append(gaps[a.Client], float64(a.At-was))
			}
			last[a.Client], now = a.At, a.At
		})
		for client, part := range zipf(50, 0.8) {
			if client%7 != 0 {
				continue
			}
			mean, got := moments(gaps[client])
			want, n := 1e6/(part*g.Rate), float64(len(gaps[client]))
			if math.Abs(mean-want) > 4*cv*want/math.Sqrt(n) {
				t.Errorf("CV %v, client %d: mean gap %.0f µs, want %.0f", cv, client, mean, want)
			}
			// The standard error of a Gamma's CV, of its 4th moment.
			if se := cv * math.Sqrt((2+6*cv*cv)/(4*n)) * 2; math.Abs(got-cv) > 4*se {
				t.Errorf("CV %v, client %d: %.3f ± %.3f", cv, client, got, 4*se)
			}
		}
	}
}

func TestLengthsAreLogNormalAndEndAtTheirMaximum(t *testing.T) {
	g := chat(1)
	g.Input.Max, g.Labels.MaxOutput = 8000, 1000
	var inputs, outputs []float64
	capped := 0
	each(t, g, 3, 200_000, func(a *Arrival) {
		inputs, outputs = append(inputs, float64(a.Input)), append(outputs, float64(a.Output))
		if a.Input > 8000 || a.Input < 1 || a.Output > 1000 || a.Output < 1 {
			t.Fatalf("%+v", a)
		}
		if a.Input == 8000 {
			capped++
		}
	})
	s, err := g.Stats()
	if err != nil || s.Count != 0 || s.Rate() != 100 {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, c := range map[string]struct {
		got  []float64
		want float64
	}{"input": {inputs, s.Input}, "output": {outputs, s.Output}} {
		mean, cv := moments(c.got)
		if math.Abs(mean-c.want) > 4*cv*mean/math.Sqrt(float64(len(c.got))) {
			t.Errorf("%s: mean %.2f, Stats says %.2f", name, mean, c.want)
		}
	}
	slices.Sort(inputs)
	for q, z := range map[float64]float64{0.1: -1.2816, 0.5: 0, 0.9: 1.2816} {
		want := 1000 * math.Exp(z)
		if got := inputs[int(q*float64(len(inputs)))]; math.Abs(got/want-1) > 0.02 {
			t.Errorf("quantile %v: %.0f, want %.0f", q, got, want)
		}
	}
	if part, want := float64(capped)/float64(len(inputs)), 1-normal(math.Log(8)); math.Abs(part-want) > 0.002 {
		t.Errorf("%.4f have the maximum, want %.4f", part, want)
	}
}

func TestALengthWithoutASpreadIsTheMedian(t *testing.T) {
	flat := Length{Median: 300}
	if r := (stream{1}); flat.draw(&r) != 300 || flat.mean(200) != 200 {
		t.Error("without a spread all are the median")
	}
	if got := (&Length{Median: 1000, Sigma: 1}).mean(LengthMax); math.Abs(got-1000*math.Exp(0.5)) > 0.1 {
		t.Errorf("mean %.2f", got)
	}
}

func TestRequestsOfAKeyShareItsWholeBlocksOnly(t *testing.T) {
	g := chat(1)
	g.Keys = Keys{Count: 400, Tokens: 4000, Zipf: 1}
	all := play(t, g, 1, 50_000)
	heads, counts, seen := map[string][]uint64{}, map[string]int{}, map[uint64]string{}
	for _, a := range all {
		if int64(len(a.Blocks)) != blocksOf(a.Input) || a.Input <= 4000 {
			t.Fatalf("%d blocks of %d tokens", len(a.Blocks), a.Input)
		}
		counts[a.Key]++
		if head, ok := heads[a.Key]; ok && !slices.Equal(a.Blocks[:7], head) {
			t.Fatalf("key %s has other blocks", a.Key)
		}
		heads[a.Key] = a.Blocks[:7] // 4000 tokens are 7 whole blocks
		for i, id := range a.Blocks {
			owner := a.Key
			if i >= 7 {
				owner = ""
			}
			if was, ok := seen[id]; ok && (was != owner || owner == "") {
				t.Fatalf("block %d of %q is one of %q", i, owner, was)
			}
			seen[id] = owner
		}
	}
	parts := zipf(400, 1)
	for _, k := range []int{0, 1, 10, 100} {
		name := "chat/" + []string{0: "0", 1: "1", 10: "10", 100: "100"}[k]
		want := parts[k] * float64(len(all))
		if math.Abs(float64(counts[name])-want) > 4*math.Sqrt(want) {
			t.Errorf("key %s in %d requests, want %.0f", name, counts[name], want)
		}
	}
	if s, err := g.Stats(); err != nil || math.Abs(s.Input-(4000+1000*math.Exp(0.5))) > 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWithoutKeysNothingIsSharedAndNothingIsSaidOfBlocks(t *testing.T) {
	for _, a := range play(t, chat(1), 1, 100) {
		if a.Blocks != nil || a.Key != "" {
			t.Fatalf("%+v", a)
		}
	}
}

func TestBodiesOfATraceComeAtGeneratedTimes(t *testing.T) {
	tr := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	want := play(t, tr, 1, everything)
	g := &Generator{Name: "chat", Crowd: Crowd{Clients: 5}, Rate: 20, CV: 1.5, Bodies: tr, Labels: Labels{Tenant: "acme", MaxOutput: 600}}
	got := play(t, g, 1, len(want)+5)
	for i := range want {
		if got[i].Input != want[i].Input || got[i].Output != min(600, want[i].Output) || got[i].Key != want[i].Key || got[i].Tenant != "acme" || !slices.Equal(got[i].Blocks, want[i].Blocks) {
			t.Fatalf("body %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if again := got[len(want)]; again.Input != want[0].Input || again.Key == want[0].Key {
		t.Errorf("the second lap begins with %+v", again)
	}
	if mean, _ := moments(gapsOf(got)); math.Abs(mean/50_000-1) > 0.06 {
		t.Errorf("mean gap %.0f µs, want 50,000", mean)
	}
	s, err := g.Stats()
	if err != nil || s.Rate() != 20 || s.Count != 0 || math.Abs(s.Input-12_035.1) > 1 || s.Output > 342 {
		t.Errorf("%+v, %v", s, err)
	}
	g.Input = Length{Median: 1}
	if err := g.Check(); err == nil || !strings.Contains(err.Error(), "leave out input") {
		t.Error(err)
	}
	g.Input, tr.Format = Length{}, "csv"
	if err := g.Check(); err == nil || !strings.Contains(err.Error(), `format: "csv"`) {
		t.Error(err)
	}
}

func TestAGeneratorKeepsToItsTimes(t *testing.T) {
	g := chat(1)
	g.From, g.Until, g.Crowd.First = 120_000_000, 180_000_000, 25
	all := play(t, g, 1, everything)
	if n := len(all); n < 5500 || n > 6500 || all[0].At < g.From || all[n-1].At >= g.Until {
		t.Errorf("%d arrivals", n)
	}
	for i := range all {
		if all[i].Client < 25 || all[i].Client >= 75 {
			t.Fatalf("client %d", all[i].Client)
		}
	}
	s, _ := g.Open(1)
	drain(t, s, everything)
	if more, err := s.Next(new(Arrival)); more || err != nil {
		t.Errorf("after the end: %v, %v", more, err)
	}
}

func TestAGeneratorsFaultsAreNamedAllAtOnce(t *testing.T) {
	g := &Generator{Name: "chat", CV: -1, From: 5, Until: 4, Input: Length{Median: math.NaN(), Sigma: -1}, Keys: Keys{Count: -1}, Sessions: Sessions{Turns: 0.5, Live: -1}}
	err := g.Check()
	for _, want := range []string{`traffic "chat": `, "rate: 0", "cv: -1", "until: 4µs", "input.median: NaN", "input.sigma: -1", "output.median: 0", "keys.count: -1", "sessions.turns: 0.5", "sessions.live: -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
	if _, err := g.Open(1); err == nil {
		t.Error("it opens")
	}
	if _, err := g.Stats(); err == nil {
		t.Error("it has stats")
	}
	if err := chat(0).Check(); err != nil {
		t.Error(err)
	}
}

func TestGeneratingAllocatesNothing(t *testing.T) {
	g := chat(1.5)
	g.Keys = Keys{Count: 400, Tokens: 4000, Zipf: 1}
	s, err := g.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	var a Arrival
	next := func() { _, _ = s.Next(&a) }
	for range 200_000 {
		next() // each key is named once, and the longest prompt is written
	}
	if n := testing.AllocsPerRun(10_000, next); n > 0 {
		t.Errorf("%v allocations an arrival", n)
	}
}
