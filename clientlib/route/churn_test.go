package route_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// minute is the catalog of one, in which half of everything is new.
func minute(n int) *route.Catalog {
	s := newStage()
	for k := n / 2 * 2; k < n/2*2+4; k++ {
		s.declare(parse(fmt.Sprintf("quota q%d requests=6000", k)))
		s.declare(parse(fmt.Sprintf("endpoint e%d quotas=q%d credential=c%d concurrency=20 capabilities=x%d", k, k, k, k)))
		s.declare(parse(fmt.Sprintf("workload w%d tiers=t:e%d,e%d max=3", k, n/2*2, k)))
		s.declare(parse(fmt.Sprintf("tenant t%d workloads=* concurrency=50 budget=100 reserve=q%d:requests/100", k, k)))
	}
	s.catalog.Version.Generation = uint64(n + 1)
	return &s.catalog
}

// A process that lives for a day among endpoints, workloads, tenants, quotas and credentials that come
// and go, and whose reports and events nobody reads, keeps no more at its end than after two hours.
func TestWhatComesAndGoesLeavesNothing(t *testing.T) {
	r := route.NewRouter()
	now := int64(sec)
	var snapshot *route.Snapshot
	size := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for n := range 24 * 60 {
		s, err := route.Compile(snapshot, minute(n), nil, route.Local{Wall: wall})
		if err != nil {
			t.Fatal(err)
		}
		snapshot = s
		r.Apply(now, s)
		for i := range 60 {
			now += sec
			seed := route.Draw(uint32(n), uint32(i))
			call := r.Begin(now, fmt.Sprint("w", n/2*2+i%4), route.Request{
				Tenant: fmt.Sprint("t", n/2*2+i%4), Session: fmt.Sprint(seed), Prefix: fmt.Sprint(n), Stream: i%2 == 0, Input: int64(seed % 4000), Needs: []string{fmt.Sprint("x", n)}[:i%3/2],
			})
			if step := r.Next(now, seed, &call); step.Kind == route.Send && i%7 > 0 { // one in seven is never ended
				r.FirstToken(now+1, step.Attempt)
				r.Settle(now+2, step.Attempt, route.Outcome{Kind: route.OutcomeKind(i % 13), RetryAfter: sec})
			}
			r.Grant(now, route.Permit{Number: uint64(now), Endpoint: fmt.Sprint("e", n), Identity: uint64(i % 2), Class: breaker.Any, Round: uint64(n), UseBy: now + 5*sec})
			r.Lease(now, route.Lease{Quota: fmt.Sprint("q", n-i), Dimension: limit.Dimension(i % 7), Lease: limit.Lease{Rate: int64(seed), Safe: 1 << 40, From: now, Until: now + 10*sec}})
			r.Lease(now, route.Lease{Tenant: fmt.Sprint("t", n-i), Dimension: limit.Dimension(i % 7), Lease: limit.Lease{Rate: 1 << 40, From: now, Until: 1 << 60}})
			r.Tick(now)
		}
		if n == 120 {
			early = size()
		}
	}
	if late := size(); late > early+early/4+200_000 {
		t.Errorf("%d bytes after a day, %d after two hours", late, early)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(snapshot)
}
