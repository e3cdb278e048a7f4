package route_test

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// shuttle is a router with a catalog, and one call that is used over and over.
type shuttle struct {
	router *route.Router
	call   route.Call
	now    int64
	seed   uint32
}

func newShuttle(tb testing.TB, strategy route.Strategy, endpoints int) *shuttle {
	c := large(endpoints, 1)
	c.Workloads[0].Strategy = strategy
	s := &shuttle{router: route.NewRouter(), now: 1_000_000}
	s.router.Apply(s.now, compile(tb, nil, c, nil))
	return s
}

var asked = route.Request{Needs: []string{"tools"}, Stream: true, Input: 1200, MaxOutput: 400}

func (s *shuttle) run(tb testing.TB) {
	s.now += 1000
	s.seed++
	s.call = s.router.Begin(s.now, "w000", asked)
	step := s.router.Next(s.now, s.seed, &s.call)
	if step.Kind != route.Send {
		tb.Fatal(step.Err)
	}
	s.router.FirstToken(s.now+200, step.Attempt)
	s.router.Settle(s.now+500, step.Attempt, route.Outcome{Kind: route.Served})
}

func strategiesOf(f func(route.Strategy)) {
	for _, st := range []route.Strategy{route.P2C, route.LeastLoaded, route.Weighted} {
		f(st)
	}
}

func TestAPickAllocatesNothing(t *testing.T) {
	strategiesOf(func(st route.Strategy) {
		t.Run(st.String(), func(t *testing.T) {
			s := newShuttle(t, st, 50)
			for range 5000 { // every endpoint has been used
				s.run(t)
			}
			if n := testing.AllocsPerRun(1000, func() { s.run(t) }); n != 0 {
				t.Errorf("%g allocations in Next, FirstToken and Settle", n)
			}
		})
	})
}

// BenchmarkPick counts Next, FirstToken and Settle as one. Read it as multiples of the
// yardstick: two draws over padded counters, and the lighter one up and down.
func BenchmarkPick(b *testing.B) {
	b.Run("yardstick/128", func(b *testing.B) {
		var loads [128]struct {
			n int64
			_ [120]byte
		}
		seed := uint32(0)
		for b.Loop() {
			seed++
			m, n := &loads[route.Index(route.Draw(seed, 0), len(loads))], &loads[route.Index(route.Draw(seed, 1), len(loads))]
			if n.n < m.n {
				m = n
			}
			m.n++
			m.n--
		}
	})
	strategiesOf(func(st route.Strategy) {
		for _, n := range []int{16, 128, 1024} {
			b.Run(fmt.Sprintf("%v/%d", st, n), func(b *testing.B) {
				s := newShuttle(b, st, n)
				for range 10 * n {
					s.run(b)
				}
				b.ReportAllocs()
				for b.Loop() {
					s.run(b)
				}
			})
		}
	})
}
