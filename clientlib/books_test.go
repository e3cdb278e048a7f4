package clientlib_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// books are what calls and attempts say of themselves, beside what endpoints saw.
type books struct {
	mu       sync.Mutex // guards what follows
	attempts map[string][]clientlib.AttemptInfo
	calls    map[string][]clientlib.CallInfo
	asked    map[string]int  // requests, by call
	busy     map[string]int  // those that have not ended
	given    map[string]bool // content has reached the caller
	faults   []string
}

func (b *books) locked(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// Calls are told apart by their tenants.
func (b *books) Attempt(a clientlib.AttemptInfo) {
	b.locked(func() { b.attempts[a.Tenant] = append(b.attempts[a.Tenant], a) })
}

func (b *books) Call(c clientlib.CallInfo) {
	b.locked(func() { b.calls[c.Tenant] = append(b.calls[c.Tenant], c) })
}

func (*books) Event(clientlib.Event) {}

// arrives notes a request, and what must not be.
func (b *books) arrives(call string) {
	b.locked(func() {
		b.asked[call]++
		b.busy[call]++
		switch {
		case b.busy[call] > 1:
			b.faults = append(b.faults, call+": two at once")
		case b.asked[call] > booksMax:
			b.faults = append(b.faults, call+": too many")
		case b.given[call]:
			b.faults = append(b.faults, call+": asked again after content")
		}
	})
}

const booksMax = 3

// noted is a play whose request is in the books until it has ended.
func (b *books) noted(p play) play {
	return func(s *stage, r *http.Request) (*http.Response, error) {
		call := r.Header.Get("X-Request-Id")
		b.arrives(call)
		leave := func() { b.locked(func() { b.busy[call]-- }) }
		resp, err := p(s, r)
		if err != nil {
			leave()
			return nil, err
		}
		resp.Body = &noting{resp.Body, sync.OnceFunc(leave)}
		return resp, nil
	}
}

type noting struct {
	io.ReadCloser
	leave func()
}

func (n *noting) Close() error {
	n.leave()
	return n.ReadCloser.Close()
}

// anyPlay is one of all ways in which an endpoint answers.
func anyPlay(chance *rand.Rand) play {
	absurd := `data: {"choices":[],"usage":{"prompt_tokens":-4,"completion_tokens":9223372036854775807}}` + "\n\n"
	all := []play{
		hello, hello, hello, hello, lost, silent, failing(500, "x"), failing(400, "x"), failing(429, "rate_limit_exceeded", "Retry-After-Ms", "20"),
		says(200, "<html>"), says(200, `{"choices":[]}`), says(200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":1e99}}`),
		answering(200, "application/json", nil, []any{goodBody[:30], time.Second, goodBody[30:]}), answering(200, "application/json", nil, []any{goodBody[:30], errReset}),
		streams(roleEvent, errReset), streams(roleEvent, oneEvent, errReset), streams(oneEvent, usageEvent, time.Second, twoEvent, forever), streams(roleEvent, forever),
		streams(time.Second, roleEvent, oneEvent, time.Second, stopEvent, absurd, doneEvent, doneEvent, oneEvent), streams(oneEvent, doneEvent), streams(doneEvent),
		streams(oneEvent, `data: {"error":{"code":"rate_limit_exceeded"}}`+"\n\n", doneEvent), streams(": x\n\n", "data: \x00\n\n", oneEvent, stopEvent, usageEvent, doneEvent),
	}
	return all[chance.IntN(len(all))]
}

// call makes one call and leaves it somehow.
func (b *books) call(s *stage, chance *rand.Rand, name string) {
	ctx, cancel := context.WithCancel(clientlib.WithTenant(s.t.Context(), name))
	defer cancel()
	if chance.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(4000))*time.Millisecond)
		defer cancel()
	}
	body := []string{plain, streamed}[chance.IntN(2)]
	resp, err := s.ask(ctx, "/chat/completions", body, "X-Request-Id", name)
	if err != nil {
		return
	}
	if resp.StatusCode == 200 {
		b.locked(func() { b.given[name] = true })
	}
	switch chance.IntN(4) {
	case 0:
		_, _ = resp.Body.Read(make([]byte, 100))
	case 1:
		go resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
	default:
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}

// balanced says what does not add up.
func (b *books) balanced(t *testing.T, calls int, price *money.Price) {
	for _, f := range b.faults {
		t.Error(f)
	}
	for i := range calls {
		name := "t" + strconv.Itoa(i)
		if len(b.calls[name]) != 1 {
			t.Errorf("%s: %d ends", name, len(b.calls[name]))
			continue
		}
		c, want := b.calls[name][0], clientlib.CallInfo{}
		for n, a := range b.attempts[name] {
			u := a.Outcome.Usage
			want.Usage.Input, want.Usage.Cached, want.Usage.Output = want.Usage.Input+u.Input, want.Usage.Cached+u.Cached, want.Usage.Output+u.Output
			want.Cost = want.Cost.Plus(price.Cost(u))
			if a.Cost != price.Cost(u) || a.Number != n+1 || u.Input < 0 || u.Output < 0 {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if c.Attempts != len(b.attempts[name]) || c.Attempts != b.asked[name] || c.Cost != want.Cost || cmp.Diff(c.Usage, want.Usage) != "" {
			t.Errorf("%s: %+v of %d attempts, %d requests, %+v", name, c, len(b.attempts[name]), b.asked[name], want)
		}
	}
}

// Whatever endpoints answer and callers do: an attempt at a time, none too many, none after
// content, all told of once, all priced, and nothing kept.
func TestTheBooksAddUp(t *testing.T) {
	const calls = 60
	for seed := range uint64(12) {
		chance := rand.New(rand.NewPCG(seed, 7))
		b := &books{attempts: map[string][]clientlib.AttemptInfo{}, calls: map[string][]clientlib.CallInfo{}, asked: map[string]int{}, busy: map[string]int{}, given: map[string]bool{}}
		price := money.Price{Input: 2_500_001, Output: 10_000_003}
		onStage(t, func(g *staging) {
			quota := clienttest.Quota("org")
			quota.Requests, quota.Tokens = 6000, 10_000_000
			g.catalog.Quotas = []route.Quota{quota}
			for i := range g.catalog.Endpoints {
				e := &g.catalog.Endpoints[i]
				e.Price, e.Quotas, e.Concurrency = price, []string{"org"}, 8
				e.Breaker.Consecutive, e.Breaker.MinSamples = 0, 1<<40
			}
			g.catalog.Workloads[0].Whole = seed%2 == 1
			g.catalog.Workloads[0].Attempts.Max = booksMax
			g.config.Observer = b
		}, func(s *stage) {
			full := fmt.Sprint(left(s))
			for _, name := range []string{"a", "b"} {
				var plays []play
				for range 4 * calls {
					plays = append(plays, b.noted(anyPlay(chance)))
				}
				s.at(name, plays...)
			}
			var all sync.WaitGroup
			for i := range calls {
				own := rand.New(rand.NewPCG(seed, uint64(i)))
				all.Go(func() {
					time.Sleep(time.Duration(own.IntN(3000)) * time.Millisecond)
					b.call(s, own, "t"+strconv.Itoa(i))
				})
			}
			all.Wait()
			synctest.Wait()
			b.balanced(s.t, calls, &price)
			time.Sleep(time.Hour)
			if got := fmt.Sprint(left(s)); got != full {
				s.t.Errorf("seed %d: %s is left of %s", seed, got, full)
			}
		})
	}
}

// left is what quotas have now.
func left(s *stage) (all []int64) {
	for _, q := range s.Quotas() {
		all = append(all, q.Remaining)
	}
	return all
}
