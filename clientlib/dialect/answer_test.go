package dialect

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

func TestWholeAnswers(t *testing.T) {
	served := func(input, output int64) route.Outcome {
		return route.Outcome{Kind: route.Served, Status: 200, HasUsage: true, Usage: money.Usage{Input: input, Output: output}}
	}
	plain := route.Outcome{Kind: route.Served, Status: 200}
	filtered := route.Outcome{Kind: route.Filtered, Status: 200, Detail: "content_filter"}
	truncated := route.Outcome{Kind: route.Served, Status: 200, Detail: "truncated"}
	full := route.Outcome{Kind: route.TooLong, Status: 200, Detail: "context_window"}
	faulted := func(status int, detail string) route.Outcome {
		return route.Outcome{Kind: route.Faulted, Status: status, Detail: detail}
	}
	type answerCase struct {
		rule, body string
		want       Judged
	}
	for api, cases := range map[API][]answerCase{
		ChatCompletions: {
			{"a good one", `{"id":"c-1","object":"chat.completion","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":41,"completion_tokens":9}}`, Judged{Outcome: served(41, 9), ID: "c-1", Finish: Stopped}},
			{"a call", `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"id":"t"}]}}]}`, Judged{Outcome: plain, Finish: CalledTool}},
			{"too many tokens", `{"choices":[{"finish_reason":"length"}]}`, Judged{Outcome: truncated, Finish: Truncated}},
			{"a filter's end is no success", `{"choices":[{"finish_reason":"content_filter"}]}`, Judged{Outcome: filtered, Finish: Blocked}},
			{"an error in a 200 is an error", `{"error":{"message":"x","type":"server_error"}}`, Judged{Outcome: faulted(502, "502 server_error")}},
			{"with the status that its code says", `{"id":"c-1","error":{"message":"x","code":429}}`, Judged{Outcome: route.Outcome{Kind: route.Limited, Status: 429, Detail: "429"}, ID: "c-1"}},
			{"and its flat shape too", `{"object":"error","message":"x","type":"InternalServerError","code":500}`, Judged{Outcome: faulted(500, "500 InternalServerError")}},
			{"no error is none", `{"error":null,"choices":[]}`, Judged{Outcome: plain}},
			{"nor does it hide one", `{"choices":[{"finish_reason":"error"}],"error":null}`, Judged{Outcome: faulted(502, "502 server_error")}},
			{"half an answer is none", `{"choices":[{"mess`, Judged{Outcome: faulted(200, "not a JSON object")}},
			{"a list is none", `[]`, Judged{Outcome: faulted(200, "not a JSON object")}},
			{"nothing is none", ``, Judged{Outcome: faulted(200, "not a JSON object")}},
			{"two are none", `{"choices":[]}{}`, Judged{Outcome: faulted(200, "not a JSON object")}},
			{"blank lines before it are none of it", "\n\n{\"choices\":[]}\n", Judged{Outcome: plain}},
			{"an answer without choices is none", `{"object":"chat.completion"}`, Judged{Outcome: faulted(200, "no choices")}},
			{"nor with null", `{"choices":null}`, Judged{Outcome: faulted(200, "no choices")}},
			{"a member of an odd type is only left out", `{"choices":[{"finish_reason":"stop"}],"usage":"none"}`, Judged{Outcome: plain, Finish: Stopped}},
			{"an id is one word", `{"id":"a b","choices":[]}`, Judged{Outcome: plain}},
		},
		Responses: {
			{"a good one", `{"id":"r-1","object":"response","status":"completed","error":null,"output":[{"type":"message","id":"i"}],"usage":{"input_tokens":41,"output_tokens":9}}`, Judged{Outcome: served(41, 9), ID: "r-1", Finish: Stopped}},
			{"a call", `{"output":[{"type":"reasoning"},{"type":"function_call"}],"status":"completed"}`, Judged{Outcome: plain, Finish: CalledTool}},
			{"the provider's own tool", `{"output":[{"type":"web_search_call"},{"type":"message"}],"status":"completed"}`, Judged{Outcome: plain, Finish: Stopped}},
			{"too many tokens", `{"output":[],"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`, Judged{Outcome: truncated, Finish: Truncated}},
			{"a filter", `{"output":[],"incomplete_details":{"reason":"content_filter"},"status":"incomplete"}`, Judged{Outcome: filtered, Finish: Blocked}},
			{"one that goes on behind", `{"id":"r-1","output":[],"status":"queued"}`, Judged{Outcome: plain, ID: "r-1"}},
			{"one that failed", `{"output":[],"status":"failed","error":{"code":"rate_limit_exceeded","message":"x"}}`, Judged{Outcome: route.Outcome{Kind: route.Limited, Status: 429, Detail: "429 rate_limit_exceeded"}}},
			{"without a reason", `{"output":[],"status":"failed"}`, Judged{Outcome: faulted(502, "502")}},
			{"output of an odd type is none", `{"output":{},"incomplete_details":[],"response":7,"item":[],"status":{}}`, Judged{Outcome: faulted(200, "no output")}},
			{"no output", `{"status":"completed"}`, Judged{Outcome: faulted(200, "no output")}},
		},
		Embeddings: {
			{"a good one", `{"object":"list","data":[{"object":"embedding","embedding":[-0.5,1e-3]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`, Judged{Outcome: served(5, 0), Finish: Stopped}},
			{"no data", `{"object":"list","data":[]}`, Judged{Outcome: faulted(200, "no data")}},
			{"an error", `{"object":"error","message":"x","code":500}`, Judged{Outcome: faulted(500, "500")}},
		},
		Messages: {
			{"a good one", `{"id":"m-1","type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_read_input_tokens":0,"output_tokens":9}}`, Judged{Outcome: served(1, 9), ID: "m-1", Finish: Stopped}},
			{"a call", `{"content":[{"type":"tool_use","id":"t","input":{"type":"x"}}],"stop_reason":"tool_use"}`, Judged{Outcome: plain, Finish: CalledTool}},
			{"too many tokens", `{"content":[],"stop_reason":"max_tokens"}`, Judged{Outcome: truncated, Finish: Truncated}},
			{"a refusal", `{"content":[],"stop_reason":"refusal"}`, Judged{Outcome: filtered, Finish: Blocked}},
			{"a full window", `{"content":[],"stop_reason":"model_context_window_exceeded"}`, Judged{Outcome: full, Finish: Overflowed}},
			{"an error", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, Judged{Outcome: faulted(529, "529 overloaded_error")}},
			{"content of an odd type is none", `{"content":"a","message":[],"delta":7,"stop_reason":{}}`, Judged{Outcome: faulted(200, "no content")}},
			{"no content", `{"type":"message"}`, Judged{Outcome: faulted(200, "no content")}},
		},
		PlainHTTP: {{"anything", `{"error":`, Judged{Outcome: plain, Finish: Stopped}}},
	} {
		d := speaker[api]
		if d == nil {
			d = &openai
		}
		for _, c := range cases {
			got := d.Answer(api, 200, http.Header{}, []byte(c.body), wireClock)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v: %s:\n%s", api, c.rule, diff)
			}
		}
	}
}

func TestAnAnswerKeepsItsStatus(t *testing.T) {
	for status, want := range map[int]route.Outcome{
		201: {Kind: route.Served, Status: 201},
		307: {Kind: route.Faulted, Status: 307, Detail: "307"},
		500: {Kind: route.Faulted, Status: 500, Detail: "500"},
	} {
		got := openai.Answer(ChatCompletions, status, http.Header{}, []byte(`{"choices":[]}`), wireClock)
		if diff := cmp.Diff(want, got.Outcome); diff != "" {
			t.Errorf("%d:\n%s", status, diff)
		}
	}
}
