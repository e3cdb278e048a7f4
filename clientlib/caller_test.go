package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestABodyThatDoesNotComeIsWaitedForNoLongerThanItsCallerDoes(t *testing.T) {
	r := setUp(t)
	body, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.invalid/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	go cancel()
	if resp, err := r.Transport(clientlib.TransportConfig{}).RoundTrip(q); !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", resp, err)
	}
	r.decided()
}

func TestARequestIsLeftAsItWas(t *testing.T) {
	r := setUp(t)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.invalid/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.Transport(clientlib.TransportConfig{}).RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if q.Body != nil || len(q.Header) != 0 {
		t.Errorf("%+v", q)
	}
}

func TestAStreamMayBeLeftAnywhere(t *testing.T) {
	r := setUp(t)
	_, whole, err := r.answer(streamed)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := r.post(ctx, streamed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, n)); err != nil {
			t.Fatalf("%d of %d: %v", n, len(whole), err)
		}
		if n%2 == 0 {
			cancel()
		}
		resp.Body.Close()
		resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err == nil && n <= len(whole)-len(doneEvent) {
			t.Errorf("%d of %d: a clean end after %q", n, len(whole), b)
		}
		cancel()
	}
	for i, got := range r.Decisions()[1:] {
		if got != "a cancelled" && got != "a served" || got == "a cancelled" && i == len(whole) {
			t.Errorf("%d of %d: %s", i, len(whole), got)
		}
	}
}

func TestACloseEndsAReadThatWaits(t *testing.T) {
	r := setUp(t)
	r.a.Next(clienttest.Stall("one"))
	resp, err := r.post(t.Context(), streamed)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := io.ReadAll(resp.Body)
		read <- err
	}()
	resp.Body.Close()
	if err := <-read; !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("%v", err)
	}
	r.decided("a cancelled")
}

func TestAClientMayBeClosedByManyAtAnyTime(t *testing.T) {
	r := setUp(t)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			if i%3 == 0 {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if resp, err := r.post(t.Context(), streamed); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
}

func TestSettlingElsewhereAndTwiceIsOnce(t *testing.T) {
	r := setUp(t)
	var wg sync.WaitGroup
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Stream: true}, func(_ context.Context, a clientlib.Attempt) (int, error) {
		for range 8 {
			wg.Go(func() {
				a.FirstToken()
				a.Content()
				a.Settle(clientlib.Outcome{Kind: clientlib.Served})
				a.Abandon()
			})
		}
		return 0, nil
	})
	wg.Wait()
	if err != nil {
		t.Error(err)
	}
	r.decided("a served")
}

// slowly answers streams in virtual time: each piece after a while.
type slowly struct {
	after  time.Duration
	pieces []string
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	from, to := io.Pipe()
	go func() {
		for _, p := range s.pieces {
			select {
			case <-time.After(s.after):
			case <-r.Context().Done():
				to.CloseWithError(r.Context().Err())
				return
			}
			if _, err := io.WriteString(to, p); err != nil {
				return
			}
		}
		<-r.Context().Done()
		to.CloseWithError(r.Context().Err())
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: from}, nil
}

// apace opens a client, in a bubble, whose only endpoint answers slowly.
func apace(t *testing.T, s slowly, set func(*route.Attempts)) *rig {
	t.Helper()
	catalog := clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: "http://127.0.0.1:1/v1"})
	set(&catalog.Workloads[0].Attempts)
	c, err := clienttest.Open(t.Context(), clientlib.Config{Catalog: catalog, HTTP: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &rig{Client: c, t: t, http: c.HTTP()}
}

func TestAStreamThatIsNotReadBlamesNoEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := apace(t, slowly{time.Second, []string{oneEvent, twoEvent, stopEvent}}, func(a *route.Attempts) {})
		resp, err := r.post(t.Context(), streamed)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // and it is never closed
		r.decided("a cancelled")
		r.settledAll()
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("a clean end")
		}
	})
}

func TestAReaderMayTakeItsTimeAndAnEndpointMayNot(t *testing.T) {
	for _, c := range []struct {
		rule    string
		pause   time.Duration // of the reader, a piece
		answer  slowly
		limit   string // that passes; empty: none
		decided string
	}{
		{"a slow reader is no stall", 19 * time.Second, slowly{time.Second, []string{oneEvent, twoEvent, stopEvent, doneEvent}}, "", "a served"},
		{"a slow endpoint below the limit is none either", 0, slowly{9 * time.Second, []string{oneEvent, twoEvent, stopEvent, doneEvent}}, "", "a served"},
		{"comments alone are a stall", 0, slowly{5 * time.Second, []string{oneEvent, ": a\n\n", ": b\n\n", ": c\n\n", ": d\n\n", ": e\n\n"}}, "stall", "a timed_out"},
		{"an end that does not come is a stall", 0, slowly{time.Second, []string{oneEvent, twoEvent}}, "stall", "a timed_out"},
		{"a drip for ever ends with the total", 0, slowly{9 * time.Second, strings.SplitAfter(strings.Repeat(twoEvent, 100), "\n\n")}, "total", "a timed_out"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := apace(t, c.answer, func(a *route.Attempts) {})
			resp, err := r.post(t.Context(), streamed)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for b := make([]byte, 4096); err == nil; _, err = resp.Body.Read(b) {
				time.Sleep(c.pause)
			}
			var limit *clientlib.LimitError
			if c.limit == "" && err != io.EOF || c.limit != "" && (!errors.As(err, &limit) || limit.Limit != c.limit) { //nolint:errorlint // EOF is never wrapped
				t.Errorf("%s: %v", c.rule, err)
			}
			r.decided(c.decided)
		})
	}
}

func TestCommentsForEverAreNoFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := apace(t, slowly{time.Second, strings.SplitAfter(strings.Repeat(": a\n\n", 100), "\n\n")}, func(a *route.Attempts) { a.Max = 1 })
		began := time.Now()
		resp, body, err := r.answer(streamed)
		if err != nil || resp.StatusCode != 504 || time.Since(began) != 10*time.Second {
			t.Errorf("%d %s %v after %v", resp.StatusCode, body, err, time.Since(began))
		}
		r.decided("a timed_out")
	})
}

// fading is a context that ends when it has been looked at so many times.
type fading struct {
	context.Context
	cancel context.CancelFunc
	looks  atomic.Int64
}

func (f *fading) Err() error {
	if f.looks.Add(-1) < 0 {
		f.cancel()
	}
	return f.Context.Err()
}

// stays has an endpoint a that fails and is not left out for it.
func stays(r *rig, c *route.Catalog, _ *clientlib.Config) {
	r.a.Always(clienttest.Fail(500, "x"))
	c.Endpoints[0].Breaker.Consecutive, c.Endpoints[0].Breaker.MinSamples = 0, 1<<40
	c.Workloads[0].Attempts.RetryReserve, c.Workloads[0].Attempts.RetryRatio = 1<<20, 1
}

func TestACallMayEndAtAnyMoment(t *testing.T) {
	r := setUp(t, stays)
	calls := []func(context.Context){
		func(ctx context.Context) { _, _ = clientlib.Do(ctx, r.Workload("chat"), clientlib.Request{}, until) },
	}
	for _, body := range []string{plain, streamed} {
		calls = append(calls, func(ctx context.Context) {
			if resp, err := r.post(ctx, body); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body) // however it ends
				resp.Body.Close()
			}
		})
	}
	var wg sync.WaitGroup
	for i := range 3 * 40 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			f := &fading{Context: ctx, cancel: cancel}
			f.looks.Store(int64(i / 3))
			calls[i%3](f)
		})
	}
	wg.Wait()
}
