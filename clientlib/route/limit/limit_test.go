package limit

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestAQuotaOfThreeDimensionsIsTwoCacheLines(t *testing.T) {
	var q Quota
	if end := unsafe.Offsetof(q.at) + 3*unsafe.Sizeof(q.at[0]); end > 128 {
		t.Errorf("three dimensions end at %d", end)
	}
	if size := unsafe.Sizeof(q); size != 256 {
		t.Errorf("%d bytes: an allocation is no longer aligned to lines", size)
	}
}

func TestCostIsExactForAnyLimit(t *testing.T) {
	for range 100_000 {
		n, limit := rand.Int64N(1<<rand.IntN(41)), rand.Int64N(1<<rand.IntN(63))+1
		window := windows[rand.IntN(int(Dimensions))]
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(window))
		want.Add(want, big.NewInt(limit-1)).Quo(want, big.NewInt(limit))
		if max := big.NewInt(far); want.Cmp(max) > 0 {
			want = max
		}
		if got := cost(n, window, limit); got != want.Int64() {
			t.Fatalf("cost(%d, %d, %d) = %d, want %v", n, window, limit, got, want)
		}
	}
}

func TestAPlainCostIsTheSame(t *testing.T) {
	for range 100_000 {
		limit, n := rand.Int64N(1<<rand.IntN(63))+1, rand.Int64N(1<<rand.IntN(25)+1)
		d := Dimension(rand.IntN(int(Dimensions)))
		var q Quota
		var all [Dimensions]int64
		all[d] = limit
		q.Set(0, Limits{Of: all})
		i, _ := q.index(d)
		if got, want := q.at[i].cost(n, d), cost(n, windows[d], limit); got != want {
			t.Fatalf("%d of %d in %v: %d, want %d", n, limit, d, got, want)
		}
	}
}

func TestAnIdleQuotaAllowsAnything(t *testing.T) {
	r, idle := rand.New(rand.NewPCG(1, 2)), 0
	for range 2000 {
		var q Quota
		l := None()
		for d := range l.Of {
			if r.IntN(3) > 0 {
				l.Of[d] = r.Int64N(1 << r.IntN(30))
			}
		}
		q.Set(0, l)
		now := int64(0)
		for range 20 {
			now += r.Int64N(1 << r.IntN(28))
			use := Request(r.Int64N(1<<r.IntN(20)), r.Int64N(1000))
			if r.IntN(9) == 0 {
				q.Cool(now, r.Uint32(), 0)
			}
			if q.Idle(now) {
				idle++
				if a := q.Allows(now, &use, All); a != Free {
					t.Fatalf("%+v at %d: %v", l, now, a)
				}
			}
			q.Take(now, &use)
		}
	}
	if idle == 0 {
		t.Error("none was idle")
	}
}

// reservation is what was taken and may yet be settled.
type reservation struct {
	at  int64
	use Use
}

func TestNoOrderOfCallsTakesMoreThanTheLimitGives(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		limit := r.Int64N(1_000_000) + 1
		var q Quota
		q.Set(0, Limits{Of: [Dimensions]int64{Absent, limit, Absent, Absent, Absent}})
		var open []reservation
		var taken, debt int64 // of the settled what they used, of the others what they reserved
		now := int64(0)
		for range 500 {
			now += r.Int64N(1 << r.IntN(24))
			if n := len(open); n > 0 && r.IntN(2) == 0 {
				o := open[n-1]
				open = open[:n-1]
				used := Request(r.Int64N(o.use[Input]+1), 0)
				q.Settle(now, o.at, &o.use, &used)
				taken += used[Tokens] - o.use[Tokens]
				continue
			}
			use := Request(r.Int64N(1<<r.IntN(18)), 0)
			if Acquire(now, &use, &q) == Free {
				open = append(open, reservation{now, use})
				taken += use[Tokens]
				debt = use[Tokens]
			}
			if most := gives(now+minute/part, minute, limit) + debt; taken > most {
				t.Fatalf("seed %d: %d taken after %d µs, at most %d", seed, taken, now, most)
			}
		}
	}
}

func TestAWindowNeverHoldsMoreThanItsLimit(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := r.Int64N(1000) + 1
		var q Quota
		q.Set(0, Limits{Of: [Dimensions]int64{Absent, limit, Absent, Absent, Absent}, Fixed: true})
		h := Headers{}
		h.Of[Tokens] = Header{HasReset: true, Reset: 10 * second}
		q.Headers(0, 0, &h)
		taken := map[int64]int64{}
		now := int64(0)
		for range 500 {
			now += r.Int64N(5 * second)
			use := Request(r.Int64N(1<<r.IntN(12)), 0)
			window := (now + 50*second) / minute
			if Acquire(now, &use, &q) != Free {
				continue
			}
			if before := taken[window]; before > 0 && before+use[Tokens] > limit {
				t.Fatalf("seed %d: %d after %d of %d in one window", seed, use[Tokens], before, limit)
			}
			taken[window] += use[Tokens]
			if late := Request(use[Input]+r.Int64N(9), 0); r.IntN(2) == 0 {
				q.Settle(now+r.Int64N(2*minute), now, &use, &late) // changes the window it was taken in, or none
				if q.at[0].reserved < 0 {
					t.Fatalf("seed %d: reserved %d", seed, q.at[0].reserved)
				}
			}
		}
	}
}

func TestUntilIsTheFirstTimeThatAllows(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		q, now := scrambled(r), int64(1_000_000)+r.Int64N(1<<30)
		use := Request(r.Int64N(1<<r.IntN(16)), r.Int64N(100))
		was := *q
		at := q.Until(now, &use, All)
		if *q != was {
			t.Fatalf("seed %d: asking moved it", seed)
		}
		if at == Forever {
			continue
		}
		if a := q.Allows(at, &use, All); a != Free {
			t.Errorf("seed %d: %v at %d, which is when it may", seed, a, at)
		}
		if at > now && q.Allows(at-1, &use, All) == Free {
			t.Errorf("seed %d: allowed before %d", seed, at)
		}
	}
}

// scrambled is a quota after things happened to it, but leases: their ends move what there is.
func scrambled(r *rand.Rand) *Quota {
	var l Limits
	for d := range l.Of {
		l.Of[d] = r.Int64N(1<<r.IntN(24)) - 1
	}
	l.Fixed, l.Hold = r.IntN(2) == 0, r.IntN(2) == 0
	q := &Quota{}
	q.Set(0, l)
	for now := int64(0); r.IntN(20) > 0; now += r.Int64N(1 << 25) {
		happen(q, now, r)
	}
	return q
}

func happen(q *Quota, now int64, r *rand.Rand) {
	use, used := Request(r.Int64N(1<<12), r.Int64N(1<<12)), Request(r.Int64N(1<<12), r.Int64N(1<<12))
	switch r.IntN(6) {
	case 0, 1:
		Acquire(now, &use, q)
	case 2:
		q.Settle(now, now-r.Int64N(1<<26), &use, &used)
	case 3:
		h := Headers{At: now - r.Int64N(1<<22)}
		for d := range h.Of {
			h.Of[d] = Header{r.IntN(2) == 0, r.IntN(2) == 0, r.Int64N(1<<16) - 1, r.Int64N(1<<26) - 1}
		}
		q.Headers(now, r.Uint32(), &h)
	case 4:
		if r.IntN(4) == 0 {
			q.Cool(now, r.Uint32(), r.Int64N(1<<25))
		}
	case 5:
		q.Take(now, &use)
	}
}

func TestGrantsTogetherGiveNoMoreThanTheirRate(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		rate := r.Int64N(59) + 1
		var q Quota
		q.Set(0, Limits{Of: [Dimensions]int64{100_000, Absent, Absent, Absent, Absent}})
		use, taken, now, until := Request(0, 0), int64(0), int64(0), int64(0)
		for range 400 {
			if now += r.Int64N(2 * second); now+5*second > until {
				until = now + 10*second
				q.Lease(now, Requests, Lease{rate, 0, now, until})
			}
			if Acquire(now, &use, &q) == Free {
				taken++
			}
			if most := gives(until, minute, rate); taken > most {
				t.Fatalf("seed %d: %d taken of grants for %d", seed, taken, most)
			}
		}
		if least := gives(now, minute, rate) / 2; taken < least {
			t.Errorf("seed %d: %d taken, want at least %d: what is unused is kept", seed, taken, least)
		}
	}
}

func TestHeadroomIsTheLeastOfAllDimensions(t *testing.T) {
	var q Quota
	if got := q.Headroom(0); got != 1 {
		t.Errorf("without a limit: %v", got)
	}
	q.Set(0, Limits{Of: [Dimensions]int64{600, 60_000, Absent, Absent, Absent}})
	use := Request(1500, 0)
	q.Take(0, &use)
	if got := q.Headroom(0); got != 0.5 {
		t.Errorf("half of a bucket of tokens taken: %v", got)
	}
	q.Take(0, &use)
	q.Take(0, &use)
	if got := q.Headroom(0); got != 0 {
		t.Errorf("in debt: %v", got)
	}
	q.Set(0, Limits{Of: [Dimensions]int64{10, Absent, Absent, Absent, Absent}, Fixed: true})
	h := Headers{}
	h.Of[Requests] = Header{true, true, 3, 10 * second}
	q.Headers(minute, 0, &h)
	if got := q.Headroom(minute); got != 0.3 {
		t.Errorf("3 of a window of 10 left: %v", got)
	}
	q.Set(0, Limits{Of: [Dimensions]int64{0, Absent, Absent, Absent, Absent}})
	if got := q.Headroom(minute); got != 0 {
		t.Errorf("a limit of 0: %v", got)
	}
}

func TestNamesOfWhatIsNotKnown(t *testing.T) {
	if Dimension(99).String() != "unknown" || Answer(99).String() != "unknown" {
		t.Error("they have others than unknown")
	}
}

// Any bytes are an order of calls with any amounts: nothing panics, nothing overflows, and a
// TAT goes back by Settle or Headers only.
func FuzzAnyOrderOfCalls(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Fuzz(func(t *testing.T, src []byte) {
		n := bytes(src)
		var q Quota
		q.Set(0, Limits{Of: [Dimensions]int64{n.big(), n.big(), n.big(), n.big(), n.big()}, Fixed: n.next()%2 == 0, Hold: n.next()%2 == 0})
		now := int64(0)
		for len(n) > 0 {
			now = min(now+max(n.big(), 0)>>10, 1<<61)
			was := q
			back := n.any(&q, now)
			for i := range q.at {
				if b := q.at[i]; b.tat > far || b.reserved < 0 || b.tat < was.at[i].tat && !back && q.kinds[i] == was.kinds[i] && q.n == was.n {
					t.Fatalf("%+v after %+v", b, was.at[i])
				}
			}
			use := Request(5, 5)
			if at := q.Until(now, &use, All); at < now {
				t.Fatalf("until %d before %d", at, now)
			}
			if h := q.Headroom(now); !(h >= 0 && h <= 1) {
				t.Fatalf("headroom %v", h)
			}
			for d := range Dimensions {
				if q.Remaining(now, d) < 0 || q.Reset(now, d) < 0 {
					t.Fatalf("%v: remaining %d, reset %d", d, q.Remaining(now, d), q.Reset(now, d))
				}
			}
		}
	})
}

type bytes []byte

func (b *bytes) next() byte {
	if len(*b) == 0 {
		return 0
	}
	c := (*b)[0]
	*b = (*b)[1:]
	return c
}

// big is any number, from small to absurd.
func (b *bytes) big() int64 {
	c := b.next()
	switch c % 8 {
	case 0:
		return -int64(c)
	case 1:
		return math.MaxInt64
	case 2:
		return math.MinInt64
	}
	return int64(c) << (b.next() % 55)
}

func (b *bytes) tokens() int64 { return min(max(b.big(), 0), 1<<40) }

// any does any call and tells whether it may move a TAT back.
func (b *bytes) any(q *Quota, now int64) (back bool) {
	use, used := Request(b.tokens(), b.tokens()), Request(b.tokens(), b.tokens())
	switch b.next() % 8 {
	case 0:
		q.Take(now, &use)
	case 1:
		q.Settle(now, min(b.big(), now), &use, &used)
		return true
	case 2:
		h := Headers{At: min(b.big(), now)}
		for d := range h.Of {
			h.Of[d] = Header{b.next()%2 == 0, b.next()%2 == 0, b.big(), b.big()}
		}
		q.Headers(now, uint32(b.big()), &h)
		return true
	case 3:
		q.Cool(now, uint32(b.big()), b.big())
	case 4:
		q.Lease(now, Dimension(b.next()%8), Lease{b.big(), b.big(), min(b.big(), now), min(b.big(), 1<<61)})
	case 5:
		q.Cut(now, b.next()%2 == 0)
	case 6:
		Acquire(now, &use, q)
	case 7:
		q.Set(now, Limits{Of: [Dimensions]int64{b.big(), b.big(), b.big(), b.big(), b.big()}, Fixed: b.next()%2 == 0})
		return true
	}
	return false
}

func BenchmarkTakeAndSettle(b *testing.B) {
	quotas := make([]Quota, 1024)
	for i := range quotas {
		quotas[i].Set(0, Limits{Of: [Dimensions]int64{600_000, 60_000_000, Absent, Absent, 1 << 30}})
	}
	use, used := Request(1000, 300), Request(1000, 200)
	for i := range b.N {
		q, now := &quotas[i*7&1023], int64(i)*50
		if Acquire(now, &use, q) != Free {
			b.Fatal("refused")
		}
		q.Settle(now, now, &use, &used)
	}
}
