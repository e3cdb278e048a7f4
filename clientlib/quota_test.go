package clientlib_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// account is a provider's: what was asked of it, by its own count, and how it answers.
type account struct {
	mu      sync.Mutex // guards what follows
	chance  *rand.Rand
	refuses bool // now and then
	asked   []time.Time
	tokens  int64
	tenants map[string]int
	sorts   [8]int
}

const accountAnswer = `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]%s}`

// RoundTrip answers in every way that there is.
func (a *account) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.asked = append(a.asked, time.Now())
	sort, output := a.chance.IntN(len(a.sorts)), int64(1+a.chance.IntN(100))
	a.sorts[sort]++
	lasts := time.Duration(a.chance.IntN(2000)) * time.Millisecond
	a.mu.Unlock()
	stream := strings.Contains(string(body), `"stream":true`)
	select {
	case <-time.After(lasts):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	usage, head := fmt.Sprintf(`,"usage":{"prompt_tokens":100,"completion_tokens":%d}`, output), http.Header{"Content-Type": {"application/json"}}
	status, text := 200, fmt.Sprintf(accountAnswer, usage)
	if stream {
		head.Set("Content-Type", "text/event-stream")
		text = roleEvent + strings.Repeat(oneEvent, int(output)) + stopEvent + `data: {"choices":[]` + usage + "}\n\n" + doneEvent
	}
	used := 100 + output
	switch {
	case sort == 0:
		status, text, used = 500, `{"error":{"message":"x"}}`, 0
	case sort == 1 && stream: // cut, and charged all the same
		text = roleEvent + strings.Repeat(oneEvent, int(output))
	case sort == 2 && stream: // no usage
		text = roleEvent + strings.Repeat(oneEvent, int(output)) + stopEvent + doneEvent
	case sort == 2:
		text = fmt.Sprintf(accountAnswer, "")
	case sort == 3 && a.refuses:
		head.Set("Retry-After-Ms", "200")
		status, text, used = 429, `{"error":{"message":"x","code":"rate_limit_exceeded"}}`, 0
	case sort == 4:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	a.mu.Lock()
	a.tokens += used
	a.mu.Unlock()
	return &http.Response{StatusCode: status, Header: head, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// besiege has callers of three tenants ask for more than there is, for a time.
func (a *account) besiege(t *testing.T, c *clienttest.Client, lasts time.Duration) {
	var all sync.WaitGroup
	began := time.Now()
	for i := range 90 {
		all.Go(func() {
			own := rand.New(rand.NewPCG(uint64(i), 9))
			tenant := []string{"gold", "silver", "batch"}[i%3]
			for time.Since(began) < lasts {
				ctx, cancel := context.WithTimeout(clientlib.WithTenant(t.Context(), tenant), time.Duration(200+own.IntN(8000))*time.Millisecond)
				body := fmt.Sprintf(`{"model":"chat","max_tokens":100,"stream":%v,"messages":[{"role":"user","content":"%s"}]}`, own.IntN(2) == 0, strings.Repeat("abc ", 80))
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.invalid/v1/chat/completions", strings.NewReader(body))
				if err != nil {
					t.Error(err)
				}
				resp, err := c.HTTP().Do(r)
				if err == nil {
					if own.IntN(4) > 0 {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					resp.Body.Close()
					a.mu.Lock()
					if resp.StatusCode == 200 {
						a.tenants[tenant]++
					}
					a.mu.Unlock()
				}
				cancel()
				time.Sleep(time.Duration(own.IntN(50)) * time.Millisecond)
			}
		})
	}
	all.Wait()
}

// ahead tells by how much the requests were ahead of a rate at most.
func (a *account) ahead(perMinute int64) (most float64) {
	each := time.Minute / time.Duration(perMinute)
	var tat time.Time
	for _, at := range a.asked {
		if tat.Before(at) {
			tat = at
		}
		tat = tat.Add(each)
		most = max(most, float64(tat.Sub(at))/float64(each))
	}
	return most
}

// By the account's own count, whatever answers say and callers do, no more is asked of it than its
// limits and a bucket; and it is used: what is given back is there again.
func TestAnAccountIsAskedForNoMoreThanItsLimit(t *testing.T) {
	for _, c := range []struct {
		rule             string
		requests, tokens int64
		refuses          bool
	}{{"requests", 600, route.Absent, false}, {"tokens", route.Absent, 60_000, false}, {"both, and refusals", 600, 60_000, true}} {
		synctest.Test(t, func(t *testing.T) {
			a := &account{chance: rand.New(rand.NewPCG(4, 4)), refuses: c.refuses, tenants: map[string]int{}}
			catalog := clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: "http://127.0.0.1:1/v1"}, &clienttest.Endpoint{Name: "b", URL: "http://127.0.0.1:2/v1"})
			quota := clienttest.Quota("org")
			quota.Requests, quota.Tokens = c.requests, c.tokens
			catalog.Quotas = []route.Quota{quota}
			for i := range catalog.Endpoints {
				catalog.Endpoints[i].Quotas, catalog.Endpoints[i].Breaker.Consecutive, catalog.Endpoints[i].Breaker.MinSamples = []string{"org"}, 0, 1<<40
			}
			for i, name := range []string{"gold", "silver", "batch"} {
				v := clienttest.Tenant(name)
				v.Priority = route.Priority(i)
				catalog.Tenants = append(catalog.Tenants, v)
			}
			r := route.Reservation{Quota: "org", Requests: route.Absent, Tokens: route.Absent}
			if c.requests > 0 {
				r.Requests = 200
			}
			if c.tokens > 0 {
				r.Tokens = 20_000
			}
			catalog.Tenants[1].Reservations = []route.Reservation{r}
			client, err := clienttest.Open(t.Context(), clientlib.Config{Catalog: catalog, HTTP: a, QueueWait: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			a.besiege(t, client, time.Minute)
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			minutes := time.Since(began).Minutes()
			if ahead := a.ahead(600); c.requests > 0 && ahead > 30+2+1 { // a bucket, and what is kept for the lowest
				t.Errorf("%s: %.1f requests ahead", c.rule, ahead)
			}
			if most := 60_000*minutes + 3_000 + 150; c.tokens > 0 && float64(a.tokens) > most {
				t.Errorf("%s: %d tokens in %.2f minutes", c.rule, a.tokens, minutes)
			}
			if n := float64(len(a.asked)); c.tokens < 0 && n < 0.95*600*minutes || n < 0.7*600*minutes {
				t.Errorf("%s: only %v requests in %.2f minutes", c.rule, n, minutes)
			}
			if a.tenants["silver"] < 30 || a.tenants["batch"] == 0 { // 200 are reserved; what pauses all, and 3 failures in 8, take theirs
				t.Errorf("%s: %v", c.rule, a.tenants)
			}
		})
	}
}
