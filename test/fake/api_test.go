package fake

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// send sends a body to a path of an endpoint, with pairs of headers.
func send(t *testing.T, e *Endpoint, client *http.Client, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+e.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(b)
}

// at is what a JSON text has at a path, as JSON.
func at(t *testing.T, text string, path ...any) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The prompts have 24 bytes.
const (
	forResponses = `{"model":"m","instructions":"be brief","input":[{"role":"user","content":[{"type":"input_text","text":"where to, ferry?"}]}]`
	forMessages  = `{"model":"m","max_tokens":2,"system":"be brief","messages":[{"role":"user","content":"where to, ferry?"}]`
)

var version = []string{"Anthropic-Version", "2023-06-01"}

func TestEachAPIAnswersInItsOwnWords(t *testing.T) {
	for _, c := range []struct {
		rule, path, body string
		header           []string
		text, usage      []any
		wantText, want   string
	}{
		{"responses", "/v1/responses", forResponses + `,"max_output_tokens":2}`, nil, []any{"output", 0, "content", 0, "text"},
			[]any{"usage", "total_tokens"}, `"the ferry"`, "8"},
		{"responses that were limited", "/v1/responses", forResponses + `,"max_output_tokens":2}`, nil, []any{"incomplete_details", "reason"},
			[]any{"status"}, `"max_output_tokens"`, `"incomplete"`},
		{"embeddings", "/v1/embeddings", `{"model":"m","input":["where to","ferry?!!"]}`, nil, []any{"data", 1, "index"},
			[]any{"usage", "total_tokens"}, "1", "4"},
		{"embeddings of tokens", "/v1/embeddings", `{"model":"m","input":[[1,2,3],[4]]}`, nil, []any{"data", 1, "object"},
			[]any{"usage", "prompt_tokens"}, `"embedding"`, "4"},
		{"messages", "/v1/messages", forMessages + `}`, version, []any{"content", 0, "text"}, []any{"usage", "input_tokens"}, `"the ferry"`, "6"},
		{"messages that were limited", "/v1/messages", forMessages + `}`, version, []any{"stop_reason"}, []any{"usage", "output_tokens"}, `"max_tokens"`, "2"},
		{"azure's chat", "/openai/deployments/m/chat/completions?api-version=1", hello + `,"max_tokens":2}`, nil,
			[]any{"choices", 0, "message", "content"}, []any{"model"}, `"the ferry"`, `"m"`},
		{"plain", "/plain/tools/x?a=b", "any body", nil, []any{"path"}, []any{"body"}, `"/plain/tools/x"`, `"any body"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e, client := start(t, Config{Name: "a"})
			answer, body := send(t, e, client, c.path, c.body, c.header...)
			if answer.StatusCode != 200 {
				t.Fatalf("%d %s", answer.StatusCode, body)
			}
			if got, want := at(t, body, c.text...)+" "+at(t, body, c.usage...), c.wantText+" "+c.want; got != want {
				t.Errorf("got %s, want %s: %s", got, want, body)
			}
		})
	}
}

// named is the names of a stream's events, runs of one as one, and what the last one's data is.
func named(body string) (names, last string) {
	var all []string
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		name, data, _ := strings.Cut(block, "\ndata: ")
		name = strings.TrimPrefix(name, "event: ")
		if len(all) == 0 || all[len(all)-1] != name {
			all = append(all, name)
		}
		last = data
	}
	return strings.Join(all, " "), last
}

func TestEachAPIHasItsOwnEvents(t *testing.T) {
	e, client := start(t, Config{Name: "a"})
	_, body := send(t, e, client, "/v1/responses", forResponses+`,"stream":true,"metadata":{"output_tokens":"3"}}`)
	names, last := named(body)
	want := "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta" +
		" response.output_text.done response.content_part.done response.output_item.done response.completed"
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if got := at(t, last, "response", "usage", "output_tokens") + at(t, last, "sequence_number"); got != "3"+"9" {
		t.Errorf("%s: %s", got, last)
	}
	_, body = send(t, e, client, "/v1/messages", forMessages+`,"stream":true}`, version...)
	names, last = named(body)
	want = "message_start content_block_start ping content_block_delta content_block_stop message_delta message_stop"
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if last != `{"type":"message_stop"}` || !strings.Contains(body, `"usage":{"output_tokens":2}`) {
		t.Error(body)
	}
	answer, body := send(t, e, client, "/plain", "", "Accept", "text/event-stream")
	if answer.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || !strings.HasPrefix(body, `data: {"text":"the"}`) {
		t.Errorf("%v %s", answer.Header, body)
	}
}

func TestCustoms(t *testing.T) {
	limits := Limits{Requests: 100, RequestsLeft: 7, Tokens: 1000, TokensLeft: 0, Reset: 90 * time.Second}
	azurePath := "/openai/deployments/m/chat/completions"
	for _, c := range []struct {
		rule, path, body string
		header           []string
		status           int
		reason           string // of the violation
		want             []string
	}{
		{"openai", "/v1/chat/completions", hello + "}", []string{"Authorization", "Bearer right"}, 200, "",
			[]string{"X-Request-Id", "req-a-1", "X-Ratelimit-Remaining-Requests", "7", "X-Ratelimit-Reset-Tokens", "1m30s"}},
		{"azure", azurePath + "?api-version=1", hello + "}", []string{"Api-Key", "right"}, 200, "",
			[]string{"Apim-Request-Id", "req-a-1", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "90"}},
		{"azure without a version", azurePath, hello + "}", []string{"Api-Key", "right"}, 400, "version", nil},
		{"azure with a bearer", azurePath + "?api-version=1", hello + "}", []string{"Authorization", "Bearer right"}, 401, "key", nil},
		{"anthropic", "/v1/messages", forMessages + "}", append([]string{"X-Api-Key", "right"}, version...), 200, "",
			[]string{"Request-Id", "req-a-1", "Anthropic-Ratelimit-Requests-Remaining", "7", "Anthropic-Ratelimit-Tokens-Reset", "2000-01-01T00:01:30Z"}},
		{"anthropic without a version", "/v1/messages", forMessages + "}", []string{"X-Api-Key", "right"}, 400, "version", nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, Config{Name: "a", Key: "right", Limits: limits}, func(t *testing.T, e *Endpoint, client *http.Client) {
				answer, body := send(t, e, client, c.path, c.body, c.header...)
				if v := e.Violations(); answer.StatusCode != c.status || (c.reason == "") != (len(v) == 0) || len(v) > 0 && v[0].Reason != c.reason {
					t.Errorf("%d %s %v", answer.StatusCode, body, v)
				}
				for i := 0; i < len(c.want); i += 2 {
					if got := answer.Header.Get(c.want[i]); got != c.want[i+1] {
						t.Errorf("%s: %q, want %q", c.want[i], got, c.want[i+1])
					}
				}
			})
		})
	}
}

func TestFaultsSpeakEachAPIsLanguage(t *testing.T) {
	chat, azurePath := "/v1/chat/completions", "/openai/deployments/m/chat/completions?api-version=1"
	for _, c := range []struct {
		rule, path string
		fault      Fault
		status     int
		shown      string
	}{
		{"openai overloaded", chat, Fault{Kind: Overload}, 503, `"code":"server_is_overloaded"`},
		{"anthropic overloaded", "/v1/messages", Fault{Kind: Overload}, 529, `"type":"overloaded_error"`},
		{"azure limited", azurePath, Fault{Kind: Limit}, 429, `"code":"429"`},
		{"anthropic limited", "/v1/messages", Fault{Kind: Throttle}, 429, `"type":"rate_limit_error"`},
		{"openai too long", chat, Fault{Kind: TooLong}, 400, `"code":"context_length_exceeded"`},
		{"anthropic too long", "/v1/messages", Fault{Kind: TooLong}, 400, `"message":"prompt is too long: `},
		{"openai refuses", chat, Fault{Kind: Refuse}, 400, `"code":"unsupported_parameter"`},
		{"openai filters", chat, Fault{Kind: Filter}, 400, `"code":"content_policy_violation"`},
		{"openai filters later", chat, Fault{Kind: Filter, Tokens: 1}, 200, `"content":"the"},"finish_reason":"content_filter"`},
		{"anthropic filters", "/v1/messages", Fault{Kind: Filter}, 200, `"stop_reason":"refusal"`},
		{"responses are filtered", "/v1/responses", Fault{Kind: Filter, Tokens: 1}, 200, `"incomplete_details":{"reason":"content_filter"}`},
		{"plain fails", "/plain/x", Fault{Kind: Fail}, 500, `{"error":"The server had`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e, client := start(t, Config{Name: "a", Faults: []Fault{c.fault}})
			answer, body := send(t, e, client, c.path, hello+`}`, version...)
			if answer.StatusCode != c.status || !strings.Contains(body, c.shown) {
				t.Errorf("%d %s", answer.StatusCode, body)
			}
		})
	}
}
