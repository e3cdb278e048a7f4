package clientlib_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

// Anthropic's SDKs are routed by the same Transport. The key and the model's name at the
// provider are the library's to know.
func ExampleClient_Transport_messages() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.URL.Path, r.Header.Get("Anthropic-Version"), string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "hello"}],
			"stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 1}}`)
	}))
	defer provider.Close()
	catalog := clienttest.Pool("writer", &clienttest.Endpoint{Name: "own", URL: provider.URL})
	catalog.Endpoints[0].Dialect, catalog.Endpoints[0].APIs = "anthropic", []string{"anthropic.messages"}
	catalog.Workloads[0].APIs = []string{"anthropic.messages"}
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	// anthropic.NewClient(option.WithHTTPClient(sdk), option.WithAPIKey("unused")) sends such requests:
	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
	resp, err := sdk.Post("https://api.anthropic.example/v1/messages", "application/json",
		strings.NewReader(`{"model": "writer", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get(clientlib.EndpointHeader))
	// Output:
	// /v1/messages 2023-06-01 {"model": "model-at-own", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
	// 200 own
}

// An answer that came well and says nothing is asked for one tier further.
func ExampleTransportConfig_validate() {
	small, large := clienttest.Start("small"), clienttest.Start("large")
	defer small.Close()
	defer large.Close()
	catalog := inOrder(small, large)
	catalog.Workloads[0].EscalateQuality = true // escalate_on = ["quality"]
	c, err := clienttest.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	small.Next(clienttest.Say("I cannot say"))
	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{
		Validate: func(_ context.Context, a clientlib.Answer) error {
			if bytes.Contains(a.Body, []byte("cannot say")) {
				return errors.New("no answer")
			}
			return nil
		},
	})}
	resp, err := sdk.Post("https://api.example/v1/chat/completions", "application/json", strings.NewReader(`{"model":"chat"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, c.Decisions())
	// Output: 200 [small invalid large served]
}
