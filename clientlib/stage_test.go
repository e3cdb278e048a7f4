package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// stage is a client on a clock of its own, on a workload "chat" whose first tier is endpoint a
// and whose second is b. They answer as a test has them play, on no network.
type stage struct {
	*clienttest.Client
	t    *testing.T
	http *http.Client

	mu    sync.Mutex // guards what follows
	plays map[string][]play
	got   map[string][]sent
	open  int // bodies of answers
	ended []clientlib.CallInfo
}

// play is how an endpoint answers one request.
type play func(*stage, *http.Request) (*http.Response, error)

// sent is a request as its endpoint got it.
type sent struct {
	method, url, body string
	header            http.Header
}

// staging is what a test changes before the play.
type staging struct {
	catalog   *route.Catalog
	config    clientlib.Config
	transport clientlib.TransportConfig
}

// onStage runs a test, and holds it to that all was given back.
func onStage(t *testing.T, set func(*staging), test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, plays: map[string][]play{}, got: map[string][]sent{}}
		g := &staging{catalog: clienttest.Pool("chat",
			&clienttest.Endpoint{Name: "a", URL: "https://a.test/v1"}, &clienttest.Endpoint{Name: "b", URL: "https://b.test/v1"})}
		g.catalog.Workloads[0].Tiers = []route.Tier{{Name: "first", Endpoints: []string{"a"}}, {Name: "second", Endpoints: []string{"b"}}}
		g.config = clientlib.Config{Catalog: g.catalog, HTTP: s, Observer: s}
		if set != nil {
			set(g)
		}
		var err error
		if s.Client, err = clienttest.Open(t.Context(), g.config); err != nil {
			t.Fatal(err)
		}
		s.http = &http.Client{Transport: s.Transport(g.transport)}
		test(s)
		synctest.Wait()
		s.nothingIsLeft()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// speaking has all endpoints and the workload speak one API in one dialect.
func speaking(dialect, api string) func(*staging) {
	return func(g *staging) {
		for i := range g.catalog.Endpoints {
			g.catalog.Endpoints[i].Dialect, g.catalog.Endpoints[i].APIs = dialect, []string{api}
		}
		g.catalog.Workloads[0].APIs = []string{api}
	}
}

func (s *stage) Attempt(clientlib.AttemptInfo) {}
func (s *stage) Event(clientlib.Event)         {}

func (s *stage) Call(c clientlib.CallInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, c)
}

// calls are those that have ended.
func (s *stage) calls() []clientlib.CallInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ended)
}

// nothingIsLeft says what was not given back.
func (s *stage) nothingIsLeft() {
	s.t.Helper()
	for _, e := range s.Endpoints() {
		if e.InFlight != 0 {
			s.t.Errorf("endpoint %q: %d in flight", e.Name, e.InFlight)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != 0 {
		s.t.Errorf("%d answers are not closed", s.open)
	}
}

// at says how an endpoint answers its next requests; the last one answers all that follow.
func (s *stage) at(endpoint string, plays ...play) { s.plays[endpoint] = plays }

// RoundTrip has the endpoint of that host play.
func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	name := r.URL.Host[:1]
	s.mu.Lock()
	s.got[name] = append(s.got[name], sent{r.Method, r.URL.String(), string(body), r.Header})
	p := hello
	if plays := s.plays[name]; len(plays) > 0 {
		p = plays[min(len(s.got[name]), len(plays))-1]
	}
	s.mu.Unlock()
	return p(s, r)
}

// script is the body of an answer: texts, time.Durations that pass, and an error at its end.
type script struct {
	stage  *stage
	ctx    context.Context
	parts  []any
	text   string
	end    sync.Once
	closed chan struct{}
}

func (b *script) Read(p []byte) (int, error) {
	for b.text == "" {
		if len(b.parts) == 0 {
			return 0, io.EOF
		}
		part := b.parts[0]
		b.parts = b.parts[1:]
		switch part := part.(type) {
		case string:
			b.text = part
		case error:
			return 0, part
		case time.Duration:
			if err := b.pass(part); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, b.text)
	b.text = b.text[n:]
	return n, nil
}

func (b *script) pass(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-b.closed:
		return errors.New("read of a closed body")
	}
}

func (b *script) Close() error {
	b.end.Do(func() {
		close(b.closed)
		b.stage.mu.Lock()
		defer b.stage.mu.Unlock()
		b.stage.open--
	})
	return nil
}

// forever is longer than any test.
const forever = 1000 * time.Hour

var errReset = errors.New("connection reset by peer")

func answering(status int, kind string, headers []string, parts []any) play {
	return func(s *stage, r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {kind}}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		s.mu.Lock()
		s.open++
		s.mu.Unlock()
		body := &script{stage: s, ctx: r.Context(), parts: parts, closed: make(chan struct{})}
		return &http.Response{StatusCode: status, Header: h, ContentLength: -1, Body: body}, nil
	}
}

// streams answers in events.
func streams(parts ...any) play { return answering(200, "text/event-stream", nil, parts) }

// says answers as a whole.
func says(status int, body string, headers ...string) play {
	return answering(status, "application/json", headers, []any{body})
}

// failing is an error as OpenAI writes it.
func failing(status int, code string, headers ...string) play {
	return says(status, `{"error":{"message":"on command","type":"`+code+`","param":null,"code":"`+code+`"}}`, headers...)
}

// silent never answers.
func silent(_ *stage, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// lost loses the connection.
func lost(*stage, *http.Request) (*http.Response, error) { return nil, errReset }

// hello is how endpoints answer that nobody told anything.
func hello(s *stage, r *http.Request) (*http.Response, error) {
	if r.Header.Get("Accept") == "text/event-stream" {
		return streams(roleEvent, oneEvent, twoEvent, stopEvent, usageEvent, doneEvent)(s, r)
	}
	return says(200, goodBody)(s, r)
}

// ask sends a body to the address where an SDK would.
func (s *stage) ask(ctx context.Context, path, body string, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.invalid/v1"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.http.Do(r)
}

// chat asks for a chat completion and reads the answer to its end.
func (s *stage) chat(body string, headers ...string) (*http.Response, string, error) {
	s.t.Helper()
	return s.read(s.ask(s.t.Context(), "/chat/completions", body, headers...))
}

func (s *stage) read(resp *http.Response, err error) (*http.Response, string, error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

func (s *stage) decided(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.Decisions()); diff != "" {
		s.t.Errorf("decisions:\n%s", diff)
	}
}

// last is the latest attempt that ended.
func (s *stage) last() clientlib.AttemptInfo {
	s.t.Helper()
	all := s.Attempts()
	if len(all) == 0 {
		s.t.Fatal("no attempt")
	}
	return all[len(all)-1]
}

// Events of messages and responses, as Anthropic and OpenAI write them.
const (
	messageStart  = "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}` + "\n\n"
	messageBlock  = "event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	messagePing   = "event: ping\ndata: " + `{"type":"ping"}` + "\n\n"
	messageText   = "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}` + "\n\n"
	messageTool   = "event: content_block_start\ndata: " + `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}` + "\n\n"
	messageInput  = "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}` + "\n\n"
	messageDelta  = "event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}` + "\n\n"
	messageStop   = "event: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n"
	messageError  = "event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"
	responseStart = "event: response.created\ndata: " + `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}` + "\n\n"
	responseText  = "event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"one"}` + "\n\n"
	responseEnd   = "event: response.completed\ndata: " + `{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","output":[],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10},"output_tokens":7,"total_tokens":37}}}` + "\n\n"
	responseFails = "event: response.failed\ndata: " + `{"type":"response.failed","response":{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}}` + "\n\n"

	messageBody  = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"one two"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":2}}`
	responseBody = `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one two"}]}],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10},"output_tokens":7,"total_tokens":37}}`
	vectorBody   = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"model":"m","usage":{"prompt_tokens":8,"total_tokens":8}}`
)
