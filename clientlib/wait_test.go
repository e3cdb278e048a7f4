package clientlib_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestWaitingEndsWithItsCallersPatience(t *testing.T) {
	inHall(t, 1, func(c *route.Catalog, _ *clientlib.Config) {
		short := c.Workloads[0]
		short.Name, short.Attempts.Total = "short", 3_000_000
		c.Workloads = append(c.Workloads, short)
	}, func(t *testing.T, h *hall) {
		began := time.Now()
		h.enters(t.Context(), "1", clientlib.Request{}, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := clientlib.Do(ctx, h.Workload("chat"), clientlib.Request{}, where(nil))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, clientlib.ErrShed) || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("deadline: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err = clientlib.Do(t.Context(), h.Workload("short"), clientlib.Request{}, where(nil)); !errors.Is(err, clientlib.ErrShed) || time.Since(began) != 3*time.Second {
			t.Errorf("the workload's total: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err = clientlib.Do(t.Context(), h.Workload("chat"), clientlib.Request{}, where(nil)); !errors.Is(err, clientlib.ErrShed) || time.Since(began) != 30*time.Second {
			t.Errorf("without a deadline: %v after %v", err, time.Since(began))
		}
		h.waits(0)
	})
}

func TestCancellingFreesThePlaceInTheQueueAtOnce(t *testing.T) {
	inHall(t, 1, func(_ *route.Catalog, c *clientlib.Config) { c.Queue = 1 }, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		h.enters(ctx, "2", clientlib.Request{}, time.Second)
		h.waits(1)
		cancel()
		synctest.Wait()
		h.waits(0)
		h.enters(t.Context(), "3", clientlib.Request{}, time.Second)
		h.order("1", "3")
		if !errors.Is(h.fell["2"], context.Canceled) {
			t.Error(h.fell["2"])
		}
	})
}

func TestAFullQueueFailsTheNewestOfTheLowestPriority(t *testing.T) {
	inHall(t, 1, func(_ *route.Catalog, c *clientlib.Config) { c.Queue = 2 }, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		began := time.Now()
		for _, c := range []struct {
			name, tenant, falls string
		}{{"2", "batch", ""}, {"3", "batch", ""}, {"4", "batch", "4"}, {"5", "default", "3"}, {"6", "standard", "2"}, {"7", "batch", "7"}, {"8", "default", "6"}, {"9", "default", "9"}} {
			h.enters(t.Context(), c.name, clientlib.Request{Tenant: c.tenant}, time.Second)
			if c.falls != "" && !errors.Is(h.fell[c.falls], clientlib.ErrShed) {
				t.Errorf("%s came and %s did not fall: %v", c.name, c.falls, h.fell)
			}
		}
		if !time.Now().Equal(began) || len(h.fell) != 6 {
			t.Errorf("%v after %v", h.fell, time.Since(began))
		}
		h.order("1", "5", "8")
	})
}

func TestWithoutAQueueAShedComesAtOnce(t *testing.T) {
	inHall(t, 1, func(_ *route.Catalog, c *clientlib.Config) { c.Queue = -1 }, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		h.enters(t.Context(), "2", clientlib.Request{}, time.Second)
		if !errors.Is(h.fell["2"], clientlib.ErrShed) {
			t.Error(h.fell)
		}
	})
}

func TestPickNeverWaits(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		h.enters(t.Context(), "2", clientlib.Request{}, time.Second)
		began := time.Now()
		if _, err := h.Workload("chat").Pick(clientlib.Request{}); !errors.Is(err, clientlib.ErrShed) || !time.Now().Equal(began) {
			t.Error(err)
		}
	})
}

// D15: what is limited for a while is waited for if the deadline allows, else it is told at once.
func TestALimitIsWaitedForAsTheDeadlineAllows(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		a, err := h.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		a.Settle(clientlib.Outcome{Kind: clientlib.Limited, RetryAfter: 10_000_000})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = clientlib.Do(ctx, h.Workload("chat"), clientlib.Request{}, where(nil))
		wait, known := h.RetryIn(err)
		if !errors.Is(err, clientlib.ErrShed) || !known || wait < 10*time.Second || !time.Now().Equal(began) {
			t.Errorf("%v after %v, again in %v", err, time.Since(began), wait)
		}
		for range 3 {
			h.enters(t.Context(), "x", clientlib.Request{}, time.Millisecond)
		}
		h.waits(3)
		time.Sleep(wait + time.Millisecond) // and no longer
		h.waits(2)
		h.order("x", "x", "x")
		if took := time.Since(began); took > wait+time.Second+10*time.Millisecond { // the ramp after a cooldown
			t.Errorf("after %v, want %v", took, wait)
		}
	})
}

func TestWhoAsksOfOtherEndpointsIsNotHeldUp(t *testing.T) {
	inHall(t, 2, func(c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints[1].Capabilities = []string{"chat", "stream"}
		c.Endpoints[1].ContextWindow = 1000
	}, func(t *testing.T, h *hall) {
		tools, plain := clientlib.Request{Needs: []string{"tools"}}, clientlib.Request{Input: 10}
		h.enters(t.Context(), "tools 1", tools, time.Second)
		h.enters(t.Context(), "plain 1", plain, 100*time.Millisecond)
		h.enters(t.Context(), "tools 2", tools, time.Second)
		h.enters(t.Context(), "large 3", clientlib.Request{Input: 5000}, time.Second)
		h.enters(t.Context(), "plain 4", plain, time.Millisecond)
		h.enters(t.Context(), "plain 5", plain, time.Millisecond)
		h.order("tools 1", "plain 1", "plain 4", "plain 5", "tools 2", "large 3")
	})
}

func TestARetryWaitsForWhatItHasNotTried(t *testing.T) {
	inHall(t, 2, func(c *route.Catalog, _ *clientlib.Config) {
		c.Workloads[0].Tiers = []route.Tier{{Name: "first", Endpoints: []string{"a"}}, {Name: "second", Endpoints: []string{"b"}}}
	}, func(t *testing.T, h *hall) {
		began := time.Now()
		held, err := h.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		h.enters(t.Context(), "b", clientlib.Request{}, 5*time.Second)
		held.Abandon()
		h.all.Go(func() { // meanwhile who comes first goes to what the retry has left
			time.Sleep(time.Second)
			h.enters(t.Context(), "a", clientlib.Request{}, 0)
		})
		answer, err := clientlib.Do(t.Context(), h.Workload("chat"), clientlib.Request{}, where(map[string]error{"a": errBroken}))
		if answer != "from b" || err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%q, %v after %v", answer, err, time.Since(began))
		}
		h.order("b", "a")
		if diff := cmp.Diff([]string{"a abandoned", "a faulted", "a served", "b served", "b served"}, h.Decisions()); diff != "" {
			t.Error(diff)
		}
	})
}

// A9: an observer hears what the core made of it.
func TestAnEndOfTheCallersOwnIsToldAsThat(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := clientlib.Do(ctx, h.Workload("chat"), clientlib.Request{Stream: true}, func(ctx context.Context, a clientlib.Attempt) (int, error) {
			a.FirstToken()
			<-ctx.Done()
			return 0, &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.TimedOut}}
		})
		told := h.Attempts()
		if err == nil || len(told) != 1 || told[0].Outcome.Kind != clientlib.Cancelled || told[0].Outcome.Domain() != route.DomainCaller || told[0].Phase() != route.MidStream {
			t.Errorf("%v, %+v", err, told)
		}
	})
}

// Nobody is forgotten: with every place in use until the last has gone, the time that all take is
// that of the work.
func TestNoPlaceStaysFreeWhileSomebodyWaits(t *testing.T) {
	inHall(t, 4, nil, func(t *testing.T, h *hall) {
		began := time.Now()
		for i := range 400 {
			h.all.Go(func() {
				r := clientlib.Request{Tenant: tenants[i%len(tenants)], Stream: i%3 == 0, Input: int64(i)}
				_, err := clientlib.Do(t.Context(), h.Workload("chat"), r, func(context.Context, clientlib.Attempt) (int, error) {
					time.Sleep(10 * time.Millisecond)
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		h.all.Wait()
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// places counts who is at an endpoint.
type places struct {
	t      *testing.T
	mu     sync.Mutex // guards what follows
	chance *rand.Rand
	busy   map[string]int
	served int
}

// work is an attempt that lasts and ends in any way, with its place taken until then.
func (p *places) work(ctx context.Context, a clientlib.Attempt) (int, error) {
	name := a.Endpoint().Name
	p.mu.Lock()
	lasts, end := time.Duration(p.chance.IntN(50))*time.Millisecond, p.chance.IntN(10)
	if p.busy[name]++; p.busy[name] > 1 {
		p.t.Errorf("%d at %q", p.busy[name], name)
	}
	p.mu.Unlock()
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy[name]--
	p.served++
	switch end {
	case 0:
		return 0, errBroken
	case 1:
		return 0, &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Limited, RetryAfter: 100_000}}
	case 2:
		a.Abandon()
	}
	return 0, ctx.Err()
}

// visit is one caller's, after a pause, for as long as it has patience.
func (h *hall) visit(p *places, i int) {
	p.mu.Lock()
	pause, patience := time.Duration(p.chance.IntN(2000))*time.Millisecond, time.Duration(1+p.chance.IntN(3000))*time.Millisecond
	r := clientlib.Request{Tenant: tenants[i%len(tenants)], Needs: []string{"tools"}[:i%2], Input: int64(p.chance.IntN(100_000))}
	p.mu.Unlock()
	time.Sleep(pause)
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	began := time.Now()
	_, err := clientlib.Do(ctx, h.Workload([]string{"chat", "more"}[i/2%2]), r, p.work)
	if took := time.Since(began); took > patience {
		h.t.Errorf("%v after %v", err, took)
	}
}

// Whatever callers do, a place is never taken twice, and everybody leaves.
func TestACrowdThatWaits(t *testing.T) {
	for seed := range uint64(8) {
		inHall(t, 3, func(c *route.Catalog, config *clientlib.Config) {
			config.Queue = 50
			c.Endpoints[1].Capabilities = []string{"chat", "stream"}
			for i := range c.Endpoints {
				c.Endpoints[i].Breaker.Consecutive, c.Endpoints[i].Breaker.MinSamples = 0, 1<<40
			}
			more := c.Workloads[0]
			more.Name = "more"
			c.Workloads = append(c.Workloads, more)
		}, func(t *testing.T, h *hall) {
			p := &places{t: t, chance: rand.New(rand.NewPCG(seed, 1)), busy: map[string]int{}}
			for i := range 300 {
				h.all.Go(func() { h.visit(p, i) })
			}
			h.all.Wait()
			if p.served < 50 {
				t.Errorf("seed %d: %d attempts", seed, p.served)
			}
			for _, e := range h.Endpoints() {
				if e.InFlight != 0 {
					t.Errorf("seed %d: endpoint %q: %d in flight at the end", seed, e.Name, e.InFlight)
				}
			}
		})
	}
}
