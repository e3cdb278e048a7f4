package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

// A process that talks to its node's agent, and starts from a file when nobody answers.
// Its keys stay its own: the catalog names them, this maps the names.
func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	c, err := clientlib.Open(ctx, clientlib.Config{
		Parents:   []string{"unix:///run/pointsman-example/agent.sock"},
		Snapshot:  "/etc/pointsman-example/snapshot",
		Workloads: []string{"support-chat"},
		Credentials: map[string]clientlib.Credential{
			"openai-a": {From: "file:/run/secrets/openai-a", Hosts: []string{"api.openai.example"}},
		},
	})
	if err != nil {
		fmt.Println("nobody answers:", errors.Is(err, context.DeadlineExceeded))
		return
	}
	defer c.Close()
	// Output: nobody answers: true
}

// The application sends by itself; the library says where, and again where if that fails.
func ExampleDo() {
	first, second := clienttest.Start("first"), clienttest.Start("second")
	defer first.Close()
	defer second.Close()
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("support-chat", first, second)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	chat := c.Workload("support-chat")
	tries := 0
	answer, err := clientlib.Do(context.Background(), chat, clientlib.Request{Tenant: "default", Input: 1200},
		func(ctx context.Context, a clientlib.Attempt) (string, error) {
			if tries++; tries == 1 {
				return "", &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Limited}, Err: errors.New("429")}
			}
			return "an answer of " + a.Endpoint().Model[:len("model-at-")], nil
		})
	fmt.Println(answer, err, tries)
	// Output: an answer of model-at- <nil> 2
}

// Any SDK that takes an http.Client is routed: the body's "model" names the workload.
func ExampleClient_Transport() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("support-chat", endpoint)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
	resp, err := sdk.Post("https://api.openai.example/v1/chat/completions", "application/json",
		strings.NewReader(`{"model": "support-chat", "messages": [{"role": "user", "content": "hi"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, resp.Header.Get(clientlib.EndpointHeader), strings.Contains(string(body), "hello world"), err)
	// Output: 200 own true <nil>
}

// Pick only decides; the caller sends and says how it ended.
func ExampleWorkload_Pick() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("support-chat", endpoint)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	a, err := c.Workload("support-chat").Pick(clientlib.Request{Stream: true})
	if err != nil {
		wait, known := c.RetryIn(err)
		fmt.Println("shed; again in", wait, known)
		return
	}
	defer a.Abandon()
	fmt.Println("to", a.Endpoint().Name)
	a.FirstToken()
	a.Settle(clientlib.Outcome{Kind: clientlib.Served})
	// Output: to own
}
