package clientlib_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// repeating says something until nobody listens.
func repeating(head, piece string, pause time.Duration) func(net.Conn, *http.Request) {
	return func(c net.Conn, _ *http.Request) {
		_, err := io.WriteString(c, head)
		for err == nil {
			time.Sleep(pause)
			_, err = io.WriteString(c, piece)
		}
	}
}

// An endpoint that talks without an end has the time of one that says nothing, and no more room.
func TestAnEndpointThatNeverStopsIsLeft(t *testing.T) {
	big := strings.Repeat("x", 64<<10)
	for rule, say := range map[string]func(net.Conn, *http.Request){
		"hints":                  repeating("", "HTTP/1.1 103 Early Hints\r\n\r\n", 0),
		"hints, slowly":          repeating("", "HTTP/1.1 103 Early Hints\r\n\r\n", 20*time.Millisecond),
		"large hints":            repeating("", "HTTP/1.1 103 Early Hints\r\nX: "+big+"\r\n\r\n", 0),
		"a header":               repeating("HTTP/1.1 200 OK\r\n", "X: "+big+"\r\n", 0),
		"a header, byte by byte": repeating("HTTP/1.1 200 OK\r\nX: ", "x", 20*time.Millisecond),
		"comments":               repeating(streamHead+"Transfer-Encoding: chunked\r\n\r\n", "4\r\n: x\n\r\n", 10*time.Millisecond),
		"comments of any size":   repeating(streamHead+"Transfer-Encoding: chunked\r\n\r\n", "10002\r\n:"+big+"\n\r\n", 0),
		"roles":                  repeating(streamHead+"\r\n", roleEvent, 10*time.Millisecond),
		"a line":                 repeating(streamHead+"\r\n", "data: "+big, 0),
		"chunk extensions":       repeating(streamHead+"Transfer-Encoding: chunked\r\n\r\n1;", big, 0),
		"an answer":              repeating(jsonHead+"\r\n{", strings.Repeat(" ", 64<<10), 0),
		"an answer, slowly":      repeating(jsonHead+"\r\n{", " ", 20*time.Millisecond),
	} {
		for _, body := range []string{plain, streamed} {
			_, change := goWild(say)
			r := setUp(t, change, limits(func(a *route.Attempts) { a.Answer, a.FirstToken = 150_000, 150_000 }))
			began := time.Now()
			resp, got, err := r.answer(body)
			if took := time.Since(began); err != nil || resp.StatusCode != 200 || took > 2*time.Second {
				t.Errorf("%s: %d %.80s %v after %v", rule, resp.StatusCode, got, err, took)
			}
			if d := r.Decisions(); len(d) != 2 || d[1] != "b served" {
				t.Errorf("%s: %v", rule, d)
			}
		}
	}
}
