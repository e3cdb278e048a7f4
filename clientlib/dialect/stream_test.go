package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// speaker is a dialect that speaks an API.
var speaker = map[API]*Dialect{ChatCompletions: &compatible, Responses: &openai, Messages: &anthropic, PlainHTTP: &plainHTTP}

// tell reads a stream to its end and says what it held, an event a line.
func tell(api API, r io.Reader) []string {
	s := speaker[api].Stream(api, r)
	var told []string
	for {
		e, err := s.Next()
		if err != nil {
			return append(told, err.Error())
		}
		line := [...]string{"chunk", "comment", "done", "failed", "malformed"}[e.Kind]
		if e.Generated {
			line += " generated"
		}
		if e.Tool {
			line += " tool"
		}
		if e.UsageOnly {
			line += " usage-only"
		}
		if e.HasUsage {
			line += fmt.Sprintf(" %d+%d", e.Usage.Input, e.Usage.Output)
		}
		if e.Finish != Unfinished {
			line += " " + e.Finish.String()
		}
		if e.ID != "" {
			line += " id=" + e.ID
		}
		if e.Kind == Failed {
			line += fmt.Sprintf(" %v %s", e.Outcome.Kind, e.Outcome.Detail)
		}
		told = append(told, line)
	}
}

// events writes a stream of events that have data only.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// named writes a stream of events whose names are their types.
func named(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		_, kind, _ := strings.Cut(d, `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		b.WriteString("event: " + kind + "\ndata: " + d + "\n\n")
	}
	return b.String()
}

type streamCase struct {
	rule, stream string
	want         []string
}

func checkStreams(t *testing.T, api API, cases []streamCase) {
	t.Helper()
	for _, c := range cases {
		if diff := cmp.Diff(c.want, tell(api, strings.NewReader(c.stream))); diff != "" {
			t.Errorf("%s:\n%s", c.rule, diff)
		}
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", MaxEvent)
	a := `data: {"choices":[{"delta":{"content":"a"}}]}`
	checkStreams(t, ChatCompletions, []streamCase{
		{"lines may end in CRLF", a + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"chunk generated", "done", "EOF"}},
		{"or in CR", a + "\r\rdata: [DONE]\r\r", []string{"chunk generated", "done", "EOF"}},
		{"or in each", a + "\r\n\ndata: [DONE]\n\r" + a + "\r\r\n" + a + "\n\n", []string{"chunk generated", "done", "chunk generated", "chunk generated", "EOF"}},
		{"a mark of the byte order says nothing", "\ufeff" + a + "\n\n\ufeffdata: [DONE]\n\n", []string{"chunk generated", "comment", "EOF"}},
		{"a comment says nothing", ": keep-alive\n\n:\n\n\n" + a + "\n\n", []string{"comment", "comment", "comment", "chunk generated", "EOF"}},
		{"also within an event", ": c\nid: 7\n" + a + "\nretry: 5\n\n", []string{"chunk generated", "EOF"}},
		{"no space after the colon", "data:[DONE]\n\n", []string{"done", "EOF"}},
		{"a field of another name is none", "Data: [DONE]\n\ndata : [DONE]\n\n data: [DONE]\n\n", []string{"comment", "comment", "comment", "EOF"}},
		{"the last event may lack its blank line", "data: [DONE]", []string{"done", "EOF"}},
		{"half an event is no end", "data: {\"choices\":[{\"del", []string{"unexpected EOF"}},
		{"nor is half a field", a + "\n\ndat", []string{"chunk generated", "unexpected EOF"}},
		{"a comment may be the end", a + "\n\n: bye", []string{"chunk generated", "comment", "EOF"}},
		{"data may take several lines", "data: {\"choices\":\ndata: []}\n\n", []string{"chunk", "EOF"}},
		{"an event that is too long ends the stream", "data: " + long + "\n\n", []string{errEventTooLong.Error()}},
		{"and so do many lines", strings.Repeat("data: "+long[:9000]+"\n", MaxEvent/9000), []string{errEventTooLong.Error()}},
		{"a long one does not", events(`{"choices":[{"delta":{"content":"`+long[:MaxEvent-100]+`"}}]}`, "[DONE]"), []string{"chunk generated", "done", "EOF"}},
	})
}

func TestChatStreams(t *testing.T) {
	chunk := func(choice string) string {
		return events(`{"id":"c-1","object":"chat.completion.chunk","choices":[` + choice + `]}`)
	}
	checkStreams(t, ChatCompletions, []streamCase{
		{"a role is no content", chunk(`{"delta":{"role":"assistant","content":""}}`), []string{"chunk id=c-1", "EOF"}},
		{"the id is told once", chunk(`{"delta":{"content":"a"}}`) + chunk(`{"delta":{"content":"b"}}`), []string{"chunk generated id=c-1", "chunk generated", "EOF"}},
		{"a tool's call is content", events(`{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, `{"choices":[{"delta":{"content":null,"tool_calls":[]}}]}`), []string{"chunk generated tool", "chunk", "EOF"}},
		{"a function's too", events(`{"choices":[{"delta":{"function_call":{"name":"f"}}}]}`), []string{"chunk generated tool", "EOF"}},
		{"reasoning is content", events(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`, `{"choices":[{"delta":{"reasoning":"hm"}}]}`), []string{"chunk generated", "chunk generated", "EOF"}},
		{"a refusal is content", events(`{"choices":[{"delta":{"refusal":"no"}}]}`), []string{"chunk generated", "EOF"}},
		{"content in parts is content", events(`{"choices":[{"delta":{"content":[{"type":"thinking"}]}}]}`), []string{"chunk generated", "EOF"}},
		{"an unknown member is not", events(`{"choices":[{"delta":{"content":null,"p":"abc"}}],"obfuscation":"abc"}`), []string{"chunk", "EOF"}},
		{"of several choices each counts", events(`{"choices":[{"delta":{}},{"delta":{"content":"b"},"finish_reason":"length"}]}`), []string{"chunk generated truncated", "EOF"}},
		{"what a filter says of the prompt is no content", events(`{"choices":[],"id":"","prompt_filter_results":[{"prompt_index":0}]}`), []string{"chunk", "EOF"}},
		{"usage that was asked for", events(`{"choices":[],"usage":{"prompt_tokens":41,"completion_tokens":9}}`, "[DONE]"), []string{"chunk usage-only 41+9", "done", "EOF"}},
		{"usage with the last chunk", events(`{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`), []string{"chunk 4+2 stopped", "EOF"}},
		{"usage that runs", events(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":4,"completion_tokens":1}}`, `{"choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`), []string{"chunk generated 4+1", "chunk generated 4+2", "EOF"}},
		{"usage is not known that is null or empty", events(`{"choices":[],"usage":null}`, `{"choices":[],"usage":{}}`), []string{"chunk", "chunk", "EOF"}},
		{"usage of Groq", events(`{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":4,"completion_tokens":2}}}`), []string{"chunk 4+2 stopped", "EOF"}},
		{"an error of Groq", events(`{"choices":[{"delta":{}}],"x_groq":{"error":"over capacity"}}`), []string{"failed faulted 502", "EOF"}},
		{"reasons to end", events(`{"choices":[{"finish_reason":"tool_calls"}]}`, `{"choices":[{"finish_reason":"content_filter"}]}`, `{"choices":[{"finish_reason":"model_length"}]}`, `{"choices":[{"finish_reason":"new"}]}`, `{"choices":[{"finish_reason":""}]}`, `{"choices":[{"finish_reason":7}]}`),
			[]string{"chunk called_tool", "chunk blocked", "chunk overflowed", "chunk other", "chunk", "chunk", "EOF"}},
		{"an answer given up is an error", events(`{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}`), []string{"failed faulted 502 server_error", "EOF"}},
		{"a malformed event is one event", "data: {oops\n\ndata: [DONE]\n\n", []string{"malformed", "done", "EOF"}},
		{"a list is malformed", events(`[]`, `{"choices":[]} {}`, `[DONE] `), []string{"malformed", "malformed", "done", "EOF"}},
		{"members of odd types are left out", events(`{"choices":{},"usage":7,"id":[],"object":{},"x_groq":[]}`, `{"choices":[7,{"delta":[],"finish_reason":{}}]}`), []string{"chunk", "chunk", "EOF"}},
		{"an end may follow an error", events(`{"error":{"message":"x","code":500}}`, "[DONE]"), []string{"failed faulted 500", "done", "EOF"}},
		{"an error without JSON", "event: error\ndata: boom\n\n", []string{"failed faulted 502 server_error", "EOF"}},
		{"an error by its name", "event: error\ndata: {\"type\":\"server_error\",\"message\":\"x\"}\n\n", []string{"failed faulted 502 server_error", "EOF"}},
	})
}

func TestResponseStreams(t *testing.T) {
	created := `{"type":"response.created","response":{"id":"r-1","status":"in_progress","usage":null,"error":null}}`
	text := `{"type":"response.output_text.delta","delta":"a","item_id":"msg-1"}`
	checkStreams(t, Responses, []streamCase{
		{"from creation to completion", named(created, text, `{"type":"response.completed","response":{"id":"r-1","status":"completed","output":[{"type":"message"}],"usage":{"input_tokens":41,"input_tokens_details":{"cached_tokens":1},"output_tokens":9}}}`),
			[]string{"chunk id=r-1", "chunk generated", "done 41+9 stopped", "EOF"}},
		{"the end repeats its images", named(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"image_generation_call","result":"` + strings.Repeat("A", 20<<20) + `"}]}}`), []string{"done generated tool stopped", "EOF"}},
		{"too many tokens", named(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`), []string{"done truncated", "EOF"}},
		{"a filter", named(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"},"status":"incomplete"}}`), []string{"done blocked", "EOF"}},
		{"another reason", named(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":null}}`), []string{"done other", "EOF"}},
		{"a call", named(`{"type":"response.output_item.added","item":{"id":"i","type":"function_call","name":"f"}}`, `{"type":"response.function_call_arguments.delta","delta":"{"}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`),
			[]string{"chunk generated tool", "chunk generated tool", "done called_tool", "EOF"}},
		{"a call of the provider's own tool waits for nobody", named(`{"type":"response.output_item.added","item":{"type":"web_search_call"}}`, `{"type":"response.completed","response":{"status":"completed"}}`), []string{"chunk generated tool", "done stopped", "EOF"}},
		{"what repeats is no content", named(`{"type":"response.output_item.added","item":{"type":"message"}}`, `{"type":"response.output_text.done","text":"a"}`, `{"delta":"","type":"response.output_text.delta"}`), []string{"chunk", "chunk", "chunk", "EOF"}},
		{"reasoning and refusal are content, in any order of members", named(`{"delta":"hm","type":"response.reasoning_summary_text.delta"}`, `{"type":"response.refusal.delta","delta":"no"}`), []string{"chunk generated", "chunk generated", "EOF"}},
		{"an answer that failed", named(created, `{"type":"response.failed","response":{"id":"r-1","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"}}}`), []string{"chunk id=r-1", "failed limited 429 rate_limit_exceeded", "EOF"}},
		{"or does not say why", named(`{"type":"response.failed","response":{"status":"failed","error":null}}`), []string{"failed faulted 502 response.failed", "EOF"}},
		{"what keeps the connection open says nothing", named(`{"type":"keepalive","sequence_number":3}`) + events(`{"type":"response.keep_alive"}`), []string{"comment", "comment", "EOF"}},
		{"a tool that its caller has to allow waits for it", named(`{"type":"response.output_item.done","item":{"type":"mcp_approval_request"}}`, `{"type":"response.completed","response":{"status":"completed"}}`), []string{"chunk generated tool", "done called_tool", "EOF"}},
		{"an image that is not ready is content", named(`{"type":"response.image_generation_call.partial_image","partial_image_b64":"AAAA"}`), []string{"chunk generated", "EOF"}},
		{"an error", named(`{"type":"error","code":"server_error","message":"x","param":null}`), []string{"failed faulted 502 server_error", "EOF"}},
		{"an event that says its name outside only", "event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n", []string{"chunk generated", "EOF"}},
		{"the mark of another API says nothing", events("[DONE]"), []string{"comment", "EOF"}},
	})
}

func TestMessageStreams(t *testing.T) {
	start := `{"type":"message_start","message":{"id":"m-1","content":[],"stop_reason":null,"usage":{"input_tokens":8,"cache_read_input_tokens":30,"cache_creation_input_tokens":2,"output_tokens":1}}}`
	stop := `{"type":"message_stop"}`
	checkStreams(t, Messages, []streamCase{
		{"what comes later replaces what was told", named(start, `{"type":"ping"}`, `{"type":"content_block_start","content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":11}}`, stop),
			[]string{"chunk 40+1 id=m-1", "comment", "chunk", "chunk generated", "chunk", "chunk 40+11 stopped", "done", "EOF"}},
		{"nulls leave it", named(start, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":null,"output_tokens":5}}`), []string{"chunk 40+1 id=m-1", "chunk 40+5 truncated", "EOF"}},
		{"a call", named(`{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`, `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}`, `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
			[]string{"chunk generated tool", "chunk tool", "chunk generated tool", "chunk called_tool", "EOF"}},
		{"thinking is content, its signature is not", named(`{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`, `{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"x"}}`), []string{"chunk generated", "chunk", "EOF"}},
		{"hidden thoughts are content", named(`{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}}`), []string{"chunk generated", "EOF"}},
		{"reasons to end", named(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}`, `{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}`), []string{"chunk blocked", "chunk overflowed", "chunk other", "EOF"}},
		{"what a conversation was shortened to is content", named(`{"type":"content_block_delta","delta":{"type":"compaction_delta","content":"so far"}}`), []string{"chunk generated", "EOF"}},
		{"an error", named(start, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`), []string{"chunk 40+1 id=m-1", "failed faulted 529 overloaded_error", "EOF"}},
		{"a malformed event", named(stop[:9], stop), []string{"malformed", "done", "EOF"}},
	})
}

func TestOpaqueStreams(t *testing.T) {
	checkStreams(t, PlainHTTP, []streamCase{
		{"whatever has data is content, a clean end is the end", "data: a\n\n: c\n\nevent: x\ndata: [DONE]\n\n", []string{"chunk generated", "comment", "chunk generated", "done", "EOF"}},
		{"a line that is cut is no clean end", "data: a\n\ndata: b", []string{"chunk generated", "unexpected EOF"}},
		{"an event may lack its blank line", "data: a\n", []string{"chunk generated", "done", "EOF"}},
	})
}

func TestErrorsInAStream(t *testing.T) {
	for _, c := range []struct {
		api        API
		data, body string // body: as the API writes an error; empty: as data
		want       route.Outcome
	}{
		{ChatCompletions, `{"error":{"message":"x","code":"rate_limit_exceeded"}}`, "", route.Outcome{Kind: route.Limited, Status: 429, Detail: "429 rate_limit_exceeded"}},
		{ChatCompletions, `{"error":{"message":"x","type":"insufficient_quota"}}`, "", route.Outcome{Kind: route.Unauthorized, Status: 429, Detail: "429 insufficient_quota"}},
		{ChatCompletions, `{"error":{"message":"x","code":503}}`, "", route.Outcome{Kind: route.Faulted, Status: 503, Detail: "503"}},
		{ChatCompletions, `{"object":"error","message":"x","type":"BadRequestError"}`, "", route.Outcome{Kind: route.Refused, Status: 400, Detail: "400 BadRequestError"}},
		{ChatCompletions, `{"error":"boom"}`, "", route.Outcome{Kind: route.Faulted, Status: 502, Detail: "502"}},
		{ChatCompletions, `{"error":{"message":"maximum context length is 8","code":null}}`, "", route.Outcome{Kind: route.TooLong, Status: 400, Detail: "400"}},
		{ChatCompletions, `{"error":{"type":"invalid_api_key","message":"x"},"choices":[null]}`, "", route.Outcome{Kind: route.Unauthorized, Status: 401, Detail: "401 invalid_api_key"}},
		{Responses, `{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`, `{"error":{"code":"server_error","message":"x"}}`, route.Outcome{Kind: route.Faulted, Status: 502, Detail: "502 server_error"}},
		{Responses, `{"type":"error","code":"server_error"}`, `{"error":{"type":"error","code":"server_error"}}`, route.Outcome{Kind: route.Faulted, Status: 502, Detail: "502 server_error"}},
	} {
		e, err := speaker[c.api].Stream(c.api, strings.NewReader(events(c.data))).Next()
		if err != nil || e.Kind != Failed {
			t.Errorf("%s: %v, %v", c.data, e.Kind, err)
		}
		if diff := cmp.Diff(c.want, e.Outcome); diff != "" {
			t.Errorf("%s:\n%s", c.data, diff)
		}
		if c.body == "" {
			c.body = c.data
		}
		if string(e.Data) != c.body {
			t.Errorf("data %s, want %s", e.Data, c.body)
		}
	}
}

// everyEnd has lines of every kind.
const everyEnd = "\ufeff: hi\r\n\r\ndata: {\"choices\":[]}\n\nevent: a\rdata: {}\r\rdata: {\r\n\ndata: {}\n\r\n\n\n: x\r\r\ndata: [DONE]\n"

func TestRawIsWhatCame(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"at once":       strings.NewReader(everyEnd),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(everyEnd)),
		"end with data": iotest.DataErrReader(strings.NewReader(everyEnd)),
	} {
		s := compatible.Stream(ChatCompletions, r)
		var raw []byte
		for {
			e, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, e.Raw...)
		}
		if diff := cmp.Diff(everyEnd, string(raw)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAnEventWaitsForNothingBehindIt(t *testing.T) {
	for name, event := range map[string]string{
		"LF": "data: a\n\n", "CRLF": "data: a\r\n\r\n", "CR": "data: a\r\r",
	} {
		r, w := io.Pipe()
		go func() { _, _ = w.Write([]byte(event)) }() // and no more
		e, err := plainHTTP.Stream(PlainHTTP, r).Next()
		if err != nil || string(e.Raw) != event {
			t.Errorf("%s: %q, %v", name, e.Raw, err)
		}
		r.Close()
	}
}

func TestAReaderThatFailsEndsTheStream(t *testing.T) {
	want := errors.New("reset")
	s := compatible.Stream(ChatCompletions, io.MultiReader(strings.NewReader("data: {}\n\ndata: [DO"), iotest.ErrReader(want)))
	if e, err := s.Next(); err != nil || e.Kind != Chunk {
		t.Errorf("%v, %v", e.Kind, err)
	}
	for range 2 {
		if _, err := s.Next(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if _, err := compatible.Stream(ChatCompletions, lazy{}).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type lazy struct{}

func (lazy) Read([]byte) (int, error) { return 0, nil }

func TestUsageFitsTogether(t *testing.T) {
	for _, c := range []struct {
		api   API
		usage string
		want  money.Usage
	}{
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":6,"cache_write_tokens":2}}`, money.Usage{Input: 10, Cached: 6, Written: 2, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null}`, money.Usage{Input: 10, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":5,"completion_tokens":-3,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":2}}`, money.Usage{Input: 5, Cached: 5}},
		{ChatCompletions, `{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`, money.Usage{Input: maxTokens, Output: maxTokens}},
		{ChatCompletions, `{"prompt_tokens":1e40,"completion_tokens":3}`, money.Usage{Output: 3}},
		{ChatCompletions, `{"prompt_tokens":10,"prompt_cache_hit_tokens":4,"completion_tokens":3}`, money.Usage{Input: 10, Cached: 4, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":10,"cache_read_input_tokens":4,"completion_tokens":3}`, money.Usage{Input: 10, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":40,"completion_tokens_details":{"reasoning_tokens":27}}`, money.Usage{Input: 10, Output: 30}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"completion_tokens_details":{"reasoning_tokens":2}}`, money.Usage{Input: 10, Output: 3}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":9223372036854775807}`, money.Usage{Input: 10, Output: maxTokens - 10}},
		{ChatCompletions, `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":-9223372036854775808}`, money.Usage{Input: 10, Output: 3}},
		{Responses, `{"input_tokens":10,"output_tokens":3,"input_tokens_details":{"cached_tokens":6,"cache_write_tokens":2}}`, money.Usage{Input: 10, Cached: 6, Written: 2, Output: 3}},
		{Messages, `{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":6,"cache_creation_input_tokens":2}`, money.Usage{Input: 18, Cached: 6, Written: 2, Output: 3}},
		{Messages, `{"input_tokens":10,"output_tokens":3,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":0},"cache_creation_input_tokens":2,"server_tool_use":{"web_search_requests":1}}`, money.Usage{Input: 12, Written: 2, Output: 3}},
		{Messages, `{"iterations":[{"type":"compaction","input_tokens":100,"output_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":1},{"input_tokens":10,"output_tokens":3,"type":"message"}],"input_tokens":10,"output_tokens":3}`, money.Usage{Input: 118, Cached: 7, Written: 1, Output: 8}},
		{Messages, `{"input_tokens":-10,"output_tokens":3,"cache_read_input_tokens":9223372036854775807,"cache_creation_input_tokens":9223372036854775807}`, money.Usage{Input: maxTokens, Cached: maxTokens, Output: 3}},
	} {
		e, err := speaker[c.api].Stream(c.api, strings.NewReader(events(`{"usage":`+c.usage+`}`))).Next()
		if err != nil || !e.HasUsage {
			t.Errorf("%s: %v, %v", c.usage, e.HasUsage, err)
		}
		if diff := cmp.Diff(c.want, e.Usage); diff != "" {
			t.Errorf("%s:\n%s", c.usage, diff)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(byte(1), []byte("data: {\"choices\":[]}\n\n: c\r\n\r\ndata: [DONE]"))
	f.Add(byte(1), []byte("data: {\"error\":{\"code\":[]}}\n\n"))
	f.Add(byte(2), []byte("event: response.failed\ndata: {\"response\":{\"error\":{}}}\r\r\n"))
	f.Add(byte(4), []byte(everyEnd))
	f.Add(byte(5), []byte("\n\r\n\r"))
	f.Fuzz(func(t *testing.T, n byte, b []byte) {
		api := API(n % byte(apis))
		for _, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b))} {
			s := compatible.Stream(api, r)
			var raw []byte
			for {
				e, err := s.Next()
				if errors.Is(err, io.EOF) {
					if !bytes.Equal(raw, b) {
						t.Fatalf("%q of %q", raw, b)
					}
					break
				}
				if err != nil {
					break
				}
				raw = append(raw, e.Raw...)
			}
			if !bytes.HasPrefix(b, raw) {
				t.Fatalf("%q of %q", raw, b)
			}
			if len(s.buf) > 2*MaxEvent {
				t.Fatalf("%d bytes held", len(s.buf))
			}
		}
	})
}
