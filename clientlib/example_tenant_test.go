package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Whom calls are for decides what they may use and how much of it; what belongs to one
// session stays at one endpoint.
func ExampleWithTenant() {
	a, b := clienttest.Start("a"), clienttest.Start("b")
	defer a.Close()
	defer b.Close()
	catalog := clienttest.Pool("chat", a, b)
	catalog.Tenants = []route.Tenant{clienttest.Tenant("acme")}
	catalog.Workloads[0].Affinity = route.Affinity{On: route.AffinitySession, Slack: 2.5}
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{Session: "X-Conversation"})}
	ask := func(tenant, session string) (int, string) {
		ctx := clientlib.WithTenant(context.Background(), tenant)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example/v1/chat/completions", strings.NewReader(`{"model":"chat"}`))
		if err != nil {
			return 0, err.Error()
		}
		r.Header.Set("X-Conversation", session)
		resp, err := sdk.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get(clientlib.EndpointHeader)
	}
	_, home := ask("acme", "conversation 7")
	for range 3 {
		status, at := ask("acme", "conversation 7")
		fmt.Println(status, at == home)
	}
	fmt.Println(ask("initech", "conversation 7"))
	// Output:
	// 200 true
	// 200 true
	// 200 true
	// 403
}

// A call that finds all full waits for its turn, here until its context ends.
func ExampleClient_Waiting() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	catalog := clienttest.Pool("chat", endpoint)
	catalog.Endpoints[0].Concurrency = 1
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	chat := c.Workload("chat")
	busy, err := chat.Pick(clientlib.Request{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer busy.Abandon()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := clientlib.Do(ctx, chat, clientlib.Request{}, func(context.Context, clientlib.Attempt) (bool, error) { return true, nil })
		ended <- err
	}()
	for len(c.Waiting()) == 0 {
		time.Sleep(time.Millisecond)
	}
	w := c.Waiting()[0]
	fmt.Println(w.Workload, w.Count)
	cancel()
	err = <-ended
	fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, clientlib.ErrShed), len(c.Waiting()))
	// Output:
	// chat 1
	// true true 0
}

// What an application would log.
type teller struct{}

func (teller) Attempt(a clientlib.AttemptInfo) {
	fmt.Println(a.Tenant, a.Endpoint, a.Outcome.Kind, a.Phase(), a.Outcome.Domain(), "USD", a.Cost)
}

func (teller) Call(c clientlib.CallInfo) {
	fmt.Println("call of", c.Workload, c.End(), "attempts", c.Attempts, "USD", c.Cost)
}

func (teller) Event(e clientlib.Event) { fmt.Println("event", e.Kind, e.Name) }

// An observer is told of every attempt and call, and of what changed: here a tenant has spent
// most of its budget.
func ExampleObserver() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	catalog := clienttest.Pool("chat", endpoint)
	catalog.Endpoints[0].Price = money.Price{Input: 2_000_000, Output: 8_000_000} // USD 2 and 8 per million tokens
	acme := clienttest.Tenant("acme")
	acme.Budget = route.Budget{Has: true, Limit: 10_000_000, Warn: 0.8} // USD 0.01
	catalog.Tenants = []route.Tenant{acme}
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: catalog, Observer: teller{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := c.Workload("chat").Pick(clientlib.Request{Tenant: "acme", Input: 1000, MaxOutput: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Settle(clientlib.Outcome{Kind: clientlib.Served, HasUsage: true, Usage: clientlib.Usage{Input: 1000, Output: 900}})
	c.Close() // events come in their own time, but all before Close returns
	// Unordered output:
	// event source catalog
	// acme own served complete endpoint USD 0.0092
	// call of chat served attempts 1 USD 0.0092
	// event budget acme
}

// Why a request does not go where one would think.
func ExampleClient_Explain() {
	a, b := clienttest.Start("a"), clienttest.Start("b")
	defer a.Close()
	defer b.Close()
	catalog := clienttest.Pool("chat", a, b)
	catalog.Endpoints[1].ContextWindow = 8000
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	x := c.Explain("chat", clientlib.Request{Input: 10_000})
	for _, e := range x.Candidates {
		fmt.Println(e.Tier, e.Endpoint, e.Reason)
	}
	for _, e := range c.Endpoints() {
		fmt.Println(e.Name, "own breaker", e.Local+", the fleet's", e.Fleet)
	}
	// Output:
	// all a pass
	// all b context_window
	// a own breaker closed, the fleet's closed
	// b own breaker closed, the fleet's closed
}

// A secret shows itself to Reveal alone, and goes to the hosts it is mapped to.
func ExampleAttempt_Secret() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	catalog := clienttest.Pool("chat", endpoint)
	catalog.Endpoints[0].Credential = "own-key"
	_ = os.Setenv("EXAMPLE_KEY", "sk-1")
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: catalog, Credentials: map[string]clientlib.Credential{
		"own-key": {From: "env:EXAMPLE_KEY", Hosts: []string{strings.TrimSuffix(strings.TrimPrefix(endpoint.URL, "http://"), "/v1")}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	a, err := c.Workload("chat").Pick(clientlib.Request{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Abandon()
	key, err := a.Secret(context.Background())
	fmt.Println(key, key.Reveal(), err)
	// Output: [secret] sk-1 <nil>
}
