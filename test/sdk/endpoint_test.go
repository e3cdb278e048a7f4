package sdk

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// endpoint answers on loopback: as it was told, one answer a request, then as usual.
type endpoint struct {
	name, url string
	server    *httptest.Server

	mu       sync.Mutex // guards what follows
	next     []answer
	usual    answer
	requests []request
}

// request is one that an endpoint was sent.
type request struct {
	Path   string
	Header http.Header
	Body   map[string]any
}

// answer is how one request is answered.
type answer func(http.ResponseWriter, request)

func start(t *testing.T, name string) *endpoint {
	e := &endpoint{name: name, usual: refuse(500, `{"error":{"message":"nothing was planned","type":"server_error"}}`)}
	e.server = httptest.NewServer(e)
	e.url = e.server.URL + "/v1"
	t.Cleanup(e.server.Close)
	return e
}

// then says how the next requests are answered.
func (e *endpoint) then(next ...answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = append(e.next, next...)
}

// always says how requests are answered that then says nothing of.
func (e *endpoint) always(usual answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.usual = usual
}

func (e *endpoint) seen() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	q := request{Path: r.URL.Path, Header: r.Header.Clone()}
	if err != nil || json.Unmarshal(body, &q.Body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.take(q)(w, q)
}

// take notes a request and gives its answer.
func (e *endpoint) take(q request) answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, q)
	if len(e.next) == 0 {
		return e.usual
	}
	a := e.next[0]
	e.next = e.next[1:]
	return a
}

// whole answers with one JSON value.
func whole(body string, headers ...string) answer { return refuse(http.StatusOK, body, headers...) }

// refuse answers with a status and one JSON value; headers are pairs.
func refuse(status int, body string, headers ...string) answer {
	return func(w http.ResponseWriter, _ request) {
		head(w, "application/json", headers)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // who has gone needs no answer
	}
}

// events answers with a stream, event by event.
func events(all []string, headers ...string) answer {
	return func(w http.ResponseWriter, _ request) {
		head(w, "text/event-stream; charset=utf-8", headers)
		for _, e := range all {
			_, _ = io.WriteString(w, e+"\n\n")
			w.(http.Flusher).Flush()
		}
	}
}

func head(w http.ResponseWriter, kind string, headers []string) {
	w.Header().Set("Content-Type", kind)
	for i := 0; i+1 < len(headers); i += 2 {
		w.Header().Set(headers[i], headers[i+1])
	}
}

// cut loses the connection after the first events of a stream.
func cut(all []string, after int) answer {
	return func(w http.ResponseWriter, q request) {
		events(all[:after])(w, q)
		panic(http.ErrAbortHandler)
	}
}

// half loses the connection within a whole answer.
func half(body string) answer {
	return func(w http.ResponseWriter, _ request) {
		head(w, "application/json", nil)
		_, _ = io.WriteString(w, body[:len(body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// reset answers nothing: the connection is reset.
func reset(w http.ResponseWriter, _ request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends in peace
	}
	conn.Close()
}
