package clientlib_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// cutter is an endpoint a that cuts its answer where the request's id says, and stays in
// whatever comes of it.
func cutter(t *testing.T, whole string) *rig {
	_, change := goWild(func(c net.Conn, r *http.Request) {
		at, err := strconv.Atoi(r.Header.Get("X-Request-Id"))
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(c, whole[:at])
	})
	return setUp(t, change, stays)
}

// everywhere calls for each place of a cut, many at once.
func everywhere(whole string, call func(at int)) {
	var wg sync.WaitGroup
	for first := range 64 {
		wg.Go(func() {
			for at := first; at <= len(whole); at += 64 {
				call(at)
			}
		})
	}
	wg.Wait()
}

// Wherever a connection is cut, the caller gets the whole answer or learns that it did
// not: from elsewhere before content, as an error after it.
func TestAStreamCutAnywhere(t *testing.T) {
	whole := chunked(streamHead, roleEvent, oneEvent, twoEvent, stopEvent, usageEvent, doneEvent)
	content := strings.Index(whole, oneEvent) + len(oneEvent)
	end := strings.Index(whole, doneEvent) + len(doneEvent)
	r := cutter(t, whole)
	everywhere(whole, func(at int) {
		resp, body, err := r.answer(streamed, "X-Request-Id", strconv.Itoa(at))
		from := resp.Header.Get(clientlib.EndpointHeader)
		var broke *clientlib.StreamError
		var right bool
		switch {
		case at < content:
			right = err == nil && from == "b" && text(body) == "hello world"
		case at < end:
			right = errors.As(err, &broke) && from == "a" && strings.HasPrefix(text(body), "one")
		default:
			right = err == nil && from == "a" && text(body) == "one two"
		}
		if !right {
			t.Errorf("cut at %d of %d: %q from %q, %v", at, len(whole), body, from, err)
		}
	})
	if got, want := len(r.Attempts()), len(whole)+1+content; got != want {
		t.Errorf("%d attempts, want %d", got, want)
	}
}

// Half an answer that is not streamed is none, wherever it was cut.
func TestAWholeAnswerCutAnywhere(t *testing.T) {
	for _, whole := range []string{
		fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", jsonHead, len(goodBody), goodBody),
		chunked(jsonHead, goodBody[:20], goodBody[20:]),
		"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + goodBody,
	} {
		r := cutter(t, whole)
		everywhere(whole, func(at int) {
			resp, body, err := r.answer(plain, "X-Request-Id", strconv.Itoa(at))
			from := resp.Header.Get(clientlib.EndpointHeader)
			if err != nil || resp.StatusCode != 200 || from == "a" && body != goodBody || from == "b" && at == len(whole) {
				t.Errorf("cut at %d of %d: %d %q from %q, %v", at, len(whole), resp.StatusCode, body, from, err)
			}
		})
	}
}

func TestAStreamInAnyPieces(t *testing.T) {
	stream := roleEvent + ": keep-alive\n\n" + oneEvent + "event: x\nid: 7\nretry: 3\n" + twoEvent + stopEvent + doneEvent
	crlf := strings.ReplaceAll(stream, "\n", "\r\n")
	for _, c := range []struct {
		rule   string
		stream string
		piece  func() int
	}{
		{"byte by byte", stream, func() int { return 1 }},
		{"byte by byte, with CRLF", crlf, func() int { return 1 }},
		{"anyhow", stream, func() int { return 1 + rand.IntN(60) }},
		{"anyhow, with CRLF", crlf, func() int { return 1 + rand.IntN(60) }},
		{"at once", stream, func() int { return 1 << 20 }},
	} {
		var pieces []string
		for rest := c.stream; rest != ""; {
			n := min(c.piece(), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		_, change := goWild(bytesOf(chunked(streamHead, pieces...)))
		r := setUp(t, change)
		_, body, err := r.answer(streamed)
		if err != nil || body != c.stream {
			t.Errorf("%s: %q %v", c.rule, body, err)
		}
		r.decided("a served")
	}
}

func TestLargeEvents(t *testing.T) {
	event := func(size int) string {
		const before, after = `data: {"choices":[{"index":0,"delta":{"content":"`, "\"}}]}\n\n"
		return before + strings.Repeat("x", size-len(before)-len(after)) + after
	}
	for _, c := range []struct {
		rule    string
		size    int
		outcome string
	}{
		{"the largest", dialect.MaxEvent, "a served"},
		{"one byte more", dialect.MaxEvent + 1, "a faulted"},
	} {
		_, change := goWild(bytesOf(chunked(streamHead, roleEvent, event(c.size), stopEvent, doneEvent)))
		r := setUp(t, change)
		if _, _, err := r.answer(streamed); err != nil {
			t.Errorf("%s: %v", c.rule, err)
		}
		if got := r.Decisions(); got[0] != c.outcome {
			t.Errorf("%s: %v", c.rule, got)
		}
	}
}

func TestWhatComesBeforeContentIsBounded(t *testing.T) {
	const opening = 4 << 20
	comment := ": " + strings.Repeat("x", 1<<10-4) + "\n\n"
	for _, c := range []struct {
		rule     string
		comments int
		outcome  string
	}{
		{"as much as may be", opening/len(comment) - 1, "a served"},
		{"more", opening/len(comment) + 1, "a faulted"},
	} {
		_, change := goWild(bytesOf(chunked(streamHead, strings.Repeat(comment, c.comments), roleEvent, oneEvent, stopEvent, doneEvent)))
		r := setUp(t, change)
		if _, _, err := r.answer(streamed); err != nil {
			t.Errorf("%s: %v", c.rule, err)
		}
		if got := r.Decisions(); got[0] != c.outcome {
			t.Errorf("%s: %v", c.rule, got)
		}
	}
}

func TestWhatStreamsMayAndMayNotBe(t *testing.T) {
	const (
		azure     = `data: {"choices":[],"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}` + "\n\n"
		reasoning = `data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}` + "\n\n"
		filter    = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\n"
		running   = `data: {"choices":[{"index":0,"delta":{"content":"one"}}],"usage":{"prompt_tokens":4,"completion_tokens":1}}` + "\n\n"
		fails     = `data: {"error":{"message":"x","type":"server_error"}}` + "\n\n"
		limits    = `data: {"error":{"message":"x","code":"rate_limit_exceeded"}}` + "\n\n"
	)
	for _, c := range []struct {
		rule      string
		stream    []string
		decisions string
		text      string
		broken    bool
	}{
		{"an end alone is no answer", []string{doneEvent}, "a faulted, b served", "hello world", false},
		{"nor with a role", []string{roleEvent, doneEvent}, "a faulted, b served", "hello world", false},
		{"an empty answer that finished is one", []string{roleEvent, stopEvent, doneEvent}, "a served", "", false},
		{"no finish but an end is enough", []string{oneEvent, doneEvent}, "a served", "one", false},
		{"what follows the end is not the caller's", []string{oneEvent, doneEvent, twoEvent}, "a served", "one", false},
		{"an error after the end is not either", []string{oneEvent, doneEvent, fails}, "a served", "one", false},
		{"no choices at first, as Azure sends it", []string{azure, roleEvent, oneEvent, stopEvent, doneEvent}, "a served", "one", false},
		{"that alone is no content", []string{azure, fails}, "a faulted, b served", "hello world", false},
		{"reasoning alone is content", []string{reasoning, stopEvent, doneEvent}, "a served", "", false},
		{"also when it breaks", []string{reasoning}, "a faulted", "", true},
		{"running usage stays in its event", []string{running, twoEvent, stopEvent, doneEvent}, "a served", "one two", false},
		{"a filter's end", []string{oneEvent, filter, doneEvent}, "a filtered", "one", false},
		{"a filter's end before content", []string{roleEvent, filter, doneEvent}, "a filtered", "", false},
		{"an error first", []string{limits}, "a limited, b served", "hello world", false},
		{"an error after a role, and an end after that", []string{roleEvent, fails, doneEvent}, "a faulted, b served", "hello world", false},
		{"an error in the middle, and an end after that", []string{oneEvent, fails, doneEvent}, "a faulted", "one", true},
		{"a limit in the middle", []string{oneEvent, limits}, "a limited", "one", true},
		{"comments alone", []string{": a\n\n", ": b\n\n"}, "a faulted, b served", "hello world", false},
		{"no event at all", nil, "a faulted, b served", "hello world", false},
		{"HTML that claims to be a stream", []string{"<html>\n\n", "no\n\n"}, "a faulted, b served", "hello world", false},
		{"an error that is none", []string{`data: {"error":null,"choices":[{"delta":{"content":"one"}}]}` + "\n\n", stopEvent, doneEvent}, "a served", "one", false},
		{"bytes that are no text", []string{"data: \x00\xff\xfe\n\n", oneEvent, doneEvent}, "a served", "one", false},
	} {
		_, change := goWild(bytesOf(chunked(streamHead, c.stream...)))
		r := setUp(t, change)
		_, body, err := r.answer(streamed)
		var broke *clientlib.StreamError
		if text(body) != c.text || (err != nil) != c.broken || c.broken && !errors.As(err, &broke) {
			t.Errorf("%s: %q %v", c.rule, body, err)
		}
		if got := strings.Join(r.Decisions(), ", "); got != c.decisions {
			t.Errorf("%s: %s", c.rule, got)
		}
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// Whatever an endpoint says, it is one attempt with one outcome, and the caller is
// answered: by this endpoint or the next.
func TestWhatAnswersMayAndMayNotBe(t *testing.T) {
	thief := clienttest.Start("thief")
	defer thief.Close()
	say := func(status, headers, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), headers, body)
	}
	const (
		json = "Content-Type: application/json\r\n"
		html = "Content-Type: text/html\r\n"
		rate = `{"error":{"message":"x","type":"tokens","code":"rate_limit_exceeded"}}`
		page = "<html>no</html>"
	)
	away := "Location: " + thief.URL + "/chat/completions\r\n"
	sse := roleEvent + oneEvent + stopEvent + doneEvent
	for _, c := range []struct {
		rule, answer    string
		plain, streamed string // decisions
	}{
		{"HTML in a 200", say("200 OK", html, page), "a faulted, b served", "a faulted, b served"},
		{"HTML that says JSON", say("200 OK", json, page), "a faulted, b served", "a faulted, b served"},
		{"an error in a 200", say("200 OK", json, rate), "a limited, b served", "a limited, b served"},
		{"an error in a 200, as HTML", say("200 OK", html, rate), "a limited, b served", "a limited, b served"},
		{"a whole answer", say("200 OK", json, goodBody), "a served", "a faulted, b served"},
		{"a stream", say("200 OK", "Content-Type: text/event-stream; charset\r\n", sse), "a faulted, b served", "a served"},
		{"a stream with a type in capitals", say("200 OK", "Content-Type: Text/Event-Stream;charset=UTF-8\r\n", sse), "a faulted, b served", "a served"},
		{"a stream of a 206", say("206 Partial Content", "Content-Type: text/event-stream\r\n", sse), "a faulted, b served", "a faulted, b served"},
		{"nothing in a 200", say("200 OK", json, ""), "a faulted, b served", "a faulted, b served"},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", "a faulted, b served", "a faulted, b served"},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n" + json + "\r\n" + goodBody, "a served", "a faulted, b served"},
		{"a stream by HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + sse, "a faulted, b served", "a served"},
		{"gzip", say("200 OK", json+"Content-Encoding: gzip\r\n", gzipped(goodBody)), "a served", "a faulted, b served"},
		{"a stream in gzip", say("200 OK", "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n", gzipped(sse)), "a faulted, b served", "a served"},
		{"gzip that is none", say("200 OK", json+"Content-Encoding: gzip\r\n", goodBody), "a faulted, b served", "a faulted, b served"},
		{"an encoding nobody asked for", say("200 OK", json+"Content-Encoding: br\r\n", "\x1b\x03"), "a faulted, b served", "a faulted, b served"},
		{"hints first", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + say("200 OK", json, goodBody), "a served", "a faulted, b served"},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "a faulted, b served", "a faulted, b served"},
		{"less than it promised", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n" + json + "\r\n" + goodBody, "a faulted, b served", "a faulted, b served"},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n" + json + "\r\n" + goodBody, "a faulted, b served", "a faulted, b served"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + json + "\r\n" + goodBody, "a faulted, b served", "a faulted, b served"},
		{"chunks that are none", streamHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "a faulted, b served", "a faulted, b served"},
		{"no HTTP", "220 smtp ready\r\n", "a faulted, b served", "a faulted, b served"},
		{"a status that is none", "HTTP/1.1 abc OK\r\n\r\n", "a faulted, b served", "a faulted, b served"},
		{"a status beyond all", say("999 What", json, "{}"), "a faulted, b served", "a faulted, b served"},
		{"moved for good", say("301 Moved", away, ""), "a faulted, b served", "a faulted, b served"},
		{"found", say("302 Found", away, ""), "a faulted, b served", "a faulted, b served"},
		{"see other", say("303 See Other", away, ""), "a faulted, b served", "a faulted, b served"},
		{"moved for now", say("307 Moved", away, ""), "a faulted, b served", "a faulted, b served"},
		{"permanent", say("308 Moved", away, ""), "a faulted, b served", "a faulted, b served"},
		{"bad", say("400 Bad", json, `{"error":{"message":"x"}}`), "a refused", "a refused"},
		{"a bad key", say("401 No", json, `{}`), "a unauthorized, b served", "a unauthorized, b served"},
		{"no money", say("402 Pay", json, `{}`), "a unauthorized, b served", "a unauthorized, b served"},
		{"forbidden", say("403 No", json, `{"error":{"message":"x","code":"country"}}`), "a unauthorized, b served", "a unauthorized, b served"},
		{"forbidden by a page", say("403 No", html, page), "a faulted, b served", "a faulted, b served"},
		{"no page", say("404 No", html, page), "a missing, b served", "a missing, b served"},
		{"no model", say("404 No", json, `{"error":{"message":"x","code":"model_not_found"}}`), "a missing, b served", "a missing, b served"},
		{"the server's time-out", say("408 Late", html, page), "a faulted, b served", "a faulted, b served"},
		{"a conflict", say("409 Conflict", json, `{}`), "a faulted, b served", "a faulted, b served"},
		{"gone", say("410 Gone", json, `{}`), "a missing, b served", "a missing, b served"},
		{"too large, with no larger window", say("413 Large", html, page), "a too_long", "a too_long"},
		{"not processable", say("422 No", json, `{}`), "a refused", "a refused"},
		{"a rate", say("429 Slow", json, rate), "a limited, b served", "a limited, b served"},
		{"a rate without words", say("429 Slow", html, page), "a limited, b served", "a limited, b served"},
		{"no credit", say("429 Slow", json, `{"error":{"message":"x","type":"insufficient_quota"}}`), "a unauthorized, b served", "a unauthorized, b served"},
		{"broken", say("500 No", html, page), "a faulted, b served", "a faulted, b served"},
		{"overloaded", say("503 No", json+"Retry-After: 99999999999999999999\r\n", `{}`), "a faulted, b served", "a faulted, b served"},
		{"overloaded, another way", say("529 No", json, `{}`), "a faulted, b served", "a faulted, b served"},
	} {
		for body, want := range map[string]string{plain: c.plain, streamed: c.streamed} {
			w, change := goWild(bytesOf(c.answer))
			r := setUp(t, keys, change, func(_ *rig, cat *route.Catalog, config *clientlib.Config) {
				config.Credentials["key-a"] = clientlib.Credential{From: "env:TEST_SECRET_a", Hosts: []string{strings.TrimPrefix(w.url, "http://")}}
			})
			resp, got, err := r.answer(body)
			if err != nil {
				t.Errorf("%s: %q %v", c.rule, got, err)
			}
			if strings.HasSuffix(want, "served") != (resp.StatusCode == 200) {
				t.Errorf("%s: %d %s", c.rule, resp.StatusCode, got)
			}
			if decisions := strings.Join(r.Decisions(), ", "); decisions != want || w.requests != 1 {
				t.Errorf("%s: %s with %d requests, want %s", c.rule, decisions, w.requests, want)
			}
		}
	}
	if n := len(thief.Requests()); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}
