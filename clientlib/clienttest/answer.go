package clienttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Answer is how an endpoint answers one request. The functions below make them.
type Answer func(exchange)

// exchange is one request on its way.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	request Request
	closed  <-chan struct{}
}

// Say serves a text, streamed in these pieces if the request asks for a stream.
func Say(pieces ...string) Answer {
	return func(x exchange) {
		if !x.request.Stream {
			x.whole(pieces)
			return
		}
		x.pieces(pieces)
		x.event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		if x.request.Usage {
			x.event(fmt.Sprintf(`{"choices":[],"usage":%s}`, usage(pieces)))
		}
		x.event("[DONE]")
	}
}

// Fail answers with a status and an error of that code. Headers are pairs.
func Fail(status int, code string, headers ...string) Answer {
	return func(x exchange) {
		for i := 0; i+1 < len(headers); i += 2 {
			x.w.Header().Set(headers[i], headers[i+1])
		}
		x.w.Header().Set("Content-Type", "application/json")
		x.w.WriteHeader(status)
		fmt.Fprintf(x.w, `{"error":{"message":"failed on command","type":%q,"param":null,"code":%q}}`, code, code)
	}
}

// Hang takes the request and never answers.
func Hang() Answer { return exchange.hang }

// Cut streams these pieces, then loses the connection. With none it loses it at once.
func Cut(pieces ...string) Answer {
	return func(x exchange) {
		if len(pieces) > 0 {
			x.pieces(pieces)
		}
		panic(http.ErrAbortHandler)
	}
}

// Stop streams these pieces, then ends without saying that it is the end.
func Stop(pieces ...string) Answer { return func(x exchange) { x.pieces(pieces) } }

// Stall streams these pieces, then nothing.
func Stall(pieces ...string) Answer {
	return func(x exchange) {
		x.pieces(pieces)
		x.hang()
	}
}

// Break streams these pieces, then an error of that code.
func Break(code string, pieces ...string) Answer {
	return func(x exchange) {
		x.pieces(pieces)
		x.event(fmt.Sprintf(`{"error":{"message":"failed on command","type":%q,"param":null,"code":%q}}`, code, code))
	}
}

// Events streams events whose data is as given, without an end mark unless it is among them.
func Events(data ...string) Answer {
	return func(x exchange) {
		for _, d := range data {
			x.event(d)
		}
	}
}

func (x exchange) hang() {
	select {
	case <-x.r.Context().Done():
	case <-x.closed:
	}
}

func (x exchange) whole(pieces []string) {
	x.w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(strings.Join(pieces, ""))
	if err != nil { // of a text: it cannot be
		return
	}
	fmt.Fprintf(x.w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":%s}`, text, usage(pieces))
}

func (x exchange) pieces(pieces []string) {
	x.event(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`)
	for _, piece := range pieces {
		text, err := json.Marshal(piece)
		if err != nil {
			return
		}
		x.event(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, text))
	}
}

func (x exchange) event(data string) {
	x.w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(x.w, "data: %s\n\n", data)
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}

// usage counts a piece as a token, and ten of prompt.
func usage(pieces []string) string {
	return fmt.Sprintf(`{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d}`, len(pieces), 10+len(pieces))
}
