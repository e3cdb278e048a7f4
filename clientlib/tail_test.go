package clientlib_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

const (
	callers  = 64
	inHand   = 8                         // attempts of one caller that have not ended
	tailLast = 200_000                   // picks
	callTime = time.Second * 64 / 40_000 // from one pick of a caller to its next
)

// BenchmarkPickTail has 64 callers pick 40,000 times a second from 1,024 endpoints, mark a
// first token and settle. What the machine's scheduler adds on its own the mutex shows: the
// same callers at the same pace, with a lock that guards about as much work.
func BenchmarkPickTail(b *testing.B) {
	var endpoints []*clienttest.Endpoint
	for i := range 1024 {
		endpoints = append(endpoints, &clienttest.Endpoint{Name: fmt.Sprintf("e%04d", i), URL: "http://127.0.0.1:1/v1"})
	}
	c, err := clientlib.Open(b.Context(), clientlib.Config{Catalog: clienttest.Pool("chat", endpoints...)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	w := c.Workload("chat")
	b.Run("mutex", func(b *testing.B) {
		var mu sync.Mutex
		benchmarkTail(b, func() func() {
			return func() {
				for range 4 {
					mu.Lock()
					for began := time.Now(); time.Since(began) < 250*time.Nanosecond; {
					}
					mu.Unlock()
				}
			}
		})
	})
	b.Run("pick", func(b *testing.B) {
		benchmarkTail(b, func() func() { return caller(b, w) })
	})
}

// caller picks, marks the first token of an earlier attempt and settles the oldest.
func caller(b *testing.B, w *clientlib.Workload) func() {
	var attempts [inHand]clientlib.Attempt
	n := 0
	b.Cleanup(func() {
		for _, a := range attempts {
			a.Abandon()
		}
	})
	return func() {
		at := n % inHand
		attempts[at].Settle(clientlib.Outcome{Kind: clientlib.Served})
		attempts[(n+inHand-2)%inHand].FirstToken()
		a, err := w.Pick(clientlib.Request{Stream: true, Input: int64(500 + n%8*1000), MaxOutput: 400})
		if err != nil {
			b.Error(err)
		}
		attempts[at] = a
		n++
	}
}

// benchmarkTail runs once, whatever b.N says: its measure is the tail of what each turn took.
func benchmarkTail(b *testing.B, turns func() func()) {
	took := make([][]time.Duration, callers)
	var wg sync.WaitGroup
	began := time.Now().Add(50 * time.Millisecond)
	for i := range took {
		turn := turns()
		took[i] = make([]time.Duration, 0, tailLast/callers)
		wg.Go(func() {
			for n := range tailLast / callers {
				time.Sleep(time.Until(began.Add(callTime*time.Duration(n) + callTime*time.Duration(i)/callers)))
				from := time.Now()
				turn()
				took[i] = append(took[i], time.Since(from))
			}
		})
	}
	wg.Wait()
	spent := time.Since(began)
	all := slices.Concat(took...)
	slices.Sort(all)
	for _, q := range []struct {
		part float64
		unit string
	}{{0.5, "p50-µs"}, {0.99, "p99-µs"}, {0.999, "p99.9-µs"}} {
		b.ReportMetric(float64(all[int(q.part*float64(len(all)))].Nanoseconds())/1000, q.unit)
	}
	b.ReportMetric(float64(len(all))/spent.Seconds(), "picks/s")
	b.ReportMetric(0, "ns/op")
}
