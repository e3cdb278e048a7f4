package clientlib_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// shown is all that could be shown of a value.
func shown(t *testing.T, values ...any) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%v %+v %#v\n", v, v, v)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v)
		if encoded, err := json.Marshal(v); err == nil { // of functions: it cannot be
			b.Write(encoded)
		}
		if err, ok := v.(error); ok {
			for ; err != nil; err = errors.Unwrap(err) {
				fmt.Fprintf(&b, "%s %q %x\n", err, err, err)
			}
		}
	}
	return b.String()
}

// keeping remembers whatever an observer is told.
type keeping struct {
	listener
	attempts []clientlib.AttemptInfo
}

func (k *keeping) Attempt(a clientlib.AttemptInfo) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.attempts = append(k.attempts, a)
}

func (*keeping) Call(clientlib.CallInfo) {}

// An endpoint knows the secret that it was sent. Wherever it repeats it, no value, error,
// event or record of this library does.
func TestAnEndpointThatRepeatsASecretDoesNotSpreadIt(t *testing.T) {
	const (
		secret  = "sk-abcdefghijklmnop"
		escaped = `sk\u002Dabcdefghijklmn\u006fp`
	)
	failure := fmt.Sprintf(`{"error":{"message":"no %s","type":%q,"code":%q}}`, secret, secret, secret)
	say := func(status, headers, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n%s\r\n%s", status, secret, len(body), headers, body)
	}
	for rule, answer := range map[string]string{
		"in an error":              say("400 No", "Content-Type: application/json\r\n", failure),
		"in an error of its own":   say("500 "+secret, "Content-Type: application/json\r\n", failure),
		"in an error of a key":     say("401 "+secret, "Content-Type: application/json\r\n", failure),
		"in an error in a 200":     say("200 OK", "Content-Type: application/json\r\n", failure),
		"as the type of a stream":  say("200 OK", "Content-Type: "+secret+"\r\n", oneEvent),
		"as a status":              "HTTP/1.1 " + secret + "\r\n\r\n",
		"as a protocol":            secret + "\r\n\r\n",
		"as an encoding":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n",
		"as a length":              "HTTP/1.1 200 OK\r\nContent-Length: " + secret + "\r\n\r\n",
		"as a header":              "HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n",
		"in a stream's first word": chunked(streamHead, "data: "+failure+"\n\n"),
		"in a header of an error":  say("400 "+secret, "Content-Type: application/json\r\nX-Key: "+secret+"\r\n", "{}"),
		"in a stream's header":     chunked(streamHead+"X-Key: "+secret+"\r\n", `data: {"error":{"message":"x"}}`+"\n\n"),
		"in an error's trailer":    strings.TrimSuffix(chunked("HTTP/1.1 400 No\r\nTrailer: X-Key\r\n", "{}"), "\r\n") + "X-Key: " + secret + "\r\n\r\n",
		"escaped":                  say("400 No", "Content-Type: application/json\r\n", strings.ReplaceAll(failure, secret, escaped)),
		"escaped in a stream":      chunked(streamHead, "data: "+strings.ReplaceAll(failure, secret, escaped)+"\n\n"),
	} {
		for _, body := range []string{plain, streamed} {
			k := &keeping{}
			w, change := goWild(func(c net.Conn, q *http.Request) {
				if q.Header.Get("Authorization") != "Bearer "+secret {
					t.Errorf("%v", q.Header)
				}
				_, _ = io.WriteString(c, answer)
			})
			r := setUp(t, keys, change, func(r *rig, c *route.Catalog, config *clientlib.Config) {
				r.t.Setenv("TEST_SECRET_a", secret)
				config.Credentials["key-a"] = clientlib.Credential{From: "env:TEST_SECRET_a", Hosts: []string{strings.TrimPrefix(w.url, "http://")}}
				c.Workloads[0].Attempts.Max = 1
				config.Observer = k
			})
			resp, got, err := r.answer(body)
			if err != nil {
				t.Errorf("%s: %v", rule, err)
			}
			got += shown(t, resp.Status, resp.Header, resp.Trailer)
			a, err := r.Workload("chat").Pick(clientlib.Request{})
			if err == nil {
				a.Settle(clientlib.Outcome{Kind: clientlib.Faulted})
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			all := shown(t, r.Client.Client, r.Transport(clientlib.TransportConfig{}), r.Workload("chat"), r.Endpoints(), r.Version(), a, a.Endpoint(), err,
				k.attempts, k.events, r.Explain("chat", clientlib.Request{})) + got
			for _, a := range k.attempts {
				all += shown(t, clientlib.Recorded(a))
			}
			for _, e := range k.events {
				all += shown(t, clientlib.RecordedEvent(e))
			}
			if len(k.attempts) == 0 || strings.Contains(all, secret) || strings.Contains(all, escaped) || strings.Contains(all, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s: %d\n%s", rule, resp.StatusCode, all)
			}
		}
	}
}

func TestABrokenStreamDoesNotSpreadASecret(t *testing.T) {
	const secret = "sk-abcdefghijklmnop"
	for _, last := range []string{"data: {\"error\":{\"code\":\"" + secret + "\"}}\n\n", ""} {
		w, change := goWild(bytesOf(strings.TrimSuffix(chunked(streamHead, oneEvent, last), "0\r\n\r\n") + secret))
		r := setUp(t, keys, change, func(r *rig, _ *route.Catalog, config *clientlib.Config) {
			r.t.Setenv("TEST_SECRET_a", secret)
			config.Credentials["key-a"] = clientlib.Credential{From: "env:TEST_SECRET_a", Hosts: []string{strings.TrimPrefix(w.url, "http://")}}
		})
		_, _, err := r.answer(streamed)
		var broke *clientlib.StreamError
		if !errors.As(err, &broke) {
			t.Fatal(err)
		}
		if all := shown(t, err, *broke, r.Attempts()); strings.Contains(all, secret) {
			t.Error(all)
		}
	}
}

// What a catalog says ends up in requests, headers and logs, and nowhere as more than
// what it is.
func TestACatalogInjectsNothing(t *testing.T) {
	const evil = "m\r\nX-Evil: 1\r\n\r\n\"}{"
	r := setUp(t, func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints[0].WireModel, c.Endpoints[0].Model, c.Endpoints[0].Provider, c.Endpoints[0].Region = evil, evil, evil, evil
		c.Endpoints[0].APIVersion = evil
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	q := r.a.Requests()[0]
	if q.Model != evil || q.Header.Get("X-Evil") != "" {
		t.Errorf("%q %v", q.Model, q.Header)
	}
	r.decided("a served")
	for _, base := range []string{"http://127.0.0.1:1/v1\r\nX-Evil: 1", "http://127.0.0.1:1\r\n/v1", "http://127.0.0.1:1/ HTTP/1.1", "http://127.0.0.1:1/%0d%0aX-Evil:1"} {
		r := setUp(t, func(_ *rig, c *route.Catalog, _ *clientlib.Config) { c.Endpoints[0].BaseURL = base })
		if _, _, err := r.answer(plain); err != nil {
			t.Fatal(err)
		}
		if got := r.Decisions(); got[len(got)-1] != "b served" {
			t.Errorf("%q: %v", base, got)
		}
	}
	for _, name := range []string{"a\r\nX-Evil: 1", "a\x1b[2J", "a\u202eb", "a\x00"} {
		catalog := clienttest.Pool("chat", &clienttest.Endpoint{Name: name, URL: "http://127.0.0.1:1"})
		if c, err := clientlib.Open(t.Context(), clientlib.Config{Catalog: catalog}); err == nil {
			c.Close()
			t.Errorf("%q is a name", name)
		}
	}
}

// The errors of connections quote what an endpoint said, too.
func TestTheCauseOfABrokenStreamDoesNotSpreadASecret(t *testing.T) {
	const secret = "sk-abcdefghijklmnop"
	onStage(t, func(g *staging) {
		g.catalog.Endpoints[0].Credential = "key"
		g.config.Credentials = map[string]clientlib.Credential{"key": {Source: func(context.Context) (string, error) { return secret, nil }, Hosts: []string{"a.test"}}}
	}, func(s *stage) {
		s.at("a", streams(oneEvent, fmt.Errorf("GOAWAY, debug=%q: %w", secret, errReset)), streams(oneEvent, errReset))
		var broke *clientlib.StreamError
		if _, _, err := s.chat(streamed); !errors.As(err, &broke) || strings.Contains(shown(s.t, err, *broke, broke.Err, s.calls(), s.Attempts()), secret) {
			s.t.Errorf("%v, of %v", err, broke.Err)
		}
		if _, _, err := s.chat(streamed); !errors.Is(err, errReset) {
			s.t.Errorf("%v is another error", err)
		}
	})
}

// nosy looks at all that it is shown, and adds what is not its own.
type nosy struct{ seen []http.Header }

func (*nosy) Call(ctx context.Context, _ clientlib.CallInfo) (context.Context, func(clientlib.CallInfo)) {
	return ctx, nil
}

func (n *nosy) Attempt(ctx context.Context, _ clientlib.AttemptInfo, h http.Header) (context.Context, func(clientlib.AttemptInfo)) {
	n.seen = append(n.seen, h.Clone())
	h.Set("Authorization", "Bearer its own")
	h.Set("Traceparent", "x")
	return ctx, nil
}

func TestWhoTracesSeesNoCredential(t *testing.T) {
	const secret = "sk-abcdefghijklmnop"
	n := &nosy{}
	onStage(t, func(g *staging) {
		g.catalog.Endpoints[0].Credential = "key"
		g.config.Credentials = map[string]clientlib.Credential{"key": {Source: func(context.Context) (string, error) { return secret, nil }, Hosts: []string{"a.test"}}}
		g.config.Tracer = n
	}, func(s *stage) {
		if _, _, err := s.chat(plain); err != nil {
			s.t.Error(err)
		}
		if sent := s.got["a"][0].header; sent.Get("Authorization") != "Bearer "+secret || sent.Get("Traceparent") != "x" {
			s.t.Errorf("sent %v", sent)
		}
		if len(n.seen) != 1 || strings.Contains(shown(s.t, n.seen), secret) {
			s.t.Errorf("seen %v", n.seen)
		}
	})
}
