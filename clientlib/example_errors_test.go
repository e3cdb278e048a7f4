package clientlib_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// What went wrong, and what is to be done about it.
func Example_errors() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("chat", endpoint)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ask := func(workload string, r clientlib.Request) {
		_, err := c.Workload(workload).Pick(r)
		var shed *clientlib.ShedError
		switch {
		case errors.As(err, &shed):
			_, known := c.RetryIn(err)
			fmt.Println(err, "- try again:", known)
		case errors.Is(err, clientlib.ErrUnknownWorkload), errors.Is(err, clientlib.ErrUnusable), errors.Is(err, clientlib.ErrRequest):
			fmt.Println("no use in trying again:", err)
		}
	}
	ask("chat", clientlib.Request{Needs: []string{"audio"}})
	ask("chat", clientlib.Request{Input: -1})
	ask("translate", clientlib.Request{})
	// Output:
	// workload "chat": shed: none compatible: 1 capability - try again: false
	// no use in trying again: workload "chat": bad request: input: -1, want 0 to 1099511627776
	// no use in trying again: workload "translate": unknown workload
}

// An application that sends by itself has its answers judged, and goes where its key may go.
func ExampleFault() {
	first, second := clienttest.Start("first"), clienttest.Start("second")
	defer first.Close()
	defer second.Close()
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: inOrder(first, second)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	first.Next(clienttest.Fail(503, "overloaded"))

	answer, err := clientlib.Do(context.Background(), c.Workload("chat"), clientlib.Request{API: "openai.chat"}, ask)
	fmt.Println(answer != nil, err)
	// Output:
	// first: 503
	// second: 200
	// true <nil>
}

func ask(ctx context.Context, a clientlib.Attempt) ([]byte, error) {
	unsent := func(err error) error {
		return &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Unsent}, Err: err}
	}
	key, err := a.Secret(ctx)
	if err != nil {
		return nil, unsent(err)
	}
	body := fmt.Appendf(nil, `{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, a.Endpoint().Model)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Endpoint().BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, unsent(err)
	}
	if !key.Empty() {
		r.Header.Set("Authorization", "Bearer "+key.Reveal())
	}
	resp, err := direct.Do(r)
	if err != nil {
		return nil, err // faulted, timed out or cancelled
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%s: %d\n", a.Endpoint().Name, resp.StatusCode)
	o := dialect.Of(a.Endpoint().Dialect).Answer(dialect.ParseAPI(a.API()), resp.StatusCode, resp.Header, got, time.Now()).Outcome
	if o.Kind != clientlib.Served {
		return nil, &clientlib.Fault{Outcome: o, Err: fmt.Errorf("status %d", o.Status)}
	}
	a.Settle(o) // tells usage, too
	return got, nil
}

// direct follows no redirects: a key is for the attempt's address alone.
var direct = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// inOrder has the first as its only endpoint while it can take requests, then the second.
func inOrder(first, second *clienttest.Endpoint) *route.Catalog {
	catalog := clienttest.Pool("chat", first, second)
	catalog.Workloads[0].Tiers = []route.Tier{{Name: "one", Endpoints: []string{first.Name}}, {Name: "two", Endpoints: []string{second.Name}}}
	return catalog
}

// A stream that breaks after content has reached the caller is no whole answer. Asking anew is
// for whoever can take back what was shown, and acted on no part of a tool's call.
func ExampleStreamError() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("chat", endpoint)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	endpoint.Next(clienttest.Cut("once upon", " a time")) // then it serves as always
	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
	read := func() error {
		resp, err := sdk.Post("https://api.example/v1/chat/completions", "application/json", strings.NewReader(`{"model":"chat","stream":true}`))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body) // shown as it comes
		return err
	}
	err = read()
	var broken *clientlib.StreamError
	if errors.As(err, &broken) {
		fmt.Println(broken.Endpoint, broken.Events, "events, then", broken.Outcome.Kind)
		if broken.Restartable && broken.Outcome.Kind != clientlib.Cancelled {
			err = read() // from its beginning
		}
	}
	fmt.Println(err)
	// Output:
	// own 2 events, then faulted
	// <nil>
}

// Everything that is wrong is said at once.
func ExampleConfig_Check() {
	err := clientlib.Config{
		QueueWait:   -time.Second,
		Credentials: map[string]clientlib.Credential{"openai-a": {From: "file:/run/secrets/openai-a"}},
	}.Check()
	fmt.Println(err)
	// Output:
	// no source of a catalog: set Parents, Snapshot, Bootstrap or Catalog
	// credential "openai-a": no hosts that it may be sent to
	// QueueWait: want 0 or more, got -1s
}
