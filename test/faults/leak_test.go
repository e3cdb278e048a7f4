package faults

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/test/fake"
)

const (
	stormCalls   = 10_000 // all policies together
	stormCallers = 150
	stormRoom    = 20 // requests that an endpoint takes at once
	stormCap     = 50 // of a tenant's
	stormTokens  = 6
)

// stormCast is endpoints of which two are well, in one tier, with limits of every kind.
func stormCast() cast {
	endpoints := []fake.Config{
		{Name: "a"}, {Name: "b"},
		{Name: "cut", Faults: []fake.Fault{{Kind: fake.Cut, Tokens: 3}}},
		{Name: "stalled", Faults: []fake.Fault{{Kind: fake.Stall, Tokens: 3}}},
		{Name: "silent", Faults: []fake.Fault{{Kind: fake.Hang}}},
		{Name: "reset", Faults: []fake.Fault{{Kind: fake.Reset}}},
	}
	return cast{&apis[0], endpoints, func(c *route.Catalog) {
		quota, capped := clienttest.Quota("org"), clienttest.Tenant("capped")
		quota.Requests, quota.Tokens = 1_000_000, 1_000_000_000
		capped.Caps.Concurrency = stormCap
		c.Quotas, c.Tenants = []route.Quota{quota}, []route.Tenant{capped, clienttest.Tenant("free")}
		w := &c.Workloads[0]
		w.Tiers = []route.Tier{{Name: "all"}}
		w.Attempts.FirstToken, w.Attempts.Answer, w.Attempts.Stall, w.Attempts.RetryReserve = 1_000_000, 1_000_000, 500_000, 1<<40
		for i := range c.Endpoints {
			e := &c.Endpoints[i]
			w.Tiers[0].Endpoints = append(w.Tiers[0].Endpoints, e.Name)
			e.Quotas, e.Concurrency = []string{"org"}, stormRoom
			e.Breaker.Consecutive, e.Breaker.MinSamples, e.Breaker.TTFTLimit = 0, 1<<40, 1<<40
		}
	}}
}

// Many calls end in every way there is: nothing that they took is left.
func TestNothingIsLeft(t *testing.T) {
	calls := stormCalls / int(policies)
	if !*long {
		calls /= 10
	}
	for _, p := range []policy{live, whole, unstreamed} {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := begin(t, p, stormCast())
				before, full := goleak.IgnoreCurrent(), s.Quotas()
				s.storm(calls)
				time.Sleep(2 * time.Minute) // every limit and every window is over
				s.http.CloseIdleConnections()
				s.sender.CloseIdleConnections()
				synctest.Wait()
				goleak.VerifyNone(t, before)
				s.empty(full)
				s.room()
				s.badly(calls)
			})
		})
	}
}

// storm makes so many calls, many at once, of which every sixth is cancelled or closed early.
func (s *scene) storm(calls int) {
	var left atomic.Int64
	left.Store(int64(calls))
	var callers sync.WaitGroup
	for i := range stormCallers {
		callers.Go(func() {
			chance := rand.New(rand.NewPCG(uint64(i), 1))
			for left.Add(-1) >= 0 {
				s.drop(chance)
			}
		})
	}
	callers.Wait()
}

// drop is one call, whatever comes of it. Some are cancelled; some are closed early, by callers that cancel nothing.
func (s *scene) drop(chance *rand.Rand) {
	ctx := clientlib.WithTenant(s.t.Context(), []string{"free", "capped"}[chance.IntN(2)])
	end := chance.IntN(10)
	if end < 2 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(int(2*ttft))))
		defer cancel()
	}
	resp, err := s.post(ctx, stormTokens)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if end == 2 {
		_, _ = io.CopyN(io.Discard, resp.Body, int64(chance.IntN(1000)))
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}

// empty holds the client and the endpoints to having nothing left.
func (s *scene) empty(full []route.QuotaState) {
	s.t.Helper()
	for name, e := range s.endpoints {
		if c := e.Counts(); c.Connections != 0 || c.InFlight != 0 || c.Queued != 0 || c.Violated != 0 {
			s.t.Errorf("endpoint %q: %+v", name, c)
		}
	}
	for _, e := range s.Endpoints() {
		if e.InFlight != 0 {
			s.t.Errorf("endpoint %q: %d in flight", e.Name, e.InFlight)
		}
	}
	if diff := cmp.Diff(full, s.Quotas()); diff != "" {
		s.t.Errorf("quotas:\n%s", diff)
	}
	if w := s.Waiting(); len(w) > 0 {
		s.t.Errorf("there wait %+v", w)
	}
}

// room holds the client to giving again all that may be had at once: what was kept back of it would be missing.
func (s *scene) room() {
	s.t.Helper()
	var all []clientlib.Attempt
	for _, tenant := range []struct {
		name string
		want int
	}{{"capped", stormCap}, {"free", len(s.endpoints)*stormRoom - stormCap}} {
		n := 0
		for ; n <= tenant.want; n++ {
			a, err := s.Workload("chat").Pick(clientlib.Request{Tenant: tenant.name, Input: 1})
			if err != nil {
				break
			}
			all = append(all, a)
		}
		if n != tenant.want {
			s.t.Errorf("tenant %q gets %d attempts at once, want %d", tenant.name, n, tenant.want)
		}
	}
	for _, a := range all {
		a.Abandon()
	}
}

// badly holds a storm to having been one: a third of its calls met with something.
func (s *scene) badly(calls int) {
	s.t.Helper()
	kinds := map[string]int{}
	for _, a := range s.Attempts() {
		kinds[a.Outcome.Kind.String()]++
	}
	bad := kinds["cancelled"] + kinds["faulted"] + kinds["timed_out"]
	if bad < calls/3 || slices.Min([]int{kinds["served"], kinds["cancelled"], kinds["faulted"], kinds["timed_out"]}) < calls/50 {
		s.t.Errorf("no storm: %v", kinds)
	}
}
