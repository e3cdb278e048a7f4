// Package clienttest is for applications' own tests: endpoints that fail on command, a
// client that routes to them, and what it decided. It needs no control plane.
package clienttest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Endpoint speaks chat completions on loopback, as OpenAI defines them. It answers as
// it was told, one answer a request, and then serves "hello world".
type Endpoint struct {
	Name string
	URL  string // base_url of its provider

	server *httptest.Server
	closed chan struct{}

	mu        sync.Mutex // guards what follows
	answers   []Answer
	usual     Answer
	requests  []Request
	connected int
}

// Request is one that the endpoint was sent.
type Request struct {
	Header http.Header
	Body   []byte
	Model  string
	Stream bool
	Usage  bool // the usage event of a stream was asked for
}

// Start starts an endpoint. End it with Close.
func Start(name string) *Endpoint {
	e := &Endpoint{Name: name, usual: Say("hello", " world"), closed: make(chan struct{})}
	e.server = httptest.NewUnstartedServer(e)
	e.server.Config.ConnState = e.state
	e.server.Start()
	e.URL = e.server.URL + "/v1"
	return e
}

// Close ends the endpoint and every answer that hangs.
func (e *Endpoint) Close() {
	close(e.closed)
	e.server.Close()
}

// Next says how the next requests are answered, one after the other.
func (e *Endpoint) Next(answers ...Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers = append(e.answers, answers...)
}

// Always says how requests are answered that Next says nothing of.
func (e *Endpoint) Always(a Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.usual = a
}

// Requests are those that came, in order.
func (e *Endpoint) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Connections is how many were opened.
func (e *Endpoint) Connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.connected
}

func (e *Endpoint) state(_ net.Conn, s http.ConnState) {
	if s == http.StateNew {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.connected++
	}
}

// ServeHTTP answers one request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	var fields struct {
		Model   string
		Stream  bool
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if json.Unmarshal(body, &fields) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	request := Request{Header: r.Header.Clone(), Body: body, Model: fields.Model, Stream: fields.Stream, Usage: fields.Options.Usage}
	e.take(request)(exchange{w, r, request, e.closed})
}

// take notes a request and gives its answer.
func (e *Endpoint) take(r Request) Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r)
	if len(e.answers) == 0 {
		return e.usual
	}
	a := e.answers[0]
	e.answers = e.answers[1:]
	return a
}
