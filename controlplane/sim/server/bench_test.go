package server

import (
	"math/rand/v2"
	"testing"
)

// mill is a server that is kept busy by jobs that come again as they end.
type mill struct {
	s    *Server
	jobs []*Job
	idle []*Job
	news []News
	r    *rand.Rand
	now  int64
	gap  float64
}

func newMill(m *Model, rate float64) *mill {
	w := &mill{s: New(m, 1, nil), r: rand.New(rand.NewPCG(1, 1)), gap: second / rate}
	for i := range int32(4000) {
		j := someJob(w.r, i)
		j.Output += 100
		w.jobs = append(w.jobs, j)
	}
	w.idle = append(w.idle, w.jobs...)
	for range 20_000 {
		w.turn()
	}
	return w
}

// turn is a job that comes, and all that becomes of others until then.
func (w *mill) turn() (events int) {
	w.now += int64(w.gap * w.r.ExpFloat64())
	w.news = w.s.Advance(w.now, w.news[:0])
	for i := range w.news {
		if !w.news[i].First {
			w.idle = append(w.idle, w.news[i].Job)
		}
	}
	n := len(w.idle) - 1
	if n < 0 {
		return len(w.news)
	}
	w.s.Take(w.now, w.idle[n])
	w.idle = w.idle[:n]
	return len(w.news) + 1
}

func mills() map[string]*mill {
	cached := &Model{Own: &Own{CacheTokens: 100_000}}
	limited := api(func(h *Hosted) { h.RequestsPerMinute = 6000; h.TokensPerMinute = 1e9 })
	return map[string]*mill{
		"own":    newMill(&Model{Own: &Own{}}, 0.8*(&Model{Own: &Own{}}).Capacity(1500, 130)),
		"cached": newMill(cached, 0.8*cached.Capacity(1500, 130)),
		"hosted": newMill(limited, 100),
	}
}

func TestASteadyServerAllocatesNothing(t *testing.T) {
	j := &Job{Input: 100, Output: 100}
	for name, w := range mills() {
		if n := testing.AllocsPerRun(5000, func() {
			w.turn()
			w.s.Predict(w.now, j)
			w.s.Probe(w.now)
		}); n != 0 {
			t.Errorf("%s: %v allocations a request", name, n)
		}
	}
}

func BenchmarkServer(b *testing.B) {
	for name, w := range mills() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += w.turn()
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	for name, w := range mills() {
		j := &Job{Input: 1500, Output: 130, Blocks: []uint64{1, 2, 3}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.s.Predict(w.now, j)
			}
		})
		b.Run(name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.s.PredictFirst(w.now, j)
			}
		})
	}
}

func BenchmarkProbe(b *testing.B) {
	w := mills()["own"]
	for b.Loop() {
		w.s.Probe(w.now)
	}
}
