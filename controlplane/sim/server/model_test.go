package server

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestQualityIsByLengthAndTheRequestsOwnLuck(t *testing.T) {
	small, large := api(nil), simple(nil)
	small.Quality = Quality{Valid: 0.9, UptoTokens: 100, Beyond: 0.5}
	large.Quality = Quality{Valid: 0.95}
	count := func(m *Model, input int64) (n int, by [2000]bool) {
		s := New(m, 1, nil)
		for i := range by {
			got := play(s, at{int64(i) * 100 * second, &Job{Input: input, Output: 1, Chance: uint32(i) * 0x9E3779B9}})
			if by[i] = got[0].Invalid; by[i] {
				n++
			}
		}
		return n, by
	}
	short, shorts := count(small, 99)
	long, _ := count(small, 100)
	better, betters := count(large, 99)
	for _, c := range []struct{ got, want int }{{short, 200}, {long, 1000}, {better, 100}} {
		if math.Abs(float64(c.got-c.want)) > 80 {
			t.Errorf("%d invalid answers of 2000, want %d", c.got, c.want)
		}
	}
	for i := range betters {
		if betters[i] && !shorts[i] {
			t.Fatal("the better model failed where the other did not")
		}
	}
	if none, _ := count(api(nil), 1e6); none != 0 {
		t.Errorf("%d invalid answers without any said", none)
	}
}

func TestCapacityIsWhatTheFormulasSay(t *testing.T) {
	x, y := 1649.0, 330.0 // log-normal lengths, medians 1000 and 200
	s := 32 / (0.015 + 0.0003*32)
	want := s / (y - 1 + 0.4*s*x/10_000)
	near(t, "defaults", (&Model{Own: &Own{}}).Capacity(x, y), want)
	near(t, "twice as fast", (&Model{Own: &Own{Speed: 2}}).Capacity(x, y), 2*want)
	near(t, "prompts only", (&Model{Own: &Own{}}).Capacity(1000, 1), 10)
	near(t, "short answers", (&Model{Own: &Own{}}).Capacity(1000, 2), 10)
	near(t, "memory for two", (&Model{Own: &Own{KVTokens: 2000}}).Capacity(500, 500), 1/(499*0.0156/2+0.4*0.05))
	near(t, "hosted, by requests", api(func(h *Hosted) { h.RequestsPerMinute = 120; h.TokensPerMinute = 1e6 }).Capacity(100, 100), 2)
	near(t, "hosted, by tokens", api(func(h *Hosted) { h.RequestsPerMinute = 6000; h.TokensPerMinute = 60_000 }).Capacity(100, 100), 5)
	near(t, "hosted, by concurrency", api(func(h *Hosted) { h.Concurrency = 6 }).Capacity(100, 11), 20)
	if got := api(nil).Capacity(100, 11); !math.IsInf(got, 1) {
		t.Errorf("hosted, without a limit: %v", got)
	}
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*want {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

// TestCapacityIsWhereQueuesBegin: a little below it, waits are short; above, they grow.
func TestCapacityIsWhereQueuesBegin(t *testing.T) {
	wait := func(load float64) (mean float64) {
		m := &Model{Own: &Own{}}
		s, r := New(m, 1, nil), rand.New(rand.NewPCG(1, 2))
		gap, now, n := second/(load*m.Capacity(1649, 330)), 0.0, 6000
		var news []News
		jobs := make([]Job, n)
		for i := range jobs {
			now += gap * r.ExpFloat64()
			news = s.Advance(int64(now), news)
			size := func(median float64) int64 { return int64(median * math.Exp(r.NormFloat64())) }
			jobs[i] = Job{Input: size(1000), Output: size(200), Stream: true}
			s.Take(int64(now), &jobs[i])
		}
		for _, k := range finish(s, news) {
			if k.First {
				mean += float64(k.At-k.Job.came) / second / float64(n)
			}
		}
		return mean
	}
	if at, above := wait(0.7), wait(1.2); at > 1 || above < 30 {
		t.Errorf("mean time to a first token %.2f s at 0.7, %.2f s at 1.2", at, above)
	}
}

func TestSpeedIsByTheModel(t *testing.T) {
	near(t, "own", New(&Model{Own: &Own{Speed: 0.5}}, 1, nil).Speed(), 0.5)
	near(t, "own, not said", New(&Model{Own: &Own{}}, 1, nil).Speed(), 1)
	near(t, "hosted", New(api(func(h *Hosted) { h.Scale = 2 }), 1, nil).Speed(), 15.3/20)
}

func TestAModelIsCheckedWhole(t *testing.T) {
	fine := []*Model{{Own: &Own{}}, simple(nil), api(nil), api(func(h *Hosted) { h.Fixed = true; h.Phase = 59 * second })}
	for i, m := range fine {
		if err := m.Check(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	tests := []struct {
		model *Model
		want  []string
	}{
		{&Model{}, []string{"one of them"}},
		{&Model{Own: &Own{}, Hosted: &Hosted{}}, []string{"one of them"}},
		{&Model{Own: &Own{PrefillTPS: -1, Speed: math.NaN(), Slots: -1, Step: -1, StepEach: math.Inf(1), PrefillPace: 2, KVTokens: -1, CacheTokens: 100}},
			[]string{"prefill_tps", "speed", "slots", "step:", "step_each", "prefill_pace", "kv_tokens", "cache_tokens"}},
		{&Model{Hosted: &Hosted{Scale: -1, RequestsPerMinute: -1, TokensPerMinute: -1, Concurrency: -1, Fixed: true, Burst: 1, Phase: minute}},
			[]string{"latency", "scale", "requests_per_minute", "tokens_per_minute", "concurrency", "burst", "phase"}},
		{&Model{Hosted: &Hosted{Latency: &Latency{Rows: []Row{{-1, 0}}}}}, []string{"latency: times"}},
		{&Model{Own: &Own{}, Quality: Quality{Valid: 1.1, Beyond: -1, UptoTokens: -1}}, []string{"valid", "beyond", "upto_tokens"}},
		{&Model{Own: &Own{}, Quality: Quality{Beyond: 0.5}}, []string{"nothing is beyond"}},
	}
	for i, tt := range tests {
		err := tt.model.Check()
		if err == nil {
			t.Errorf("%d passed", i)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d: nothing of %q in\n%v", i, want, err)
			}
		}
	}
}
