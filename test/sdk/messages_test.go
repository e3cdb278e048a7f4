package sdk

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
)

func TestAMessageIsAnswered(t *testing.T) {
	r := setUp(t, claude)
	r.a.then(whole(messageWhole))
	got, err := messageOf(t.Context(), r.anthropic(), helloMessage(), false)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text", got.Content[0].Text, text)
	same(t, "usage", []int64{got.Usage.InputTokens, got.Usage.CacheReadInputTokens, got.Usage.OutputTokens}, []int64{38, 1024, 11})
	q := r.a.seen()[0]
	same(t, "path, model, key and version", []any{q.Path, q.Body["model"], q.Header.Get("X-Api-Key"), q.Header.Get("Anthropic-Version")},
		[]any{"/v1/messages", "model-at-a", "secret-a", "2023-06-01"})
	r.decided("a served")
}

func TestAMessageIsStreamed(t *testing.T) {
	r := setUp(t, claude)
	r.a.then(events(messageStream))
	got, err := messageOf(t.Context(), r.anthropic(), helloMessage(), true)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text and end", []string{got.Content[0].Text, string(got.StopReason)}, []string{text, "end_turn"})
	usage := r.client.Attempts()[0].Outcome.Usage
	same(t, "usage", []int64{usage.Cached, usage.Output}, []int64{1024, 11})
	r.decided("a served")
}

func TestAMessageCallsAToolAndTakesItsResult(t *testing.T) {
	both(func(streamed bool) {
		r := setUp(t, claude)
		if streamed {
			r.a.then(events(messageToolStream), events(messageStream))
		} else {
			r.a.then(whole(messageTool), whole(messageWhole))
		}
		params := helloMessage()
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "departures", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"], Required: []string{"pier"}},
		}}}
		asked, err := messageOf(t.Context(), r.anthropic(), params, streamed)
		if err != nil || len(asked.Content) != 1 {
			t.Fatal(asked, err)
		}
		call := asked.Content[0].AsToolUse()
		var input struct{ Pier int }
		if err := json.Unmarshal(call.Input, &input); err != nil || input.Pier != 4 || call.Name != "departures" {
			t.Fatal(call.Name, string(call.Input), err)
		}
		params.Messages = append(params.Messages, asked.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, "at nine", false)))
		got, err := messageOf(t.Context(), r.anthropic(), params, streamed)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the answer", got.Content[0].Text, text)
		result := r.a.seen()[1].Body["messages"].([]any)[2].(map[string]any)["content"].([]any)[0].(map[string]any)
		same(t, "the result that was sent", []any{result["type"], result["tool_use_id"]}, []any{"tool_result", "toolu_1"})
		r.decided("a served", "a served")
	})
}

func TestAMessageKeepsToItsSchema(t *testing.T) {
	r := setUp(t, claude)
	r.a.then(whole(messageJSON))
	params := helloMessage()
	params.OutputConfig.Format.Schema = schema
	got, err := messageOf(t.Context(), r.anthropic(), params, false)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "answer", got.Content[0].Text, `{"hour":9,"pier":4}`)
	format := r.a.seen()[0].Body["output_config"].(map[string]any)["format"].(map[string]any)
	same(t, "format", format["type"], any("json_schema"))
}
