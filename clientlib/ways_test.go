package clientlib_test

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// way is an API as callers ask for it and endpoints answer it.
type way struct {
	dialect, api, path string
	headers            []string // beside the body
	asks               string   // a request's body, behind its model
	answer             string   // 100 tokens in and 400 out
	fault              string   // an error's body
	opens, ends        []any    // of a stream, around what is said; a failed one has fails instead of its end
	says, fails        string
}

const answerUsage = `"usage":{"prompt_tokens":100,"completion_tokens":400}`

// ways are all of them; the last two do not stream, or end in no mark.
var ways = []way{
	{
		dialect: "openai", api: "openai.chat", path: "/chat/completions",
		asks:   `"max_tokens":400,"messages":[{"role":"user","content":"hi"}]`,
		answer: `{"choices":[{"index":0,"message":{"content":"one"},"finish_reason":"stop"}],` + answerUsage + `}`,
		fault:  `{"error":{"message":"x","type":"server_error","code":"server_error"}}`,
		opens:  []any{`data: {"id":"x","choices":[]}` + "\n\n", roleEvent}, says: oneEvent,
		ends:  []any{stopEvent, `data: {"choices":[],` + answerUsage + "}\n\n", doneEvent},
		fails: `data: {"error":{"message":"x","code":"server_error"}}` + "\n\n",
	},
	{
		dialect: "openai", api: "openai.responses", path: "/responses",
		asks:   `"max_output_tokens":400,"input":"hi"`,
		answer: `{"id":"r","status":"completed","output":[{"type":"message"}],"usage":{"input_tokens":100,"output_tokens":400}}`,
		fault:  `{"id":"r","status":"failed","output":[],"error":{"code":"server_error","message":"x"}}`,
		opens:  []any{responseStart}, says: responseText, fails: responseFails,
		ends: []any{`data: {"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":100,"output_tokens":400}}}` + "\n\n"},
	},
	{
		dialect: "anthropic", api: "anthropic.messages", path: "/messages",
		asks:   `"max_tokens":400,"messages":[{"role":"user","content":"hi"}]`,
		answer: `{"content":[{"type":"text","text":"one"}],"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":400}}`,
		fault:  `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		opens:  []any{strings.Replace(messageStart, `"input_tokens":25`, `"input_tokens":100`, 1), messagePing, messageBlock}, says: messageText, fails: messageError,
		ends: []any{strings.Replace(messageDelta, "15", "400", 1), messageStop},
	},
	{
		dialect: "openai", api: "openai.embeddings", path: "/embeddings",
		asks:   `"input":"hi"`,
		answer: `{"data":[{"index":0,"embedding":[0.1]}],"usage":{"prompt_tokens":500}}`,
		fault:  `{"error":{"message":"x","code":"server_error"}}`,
	},
	{dialect: "http", api: dialect.PlainHTTP.String(), path: "/x", headers: []string{"X-Pointsman-Workload", "chat", "Idempotency-Key", "1"}, answer: "made", says: "data: 1\n\n"},
}

// streaming are those whose streams end in a mark.
func streaming() []way { return ways[:3] }

// body is a request for the workload, streamed or not.
func (w *way) body(stream bool) string {
	return strings.TrimSuffix(fmt.Sprintf(`{"model":"chat","stream":%v,%s`, stream, w.asks), ",") + "}"
}

// good is a whole answer, and a stream of so many pieces.
func (w *way) good(stream bool) play {
	if !stream {
		return says(200, w.answer)
	}
	return streams(w.events(1)...)
}

func (w *way) events(n int) []any { return parts(w.opens, times(n, w.says), w.ends) }

// told is a stream as its caller gets it that did not ask for usage, or the whole answer.
func (w *way) told(stream bool) string {
	if !stream {
		return w.answer
	}
	return joined(w.events(1))
}

// joined are a stream's texts, but for usage that nobody asked for.
func joined(events []any) string {
	var all strings.Builder
	for _, e := range events {
		if text, _ := e.(string); !strings.Contains(text, `"choices":[],"usage"`) {
			all.WriteString(text)
		}
	}
	return all.String()
}

// failure is what comes of an attempt, and how.
type failure struct {
	kind string
	how  play
}

// failures are those that come before content: by a status, in the answer, or by no word.
func (w *way) failures(stream bool) []failure {
	all := []failure{
		{"faulted", says(500, `{}`)}, {"limited", says(429, `{}`)}, {"unauthorized", says(401, `{}`)}, {"faulted", lost}, {"timed_out", silent},
		{"faulted", answering(200, "application/json", nil, []any{`{"id":`, errReset})},
	}
	if w.fault != "" {
		all = append(all, failure{"missing", says(404, "no page")}, failure{"faulted", says(200, w.fault)})
	}
	if !stream {
		return all
	}
	all = append(all, failure{"faulted", streams(parts(w.opens, errReset)...)}, failure{"timed_out", streams(parts(w.opens, forever)...)})
	if w.fails != "" {
		all = append(all, failure{"faulted", streams(w.fails)}, failure{"faulted", streams(parts(w.opens, w.fails)...)},
			failure{"faulted", streams(w.opens...)}, failure{"faulted", streams(parts(w.opens, times(17, badEvent), w.events(1))...)})
	}
	return all
}
