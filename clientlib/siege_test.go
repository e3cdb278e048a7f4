package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// siege is callers of a client whose catalog changes all the time, and what endpoints counted.
type siege struct {
	*clienttest.Client
	t       *testing.T
	sends   atomic.Int64
	panics  atomic.Int64
	refused atomic.Int64
	told    atomic.Int64

	mu      sync.Mutex // guards what follows
	busy    map[string]int
	tenants map[string]int
}

// The most of any catalog.
const (
	siegeConcurrency = 3
	siegeCap         = 4
)

// Attempt is what an observer does that looks at the client.
func (s *siege) Attempt(clientlib.AttemptInfo) {
	if s.told.Add(1)%16 == 0 {
		s.Waiting()
		s.Endpoints()
	}
}

func (*siege) Call(clientlib.CallInfo) {}

func (s *siege) Event(clientlib.Event) {}

// siegeCatalog has endpoints e0 to e5, of which some are gone, three workloads, of which one may
// be, and tenants of all kinds.
func siegeCatalog(chance *rand.Rand, generation uint64) *route.Catalog {
	var all []*clienttest.Endpoint
	for i := range 6 {
		if i < 2 || chance.IntN(4) > 0 {
			all = append(all, &clienttest.Endpoint{Name: fmt.Sprint("e", i), URL: "http://127.0.0.1:1/v1"})
		}
	}
	c := clienttest.Pool("chat", all...)
	c.Version.Generation = generation
	quota := clienttest.Quota("org")
	quota.Requests = 6000 + int64(chance.IntN(6000))
	c.Quotas = []route.Quota{quota}
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		e.Identity, e.Region = uint64(e.Name[1]), []string{"eu/west", "us"}[e.Name[1]%2]
		e.Concurrency = 1 + int64(chance.IntN(siegeConcurrency))
		e.Breaker.Consecutive, e.Breaker.MinSamples = 0, 1<<40
		if e.Name[1]%3 == 2 {
			e.Capabilities, e.Quotas = []string{"chat", "stream"}, []string{"org"}
		}
	}
	for _, name := range []string{"more", "some"} {
		w := c.Workloads[0]
		w.Name = name
		if name != "some" || chance.IntN(3) > 0 {
			c.Workloads = append(c.Workloads, w)
		}
	}
	for i := range 24 {
		v := clienttest.Tenant(fmt.Sprint("t", i))
		v.Priority = route.Priority(i % 3)
		switch i % 6 {
		case 0:
			v.Caps.Concurrency = 1 + int64(chance.IntN(siegeCap))
		case 1:
			v.Regions = []string{"eu"}
		case 2:
			v.Workloads = []string{"more"}
		case 3:
			v.Caps.Requests = 3000
		}
		c.Tenants = append(c.Tenants, v)
	}
	return c
}

// arrive counts an attempt in by what its endpoint and tenant may have.
func (s *siege) arrive(tenant int, workload string, r clientlib.Request, e clientlib.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[e.Name]++
	s.tenants[r.Tenant]++
	switch {
	case s.busy[e.Name] > siegeConcurrency:
		s.t.Errorf("%d at %q", s.busy[e.Name], e.Name)
	case tenant%6 == 0 && s.tenants[r.Tenant] > siegeCap:
		s.t.Errorf("%d of %q", s.tenants[r.Tenant], r.Tenant)
	case tenant%6 == 1 && e.Region != "eu/west":
		s.t.Errorf("%q at %q", r.Tenant, e.Region)
	case tenant >= 24 || tenant%6 == 2 && workload != "more":
		s.t.Errorf("%q called %q", r.Tenant, workload)
	case len(r.Needs) > 0 && e.Name[1]%3 == 2:
		s.t.Errorf("tools at %q", e.Name)
	}
}

func (s *siege) leave(tenant, endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[endpoint]--
	s.tenants[tenant]--
}

// call is one caller's, which ends in any way.
func (s *siege) call(chance *rand.Rand) {
	tenant := chance.IntN(26) // two of which nobody knows
	workload := []string{"chat", "more", "some"}[chance.IntN(3)]
	r := clientlib.Request{
		Tenant: fmt.Sprint("t", tenant), Needs: []string{"tools"}[:chance.IntN(2)], Stream: chance.IntN(2) == 0, Input: int64(chance.IntN(130_000)),
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	switch chance.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(20_000))*time.Microsecond)
	case 1:
		time.AfterFunc(time.Duration(chance.IntN(20_000))*time.Microsecond, cancel)
	}
	defer cancel()
	defer func() {
		if recover() != nil {
			s.panics.Add(1)
		}
	}()
	_, err := clientlib.Do(ctx, s.Workload(workload), r, func(ctx context.Context, a clientlib.Attempt) (int, error) {
		s.sends.Add(1)
		e := a.Endpoint()
		s.arrive(tenant, workload, r, e)
		select {
		case <-time.After(time.Duration(chance.IntN(3000)) * time.Microsecond):
		case <-ctx.Done():
		}
		s.leave(r.Tenant, e.Name)
		switch chance.IntN(60) {
		case 0:
			return 0, errBroken
		case 1:
			if e.Name == "e5" { // which cools down for a second or more
				return 0, &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Limited, RetryAfter: 1000}}
			}
		case 2:
			panic("a caller's own")
		case 3:
			runtime.Gosched()
			a.Abandon()
		}
		return 0, ctx.Err()
	})
	if errors.Is(err, clientlib.ErrShed) || errors.Is(err, clientlib.ErrUnknownWorkload) {
		s.refused.Add(1)
	}
}

// Catalogs come, endpoints and workloads go, callers cancel, give up, fail and panic: every call
// ends, everything that was taken is given back, and nobody is where it may not be.
func TestASiege(t *testing.T) {
	s := &siege{t: t, busy: map[string]int{}, tenants: map[string]int{}}
	chance := rand.New(rand.NewPCG(1, 2))
	var err error
	if s.Client, err = clienttest.Open(t.Context(), clientlib.Config{Catalog: siegeCatalog(chance, 1), Queue: 200, QueueWait: 300 * time.Millisecond, Observer: s}); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(1500 * time.Millisecond)
	var callers, operator sync.WaitGroup
	operator.Go(func() {
		for generation := uint64(2); time.Now().Before(end); generation++ {
			if err := s.Adopt(siegeCatalog(chance, generation)); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Millisecond)
		}
	})
	for i := range 120 {
		callers.Go(func() {
			for own := rand.New(rand.NewPCG(uint64(i), 3)); time.Now().Before(end); {
				s.call(own)
			}
		})
	}
	operator.Wait()
	callers.Wait()
	if calls, kept := s.Queued(); calls != 0 || kept != 0 {
		t.Errorf("%d calls in the queue and %d things kept for them at the end", calls, kept)
	}
	for _, e := range s.Endpoints() {
		if e.InFlight != 0 {
			t.Errorf("endpoint %q: %d in flight at the end", e.Name, e.InFlight)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	told := s.Attempts()
	if n := s.sends.Load(); n < 200 || int64(len(told)) != n || s.told.Load() != n || s.panics.Load() == 0 || s.refused.Load() == 0 {
		t.Errorf("%d sends, %d told of, %d panics, %d refused", n, len(told), s.panics.Load(), s.refused.Load())
	}
	if !slices.ContainsFunc(told, func(a clientlib.AttemptInfo) bool { return a.Number > 1 }) {
		t.Error("no retry")
	}
}
