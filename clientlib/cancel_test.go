package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// B5: wherever a call is when its caller cancels, all that it holds is free at once.
func TestACancelFreesEverythingAtOnce(t *testing.T) {
	for _, c := range []struct {
		rule  string
		body  string
		how   play
		reads bool // the answer comes, and is read
		lasts bool // the answer comes, and nobody reads it
	}{
		{"waiting for an answer", plain, silent, false, false},
		{"inside an answer", plain, answering(200, "application/json", nil, []any{goodBody[:20], forever}), false, false},
		{"waiting for a stream", streamed, silent, false, false},
		{"waiting for the first token", streamed, streams(roleEvent, forever), false, false},
		{"in the middle of a stream", streamed, streams(roleEvent, oneEvent, forever), true, false},
		{"never reading", streamed, streams(roleEvent, oneEvent, twoEvent, doneEvent), false, true},
	} {
		onStage(t, func(g *staging) { g.catalog.Tenants = []route.Tenant{clienttest.Tenant("default")} }, func(s *stage) {
			s.at("a", c.how)
			ctx, cancel := context.WithCancel(s.t.Context())
			var all sync.WaitGroup
			all.Go(func() {
				resp, err := s.ask(ctx, "/chat/completions", c.body)
				switch {
				case err == nil && c.reads:
					if _, err = io.ReadAll(resp.Body); err == nil {
						s.t.Errorf("%s: a clean end", c.rule)
					}
				case err == nil && !c.lasts, err != nil && !errors.Is(err, context.Canceled):
					s.t.Errorf("%s: %v %v", c.rule, resp, err)
				}
			})
			time.Sleep(time.Second)
			if got := s.Endpoints()[0].InFlight; got != 1 {
				s.t.Errorf("%s: %d in flight", c.rule, got)
			}
			cancel()
			synctest.Wait()
			s.decided("a cancelled")
			s.nothingIsLeft() // what was neither read nor closed by its caller, too
			all.Wait()
			if len(s.calls()) != 1 || s.calls()[0].Err == nil || s.calls()[0].Outcome.Kind != clientlib.Cancelled {
				s.t.Errorf("%s: %+v", c.rule, s.calls())
			}
		})
	}
}

func TestACancelLeavesTheQueueAtOnce(t *testing.T) {
	onStage(t, func(g *staging) {
		g.catalog.Endpoints, g.catalog.Workloads[0].Tiers = g.catalog.Endpoints[:1], g.catalog.Workloads[0].Tiers[:1]
		g.catalog.Endpoints[0].Concurrency = 1
	}, func(s *stage) {
		s.at("a", streams(oneEvent, forever))
		first, err := s.ask(s.t.Context(), "/chat/completions", streamed)
		if err != nil {
			s.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(s.t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if resp, err := s.ask(ctx, "/chat/completions", plain); !errors.Is(err, context.Canceled) {
				s.t.Errorf("%v %v", resp, err)
			}
		})
		synctest.Wait()
		if len(s.Waiting()) != 1 {
			s.t.Errorf("%+v", s.Waiting())
		}
		cancel()
		all.Wait()
		if len(s.Waiting()) != 0 || len(s.calls()) != 1 || !errors.Is(s.calls()[0].Err, context.Canceled) || s.calls()[0].Attempts != 0 {
			s.t.Errorf("%+v, %+v", s.Waiting(), s.calls())
		}
		first.Body.Close()
	})
}

// A caller that gives up while its connection is dialled waits for it no longer.
func TestACancelDoesNotWaitForAConnection(t *testing.T) {
	dialing, end := make(chan struct{}, 1), make(chan struct{})
	own := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dialing <- struct{}{}
		<-end
		return nil, errReset
	}}
	defer close(end)
	r := setUp(t, func(_ *rig, _ *route.Catalog, c *clientlib.Config) { c.HTTP = own })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-dialing
		cancel()
	}()
	if resp, err := r.post(ctx, plain); !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", resp, err)
	}
	r.decided("a cancelled")
}
