package route_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

func strategiesOf(f func(route.Strategy)) {
	for st := route.P2C; st <= route.CostTiered; st++ {
		f(st)
	}
}

func TestAPickAllocatesNothing(t *testing.T) {
	strategiesOf(func(st route.Strategy) {
		t.Run(st.String(), func(t *testing.T) {
			l := newLoad(t, st, 50)
			if n := testing.AllocsPerRun(2*applyEvery, l.run); n != 0 {
				t.Errorf("%g allocations in Next, FirstToken and Settle", n)
			}
			if l.failure != nil {
				t.Error(l.failure)
			}
		})
	})
}

func TestAPickByRuleScoreAllocatesNothing(t *testing.T) {
	for _, st := range []route.Strategy{route.P2C, route.Predictive, route.CostTiered} {
		l := newHomed(t, st, 50, route.AffinityScore)
		if n := testing.AllocsPerRun(2*applyEvery, l.run); n != 0 || l.failure != nil {
			t.Errorf("%v: %g allocations in Next, FirstToken and Settle, error %v", st, n, l.failure)
		}
	}
}

// BenchmarkPick counts Next, FirstToken and Settle under load as one, and what the load
// itself costs (harness). Beside what the clock says stands what it would say on a machine
// with nothing else to do (quiet); read that as multiples of the yardstick, and of what 16
// endpoints cost.
func BenchmarkPick(b *testing.B) {
	unit, valid := yardstick()
	name := "yardsticks"
	if !valid {
		name = "VOID-yardsticks"
	}
	b.Run("yardstick", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(unit, "ns/yardstick")
	})
	b.Run("harness", func(b *testing.B) {
		l := newLoad(b, route.Weighted, 16)
		for b.Loop() {
			l.idle()
		}
	})
	strategiesOf(func(st route.Strategy) {
		least := 0.0
		for _, n := range []int{16, 128, 1024} {
			b.Run(fmt.Sprintf("%v/%d", st, n), func(b *testing.B) {
				ns := benchmarkPick(b, newLoad(b, st, n))
				if n == 16 {
					least = ns
				}
				b.ReportMetric(ns, "quiet-ns/op")
				b.ReportMetric(ns/unit, name)
				if least > 0 {
					b.ReportMetric(ns/least, "x-of-16")
				}
			})
		}
	})
}

// BenchmarkHome is the same with homes, by either rule.
func BenchmarkHome(b *testing.B) {
	for rule, name := range []string{"median", "score"} {
		for _, st := range []route.Strategy{route.P2C, route.Predictive, route.CostTiered} {
			for _, n := range []int{16, 1024} {
				b.Run(fmt.Sprintf("%s/%v/%d", name, st, n), func(b *testing.B) {
					b.ReportMetric(benchmarkPick(b, newHomed(b, st, n, route.AffinityRule(rule))), "quiet-ns/op")
				})
			}
		}
	}
}

func benchmarkPick(b *testing.B, l *load) (quiet float64) {
	var laps laps
	b.ReportAllocs()
	from := time.Now()
	for b.Loop() {
		l.run()
		if l.n%lap != 0 {
			continue
		}
		now := time.Now()
		laps.add(l.n, now.Sub(from))
		from = now
		if l.n == lasts {
			b.StopTimer()
			l.begin()
			b.StartTimer()
			from = time.Now()
		}
	}
	if l.failure != nil {
		b.Fatal(l.failure)
	}
	return laps.quiet()
}

const lap = 500 // picks: short enough to be left alone by the machine now and then

// laps are the times of each five hundred picks between one Apply and the next.
type laps [applyEvery / lap]struct {
	took [64]time.Duration
	n    int
}

func (l *laps) add(pick uint32, took time.Duration) {
	k := &l[pick/lap%uint32(len(l))]
	k.took[k.n%len(k.took)] = took
	k.n++
}

// quiet is a pick's time when of each lap the quarter that was disturbed least counts.
func (l *laps) quiet() float64 {
	sum, picks := time.Duration(0), 0
	for i := range l {
		if all := l[i].took[:min(l[i].n, len(l[i].took))]; len(all) > 0 {
			slices.Sort(all)
			sum += all[len(all)/4]
			picks += lap
		}
	}
	return float64(sum.Nanoseconds()) / float64(max(picks, 1))
}
