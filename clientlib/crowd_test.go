package clientlib_test

import (
	"context"
	"encoding/json"
	"errors"
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

// crowd is a client, the endpoints it may use, and what it was told of attempts.
type crowd struct {
	*rig
	endpoints []*clienttest.Endpoint
	told      keeping
	sends     atomic.Int64 // of Do
}

// gather opens a client on six endpoints, of which every other lacks tools, and which
// fail in every way.
func gather(t *testing.T) *crowd {
	t.Helper()
	answers := []clienttest.Answer{
		clienttest.Say("a", "b"), clienttest.Say("a"), clienttest.Say("a", "b", "c"), clienttest.Fail(500, "x"), clienttest.Fail(400, "x"), clienttest.Cut(), clienttest.Cut("a"),
		clienttest.Stop("a"), clienttest.Break("server_error", "a"), clienttest.Stall("a"), clienttest.Hang(),
	}
	c := &crowd{}
	for i := range 6 {
		e := clienttest.Start(string(rune('a' + i)))
		t.Cleanup(e.Close)
		for range 400 {
			e.Next(answers[rand.IntN(len(answers))])
		}
		e.Next(clienttest.Fail(429, "rate_limit_exceeded"))
		c.endpoints = append(c.endpoints, e)
	}
	catalog := clienttest.Pool("chat", c.endpoints...)
	a := &catalog.Workloads[0].Attempts
	a.FirstToken, a.Answer, a.Stall, a.RetryReserve = 200_000, 200_000, 100_000, 1000
	for i := range catalog.Endpoints {
		e := &catalog.Endpoints[i]
		if i < 4 { // the others trip, and come back
			e.Breaker.Consecutive, e.Breaker.MinSamples = 0, 1<<40
		}
		e.Breaker.Cooldown, e.Breaker.CooldownMax = 20_000, 40_000
		if i%2 == 1 {
			e.Capabilities = []string{"chat", "stream"}
		}
	}
	client, err := clienttest.Open(t.Context(), clientlib.Config{Catalog: catalog, Observer: &c.told})
	if err != nil {
		t.Fatal(err)
	}
	c.rig = &rig{Client: client, t: t, http: client.HTTP()}
	return c
}

const toolsBody = `{"model":"chat","tools":[{"type":"function","function":{"name":"f"}}],"messages":[]}`

// call is one caller's, who gives up, stops reading or panics as callers do.
func (c *crowd) call(i int) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(5+rand.IntN(400))*time.Millisecond)
	defer cancel()
	if i%5 == 0 {
		c.do(ctx, i)
		return
	}
	resp, err := c.post(ctx, []string{plain, streamed, toolsBody}[i%3])
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, int64(rand.IntN(400))) // however it ends
}

func (c *crowd) do(ctx context.Context, i int) {
	defer func() { _ = recover() }()
	_, _ = clientlib.Do(ctx, c.Workload("chat"), clientlib.Request{Stream: true, Needs: []string{"tools"}[:i%2]}, func(ctx context.Context, a clientlib.Attempt) (int, error) {
		c.sends.Add(1)
		again := a
		defer again.Abandon()
		switch rand.IntN(5) {
		case 0:
			panic("a caller's own")
		case 1:
			<-ctx.Done()
			return 0, ctx.Err()
		case 2:
			again.FirstToken()
			again.Content()
			return 0, errors.New("broken")
		case 3:
			a.Settle(clientlib.Outcome{Kind: clientlib.Invalid})
			return 0, errors.New("invalid")
		}
		return 0, nil
	})
}

// Two hundred callers, every fault, and each attempt is taken once, told of once and
// given back once; none goes where it cannot be served.
func TestACrowd(t *testing.T) {
	c := gather(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			for range 4 {
				c.call(i)
			}
		})
	}
	wg.Wait()
	c.settledAll()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	c.countedOnce()
	c.onlyWhereTheyCanBeServed()
}

func (c *crowd) countedOnce() {
	sent := 0
	for _, e := range c.endpoints {
		sent += len(e.Requests())
	}
	told := len(c.told.attempts)
	if c.sends.Load() == 0 || sent == 0 || told < sent+int(c.sends.Load()) {
		c.t.Errorf("%d attempts told of, %d requests came and %d sends", told, sent, c.sends.Load())
	}
	for _, a := range c.told.attempts {
		if a.Total < 0 || a.FirstToken > a.Total || a.Number < 1 || a.Number > 3 {
			c.t.Errorf("%+v", a)
		}
	}
	for _, e := range c.told.events {
		if e.Kind == route.EventStale.String() || e.Kind == route.EventLost.String() {
			c.t.Errorf("%+v", e)
		}
	}
}

func (c *crowd) onlyWhereTheyCanBeServed() {
	for i, e := range c.endpoints {
		for _, q := range e.Requests() {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(q.Body, &fields); err != nil {
				c.t.Error(err)
			}
			if _, tools := fields["tools"]; tools && i%2 == 1 {
				c.t.Errorf("endpoint %q, which has no tools, got %s", e.Name, q.Body)
			}
			if q.Model != "model-at-"+e.Name {
				c.t.Errorf("endpoint %q got model %q", e.Name, q.Model)
			}
		}
	}
	if !slices.ContainsFunc(c.told.attempts, func(a clientlib.AttemptInfo) bool { return a.Outcome.Kind == clientlib.Served }) {
		c.t.Error("nothing was served")
	}
}
