package clientlib_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Whatever ends a call, and in whatever order, what it took is given back: setUp looks
// at the end.
func TestEveryEndGivesBackWhatWasTaken(t *testing.T) {
	r := setUp(t, limits(func(a *route.Attempts) { a.FirstToken, a.Answer, a.Stall = 300_000, 300_000, 100_000 }))
	answers := []clienttest.Answer{
		clienttest.Say("a", "b"), clienttest.Fail(500, "x"), clienttest.Cut("a"), clienttest.Cut(), clienttest.Stop("a"),
		clienttest.Break("server_error", "a"), clienttest.Stall("a"), clienttest.Hang(), clienttest.Fail(400, "x"),
	}
	for _, e := range []*clienttest.Endpoint{r.a, r.b} {
		for range 100 {
			e.Next(answers[rand.IntN(len(answers))])
		}
	}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			body := plain
			if i%3 > 0 {
				body = streamed
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10+rand.IntN(400))*time.Millisecond)
			defer cancel()
			resp, err := r.post(ctx, body)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			if i%4 > 0 {
				_, _ = io.Copy(io.Discard, resp.Body) // however it ends
			}
		})
	}
	wg.Wait()
}

func TestAConnectionThatDoesNotComeIsATimeOut(t *testing.T) {
	r := setUp(t, limits(func(a *route.Attempts) { a.Connect = 100_000 }), func(r *rig, _ *route.Catalog, c *clientlib.Config) {
		address := r.a.URL[len("http://") : len(r.a.URL)-len("/v1")]
		own := &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			if to != address {
				return (&net.Dialer{}).DialContext(ctx, network, to)
			}
			httptrace.ContextClientTrace(ctx).ConnectStart(network, to)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		t.Cleanup(own.CloseIdleConnections)
		c.HTTP = own
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	r.decided("a timed_out", "b served")
}

// The same of the client's own connections: nothing traces them, but the time for connecting is
// known.
func TestAConnectionOfTheClientsOwnThatDoesNotComeIsATimeOut(t *testing.T) {
	r := setUp(t, limits(func(a *route.Attempts) { a.Connect = 100_000 }))
	address, end := r.a.URL[len("http://"):len(r.a.URL)-len("/v1")], make(chan struct{})
	defer close(end)
	r.Narrow(1, func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == address {
			<-end
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	r.decided("a timed_out", "b served")
}

func TestAFullPoolOfOnesOwnBlamesNoEndpoint(t *testing.T) {
	for _, given := range []bool{false, true} {
		r := setUp(t, limits(func(a *route.Attempts) { a.Connect = 100_000 }), func(_ *rig, _ *route.Catalog, c *clientlib.Config) {
			if given {
				own := &http.Transport{MaxConnsPerHost: 1}
				t.Cleanup(own.CloseIdleConnections)
				c.HTTP = own
			}
		})
		if !given {
			r.Narrow(1, nil)
		}
		r.a.Next(clienttest.Stall("one"))
		held, err := r.post(t.Context(), streamed)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.answer(plain); err != nil {
			t.Fatal(err)
		}
		held.Body.Close()
		r.decided("a unsent", "b served", "a cancelled")
	}
}

// sender is a transport as a function.
type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func TestAPooledConnectionThatWasClosedIsNoFailure(t *testing.T) {
	var bodies []string
	r := setUp(t, func(_ *rig, _ *route.Catalog, c *clientlib.Config) {
		c.HTTP = sender(func(q *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(q.Body)
			if bodies = append(bodies, string(b)); len(bodies) == 1 {
				return nil, errors.New("http: server closed idle connection")
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(goodBody))}, err
		})
	})
	if _, body, err := r.answer(plain); body != goodBody || err != nil {
		t.Errorf("%s %v", body, err)
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] || bodies[0] == "" {
		t.Errorf("sent %q", bodies)
	}
	r.decided("a served")
}

func BenchmarkPick(b *testing.B) {
	var endpoints []*clienttest.Endpoint
	for i := range 100 {
		endpoints = append(endpoints, &clienttest.Endpoint{Name: string(rune('a'+i/10)) + string(rune('a'+i%10)), URL: "http://127.0.0.1:1/v1"})
	}
	c, err := clientlib.Open(b.Context(), clientlib.Config{Catalog: clienttest.Pool("chat", endpoints...)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	w := c.Workload("chat")
	b.ReportAllocs()
	for b.Loop() {
		a, err := w.Pick(clientlib.Request{Input: 1000, MaxOutput: 100})
		if err != nil {
			b.Fatal(err)
		}
		a.Settle(clientlib.Outcome{Kind: clientlib.Served})
	}
}
