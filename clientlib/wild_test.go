package clientlib_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// wild is an endpoint that says what no server would: bytes, for each request.
type wild struct {
	url string

	mu       sync.Mutex // guards what follows
	say      func(net.Conn, *http.Request)
	requests int
}

// goWild has endpoint a be one that says so, and closes.
func goWild(say func(net.Conn, *http.Request)) (*wild, func(*rig, *route.Catalog, *clientlib.Config)) {
	w := &wild{say: say}
	return w, func(r *rig, c *route.Catalog, _ *clientlib.Config) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		var served sync.WaitGroup
		served.Go(func() { w.serve(l, &served) })
		r.t.Cleanup(func() { l.Close(); served.Wait() })
		w.url = "http://" + l.Addr().String()
		c.Endpoints[0].BaseURL = w.url
	}
}

func (w *wild) serve(l net.Listener, served *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		served.Go(func() {
			defer conn.Close()
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.mu.Lock()
			w.requests++
			say := w.say
			w.mu.Unlock()
			say(conn, r)
		})
	}
}

// bytesOf says these bytes.
func bytesOf(text string) func(net.Conn, *http.Request) {
	return func(c net.Conn, _ *http.Request) { _, _ = io.WriteString(c, text) }
}

// chunked is an answer whose body comes in these chunks.
func chunked(head string, pieces ...string) string {
	var b strings.Builder
	b.WriteString(head + "Transfer-Encoding: chunked\r\n\r\n")
	for _, p := range pieces {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return b.String() + "0\r\n\r\n"
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n"
	jsonHead   = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
	roleEvent  = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	oneEvent   = `data: {"choices":[{"index":0,"delta":{"content":"one"}}]}` + "\n\n"
	twoEvent   = `data: {"choices":[{"index":0,"delta":{"content":" two"}}]}` + "\n\n"
	stopEvent  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usageEvent = `data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}` + "\n\n"
	doneEvent  = "data: [DONE]\n\n"
	goodBody   = `{"choices":[{"index":0,"message":{"content":"one two"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`
)
