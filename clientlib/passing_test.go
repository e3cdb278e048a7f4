package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// inCrowdedHall is inHall with endpoints a, that has tools, and b, which all prefer, and forty
// tenants more.
func inCrowdedHall(t *testing.T, change func(*route.Catalog), test func(*testing.T, *hall)) {
	inHall(t, 2, func(c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints[1].Capabilities = []string{"chat", "stream"}
		c.Workloads[0].Tiers = []route.Tier{{Name: "first", Endpoints: []string{"b"}}, {Name: "second", Endpoints: []string{"a"}}}
		for i := range 40 {
			c.Tenants = append(c.Tenants, route.Tenant{Name: fmt.Sprint("t", i), Workloads: []string{"*"}, Caps: route.NoCaps()})
		}
		if change != nil {
			change(c)
		}
	}, test)
}

func (h *hall) gone() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.went)
}

func TestWhoCannotGoKeepsNobodyFromWhatIsFree(t *testing.T) {
	tools := clientlib.Request{Needs: []string{"tools"}}
	for rule, stuck := range map[string]func(*hall, int){
		"for what they need": func(h *hall, i int) {
			h.enters(h.t.Context(), "stuck", clientlib.Request{Tenant: fmt.Sprint("t", i), Needs: tools.Needs}, 0)
		},
		"for what they tried": func(h *hall, i int) {
			h.all.Go(func() {
				_, _ = clientlib.Do(h.t.Context(), h.Workload("chat"), clientlib.Request{}, where(map[string]error{"b": errBroken}))
			})
			synctest.Wait()
		},
		"for where their tenants may go": func(h *hall, i int) {
			h.enters(h.t.Context(), "stuck", clientlib.Request{Tenant: fmt.Sprint("eu", i)}, 0)
		},
		"for their tenant's cap": func(h *hall, i int) {
			h.enters(h.t.Context(), "stuck", clientlib.Request{Tenant: "capped", Needs: []string{"tools", "vision", "json_schema"}[:i%3], Stream: i%2 == 0}, 0)
		},
	} {
		inCrowdedHall(t, func(c *route.Catalog) {
			c.Endpoints[0].Region = "eu"
			c.Endpoints[1].Breaker.Consecutive, c.Endpoints[1].Breaker.MinSamples = 0, 1<<40
			c.Workloads[0].Attempts.RetryReserve = 100
			for i := range 40 {
				c.Tenants = append(c.Tenants, route.Tenant{Name: fmt.Sprint("eu", i), Workloads: []string{"*"}, Regions: []string{"eu"}, Caps: route.NoCaps()})
			}
			capped := route.Tenant{Name: "capped", Workloads: []string{"*"}, Caps: route.NoCaps()}
			capped.Caps.Concurrency = 0
			c.Tenants = append(c.Tenants, capped)
		}, func(t *testing.T, h *hall) {
			h.enters(t.Context(), "tools", tools, 20*time.Second)
			for i := range 40 {
				stuck(h, i)
			}
			time.Sleep(time.Second) // after their back-off
			h.waits(40)
			h.enters(t.Context(), "plain", clientlib.Request{}, 10*time.Millisecond)
			for i := range 40 {
				h.enters(t.Context(), "plain", clientlib.Request{Tenant: fmt.Sprint("t", i)}, 10*time.Millisecond)
			}
			time.Sleep(500 * time.Millisecond)
			if n := h.gone(); n != 42 {
				t.Errorf("%s: %d went, want 42", rule, n)
			}
		})
	}
}

// A tenant at its cap goes the moment that an attempt of its own ends, and not before.
func TestATenantAtItsCapGoesWhenItsOwnAttemptEnds(t *testing.T) {
	inCrowdedHall(t, func(c *route.Catalog) {
		c.Endpoints[1].Concurrency = 4
		c.Tenants[0].Caps.Concurrency = 1
	}, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "capped 1", clientlib.Request{}, 300*time.Millisecond)
		h.enters(t.Context(), "capped 2", clientlib.Request{}, 300*time.Millisecond)
		h.enters(t.Context(), "capped 3", clientlib.Request{Stream: true}, time.Millisecond)
		for range 20 {
			h.enters(t.Context(), "other", clientlib.Request{Tenant: "other"}, 10*time.Millisecond)
		}
		time.Sleep(299 * time.Millisecond)
		if n := h.gone(); n != 21 {
			t.Errorf("%d went, want 21", n)
		}
		time.Sleep(2 * time.Millisecond)
		h.waits(1)
		time.Sleep(300 * time.Millisecond)
		h.waits(0)
	})
}

func TestANewCatalogIsNotWaitedFor(t *testing.T) {
	var catalog route.Catalog
	inCrowdedHall(t, func(c *route.Catalog) {
		c.Tenants[1].Caps.Concurrency = 0
		catalog = *c
	}, func(t *testing.T, h *hall) {
		adopt := func(change func(*route.Catalog)) {
			t.Helper()
			next := catalog
			next.Endpoints, next.Workloads, next.Tenants = append([]route.Endpoint(nil), catalog.Endpoints...), append([]route.Workload(nil), catalog.Workloads...), append([]route.Tenant(nil), catalog.Tenants...)
			change(&next)
			next.Version.Generation++
			catalog = next
			if err := h.Adopt(&next); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		h.enters(t.Context(), "capped", clientlib.Request{Tenant: "other"}, 0)
		h.enters(t.Context(), "again", clientlib.Request{}, 0) // and a round leaves it out
		h.waits(1)
		adopt(func(c *route.Catalog) { c.Tenants[1].Caps.Concurrency = 1 })
		h.waits(0)
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		h.enters(t.Context(), "2", clientlib.Request{}, time.Second)
		for i := range 40 {
			h.enters(t.Context(), "x", clientlib.Request{Tenant: fmt.Sprint("t", i), Stream: i%2 == 0}, time.Minute)
		}
		h.waits(40)
		adopt(func(c *route.Catalog) { c.Endpoints[1].Concurrency = 30 })
		h.waits(11)
		adopt(func(c *route.Catalog) { // their turn is that of what they are now
			c.Tenants[0].Priority = route.PriorityBatch
		})
		h.enters(t.Context(), "batch", clientlib.Request{}, time.Minute)
		h.enters(t.Context(), "first", clientlib.Request{Tenant: "other"}, time.Minute)
		adopt(func(c *route.Catalog) { c.Tenants = c.Tenants[:4] })
		h.waits(2)
		adopt(func(c *route.Catalog) { c.Workloads[0].Name = "other" })
		h.waits(0)
		if err := h.fell["batch"]; !errors.Is(err, clientlib.ErrUnknownWorkload) {
			t.Error(err)
		}
	})
}

// What cannot be is said at once, whoever waits.
func TestABadRequestDoesNotWait(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		for _, r := range []clientlib.Request{{}, {Input: 1 << 40}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			h.enters(ctx, "waits", r, 0)
		}
		began := time.Now()
		for _, r := range []clientlib.Request{
			{Input: -1}, {MaxOutput: -1}, {Input: math.MinInt64}, {Input: math.MaxInt64}, {MaxOutput: math.MaxInt64}, {Input: math.MaxInt64, MaxOutput: math.MaxInt64}, {Input: 1<<40 + 1},
		} {
			_, err := clientlib.Do(t.Context(), h.Workload("chat"), r, where(nil))
			if !errors.Is(err, clientlib.ErrRequest) || !time.Now().Equal(began) {
				t.Errorf("%+v: %v after %v", r, err, time.Since(began))
			}
		}
	})
}

func TestWhoWaitsIsServedThoughTheClientIsClosed(t *testing.T) {
	inHall(t, 1, nil, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, time.Second)
		h.enters(t.Context(), "2", clientlib.Request{}, time.Second)
		h.enters(t.Context(), "3", clientlib.Request{Stream: true}, time.Second)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		h.waits(2)
		h.order("1", "2", "3")
	})
}

// held is a body of which nothing but its end comes, when it is closed.
type held struct {
	io.Reader
	closed atomic.Bool
}

func (h *held) Close() error {
	h.closed.Store(true)
	return nil
}

// lookout looks at the body of an attempt that has just ended.
type lookout struct {
	t      *testing.T
	latest *held
}

func (l *lookout) Attempt(a clientlib.AttemptInfo) {
	if !l.latest.closed.Load() {
		l.t.Errorf("%v, and it is still answered", a.Outcome.Kind)
	}
}

func (*lookout) Call(clientlib.CallInfo) {}

func (l *lookout) Event(clientlib.Event) {}

// G4: an endpoint does not get another request while it still answers one that was given up.
func TestAnAnswerIsGivenUpBeforeItsPlaceIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lookout{t: t}
		catalog := clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: "http://127.0.0.1:1/v1"})
		c, err := clienttest.Open(t.Context(), clientlib.Config{Catalog: catalog, Observer: l, HTTP: sender(func(*http.Request) (*http.Response, error) {
			silence, _ := io.Pipe()
			l.latest = &held{Reader: io.MultiReader(strings.NewReader(oneEvent), silence)}
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: l.latest}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Client: c, t: t, http: c.HTTP()}
		if resp, err := r.post(t.Context(), streamed); err != nil || resp.Body.Close() != nil {
			t.Errorf("%v %v", resp, err)
		}
		r.decided("a cancelled")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
