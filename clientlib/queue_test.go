package clientlib_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// hall is a client in a bubble of time, whose endpoints serve so many at once, and who went
// in which order.
type hall struct {
	*clienttest.Client
	t    *testing.T
	all  sync.WaitGroup
	mu   sync.Mutex // guards what follows
	went []string
	fell map[string]error
}

// tenants are of priority interactive, interactive, standard and batch.
var tenants = []string{"default", "other", "standard", "batch"}

// inHall runs a test on a workload "chat" with endpoints a, b, … that serve one call at a time.
func inHall(t *testing.T, endpoints int, change func(*route.Catalog, *clientlib.Config), test func(*testing.T, *hall)) {
	synctest.Test(t, func(t *testing.T) {
		var all []*clienttest.Endpoint
		for i := range endpoints {
			all = append(all, &clienttest.Endpoint{Name: string(rune('a' + i)), URL: "http://127.0.0.1:1/v1"})
		}
		catalog := clienttest.Pool("chat", all...)
		for i := range catalog.Endpoints {
			catalog.Endpoints[i].Concurrency = 1
		}
		for i, name := range tenants {
			priority := route.Priority(max(i-1, 0))
			catalog.Tenants = append(catalog.Tenants, route.Tenant{Name: name, Workloads: []string{"*"}, Caps: route.NoCaps(), Priority: priority})
		}
		config := clientlib.Config{Catalog: catalog}
		if change != nil {
			change(catalog, &config)
		}
		c, err := clienttest.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		h := &hall{Client: c, t: t, fell: map[string]error{}}
		test(t, h)
		h.all.Wait()
		if left := c.Waiting(); len(left) > 0 {
			t.Errorf("%v wait at the end", left)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// enters makes a call that is served for a time, and returns when it is served or waits.
func (h *hall) enters(ctx context.Context, name string, r clientlib.Request, lasts time.Duration) {
	h.all.Go(func() {
		_, err := clientlib.Do(ctx, h.Workload("chat"), r, func(context.Context, clientlib.Attempt) (int, error) {
			h.mu.Lock()
			h.went = append(h.went, name)
			h.mu.Unlock()
			time.Sleep(lasts)
			return 0, nil
		})
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil {
			h.fell[name] = err
		}
	})
	synctest.Wait()
}

// order waits for all and compares.
func (h *hall) order(want ...string) {
	h.t.Helper()
	h.all.Wait()
	if diff := cmp.Diff(want, h.went); diff != "" {
		h.t.Errorf("went:\n%s", diff)
	}
}

func (h *hall) waits(want int) {
	h.t.Helper()
	got := 0
	for _, w := range h.Waiting() {
		got += w.Count
	}
	if got != want {
		h.t.Errorf("%d wait, want %d", got, want)
	}
}

func TestWhoWaitsIsServedInOrderTheMomentAPlaceIsFree(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		began := time.Now()
		for _, name := range []string{"1", "2", "3", "4"} {
			h.enters(t.Context(), name, clientlib.Request{}, 100*time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		if diff := cmp.Diff([]clientlib.Waiting{{Workload: "chat", Count: 3, Oldest: 50 * time.Millisecond}}, h.Waiting()); diff != "" {
			t.Error(diff)
		}
		h.order("1", "2", "3", "4")
		if took := time.Since(began); took != 400*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

func TestTenantsShareByTokens(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "first", clientlib.Request{}, time.Millisecond)
		for range 4 {
			h.enters(t.Context(), "large", clientlib.Request{Tenant: "default", Input: 900, MaxOutput: 100}, time.Millisecond)
		}
		for range 900 {
			h.enters(t.Context(), "small", clientlib.Request{Tenant: "other", MaxOutput: 1}, time.Millisecond)
		}
		h.all.Wait()
		large, small := 0, 0
		for _, name := range h.went {
			if name == "large" {
				large++
			}
			if name == "small" {
				small++
			}
			if small < 900 && large > 0 {
				t.Fatalf("1000 tokens went before %d of 900", 900-small)
			}
		}
	})
	inHall(t, 1, nil, func(t *testing.T, h *hall) { // for the long run: neither is ahead by more than one of its calls
		h.enters(t.Context(), "first", clientlib.Request{}, time.Millisecond)
		for range 300 {
			h.enters(t.Context(), "default", clientlib.Request{Tenant: "default", Input: 1000}, time.Millisecond)
		}
		for range 300 {
			h.enters(t.Context(), "other", clientlib.Request{Tenant: "other", Input: 7000}, time.Millisecond)
		}
		h.all.Wait()
		tokens := map[string]int{}
		for _, name := range h.went[:200] {
			tokens[name] += map[string]int{"default": 1000, "other": 7000}[name]
		}
		if ahead := tokens["default"] - tokens["other"]; ahead < -7000 || ahead > 7000 {
			t.Errorf("%v", tokens)
		}
	})
}

// A tenant that comes again and again with one large call pays for each.
func TestWhoComesAnewBeginsWhereTheOthersAre(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "first", clientlib.Request{}, time.Millisecond)
		for range 500 {
			h.enters(t.Context(), "small", clientlib.Request{Tenant: "other", Input: 10}, time.Millisecond)
		}
		h.all.Go(func() {
			for range 5 {
				_, err := clientlib.Do(t.Context(), h.Workload("chat"), clientlib.Request{Input: 1000}, func(context.Context, clientlib.Attempt) (int, error) {
					h.mu.Lock()
					h.went = append(h.went, "large")
					h.mu.Unlock()
					time.Sleep(time.Millisecond)
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		h.all.Wait()
		last := 0
		for i, name := range h.went {
			if name != "large" {
				continue
			}
			if i-last < 99 && i < 500 {
				t.Errorf("a large one is number %d, after number %d", i, last)
			}
			last = i
		}
	})
}

func TestPrioritiesGoFirstAndTheLowestGoesWhenTheyHave(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		for _, tenant := range []string{"batch", "standard", "batch", "default", "standard", "default"} {
			h.enters(t.Context(), tenant, clientlib.Request{Tenant: tenant}, time.Second)
		}
		h.order("1", "default", "default", "standard", "standard", "batch", "batch")
	})
}

// The core keeps a place in twenty for the lowest: it is handed on however many wait ahead.
func TestWhatIsKeptForTheLowestIsHandedOn(t *testing.T) {
	inHall(t, 1, func(c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints[0].Concurrency = 20
		for i := range 20 {
			c.Tenants = append(c.Tenants, route.Tenant{Name: string(rune('a' + i)), Workloads: []string{"*"}, Caps: route.NoCaps()})
		}
	}, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "batch", clientlib.Request{Tenant: "batch"}, 500*time.Millisecond)
		for range 19 {
			h.enters(t.Context(), "default", clientlib.Request{}, 2*time.Second)
		}
		for i := range 20 {
			h.enters(t.Context(), "stuck", clientlib.Request{Tenant: string(rune('a' + i))}, 0)
		}
		h.enters(t.Context(), "batch again", clientlib.Request{Tenant: "batch"}, 0)
		h.waits(21)
		time.Sleep(501 * time.Millisecond)
		h.waits(20)
		h.mu.Lock()
		defer h.mu.Unlock()
		if last := h.went[len(h.went)-1]; last != "batch again" {
			t.Errorf("%q went", last)
		}
	})
}
