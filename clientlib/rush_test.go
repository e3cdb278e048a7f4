package clientlib_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Callers of all kinds, while catalogs change, credentials rotate, connections are renewed
// and, in the end, the client is closed under them: each is answered, and nothing is left.
func TestARush(t *testing.T) {
	var turn atomic.Int64
	r := setUp(t, keys, func(r *rig, c *route.Catalog, config *clientlib.Config) {
		for name, cred := range config.Credentials {
			cred.From, cred.Source = "", func(context.Context) (string, error) { return fmt.Sprintf("sk-%s-%016d", name, turn.Load()), nil }
			config.Credentials[name] = cred
		}
		for i := range c.Endpoints {
			c.Endpoints[i].Breaker.Consecutive, c.Endpoints[i].Breaker.MinSamples = 0, 1<<40
		}
		w := &c.Workloads[0].Attempts
		w.FirstToken, w.Stall, w.Answer, w.RetryReserve = 100_000, 100_000, 100_000, 1000
	})
	ways := []clienttest.Answer{clienttest.Say("hello"), clienttest.Say("a", "b"), clienttest.Cut("x"), clienttest.Stall("x"), clienttest.Fail(500, "x"), clienttest.Break("server_error", "x")}
	for i := range 2000 {
		r.a.Next(ways[i%len(ways)])
		r.b.Next(ways[i%3%len(ways)])
	}
	end := time.Now().Add(1500 * time.Millisecond)
	var all, operator sync.WaitGroup
	operator.Go(func() {
		for generation := uint64(2); time.Now().Before(end); generation++ {
			c := clienttest.Pool("chat", r.a, r.b)
			c.Version.Generation = generation
			for i := range c.Endpoints {
				c.Endpoints[i].Credential = "key-" + c.Endpoints[i].Name
				c.Endpoints[i].Breaker.Consecutive, c.Endpoints[i].Breaker.MinSamples = 0, 1<<40
			}
			c.Workloads[0].Whole = generation%2 == 0
			c.Workloads[0].Attempts.FirstToken, c.Workloads[0].Attempts.Stall = 100_000, 100_000
			if err := r.Adopt(c); err != nil {
				t.Error(err)
			}
			r.Renew()
			turn.Add(1)
			time.Sleep(5 * time.Millisecond)
		}
	})
	for i := range 64 {
		all.Go(func() {
			for own := rand.New(rand.NewPCG(uint64(i), 5)); time.Now().Before(end.Add(200 * time.Millisecond)); {
				r.rushed(own)
			}
		})
	}
	operator.Wait()
	if err := r.Close(); err != nil { // under all that is on its way
		t.Error(err)
	}
	all.Wait()
	r.quiet()
	r.settledAll()
	if calls, kept := r.Queued(); calls != 0 || kept != 0 {
		t.Errorf("%d calls in the queue, %d things kept", calls, kept)
	}
}

// quiet waits, within reason, for what ends by its context: it does so on its own.
func (r *rig) quiet() {
	busy := func(e route.EndpointState) bool { return e.InFlight > 0 }
	for end := time.Now().Add(5 * time.Second); slices.ContainsFunc(r.Endpoints(), busy) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *rig) rushed(chance *rand.Rand) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Duration(1+chance.IntN(400))*time.Millisecond)
	defer cancel()
	resp, err := r.post(ctx, []string{plain, streamed}[chance.IntN(2)])
	if err != nil {
		return
	}
	switch chance.IntN(4) {
	case 0:
		go resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
	case 1:
		_, _ = resp.Body.Read(make([]byte, 10))
	case 2: // neither read nor closed: its context ends
		return
	default:
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}
