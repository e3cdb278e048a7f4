package sdk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// schema is what a tool takes, and what a structured answer has.
var schema = map[string]any{
	"type": "object", "additionalProperties": false,
	"properties": map[string]any{"pier": map[string]any{"type": "integer"}}, "required": []string{"pier"},
}

func withTool(p openai.ChatCompletionNewParams) openai.ChatCompletionNewParams {
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "departures", Parameters: schema})}
	return p
}

func TestAChatIsAnswered(t *testing.T) {
	r := setUp(t, openAI)
	r.a.then(whole(chatWhole))
	got, err := chatOf(t.Context(), r.openAI(), hello(), false)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text", got.Choices[0].Message.Content, text)
	same(t, "usage", []int64{got.Usage.PromptTokens, got.Usage.CompletionTokens, got.Usage.PromptTokensDetails.CachedTokens}, []int64{41, 9, 32})
	r.decided("a served")
	q := r.a.seen()[0]
	same(t, "path, model and key", []any{q.Path, q.Body["model"], q.Header.Get("Authorization")}, []any{"/v1/chat/completions", "model-at-a", "Bearer secret-a"})
	for name, values := range q.Header {
		if strings.HasPrefix(name, "X-Stainless") || strings.Contains(strings.Join(values, " "), "callers-own") {
			t.Errorf("the SDK's own header %s: %q was sent on", name, values)
		}
	}
}

func TestAChatIsStreamed(t *testing.T) {
	for _, asked := range []bool{false, true} {
		r := setUp(t, openAI)
		r.a.then(events(chatStream))
		params := hello()
		if asked {
			params.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		got, err := chatOf(t.Context(), r.openAI(), params, true)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "text and finish", []string{got.Choices[0].Message.Content, got.Choices[0].FinishReason}, []string{text, "stop"})
		if shown := got.Usage.PromptTokens == 41; shown != asked {
			t.Errorf("asked for usage %v: %+v", asked, got.Usage)
		}
		usage := r.client.Attempts()[0].Outcome.Usage
		same(t, "usage that is paid for", []int64{usage.Input, usage.Output}, []int64{41, 9})
		r.decided("a served")
	}
}

// The model asks for a tool, the application runs it, the model answers with its result.
func TestAToolIsCalledAndItsResultTakenBack(t *testing.T) {
	both(func(streamed bool) {
		r := setUp(t, openAI)
		if streamed {
			r.a.then(events(chatToolStream), events(chatStream))
		} else {
			r.a.then(whole(chatTool), whole(chatWhole))
		}
		params := withTool(hello())
		asked, err := chatOf(t.Context(), r.openAI(), params, streamed)
		if err != nil || len(asked.Choices) != 1 || len(asked.Choices[0].Message.ToolCalls) != 1 {
			t.Fatal(asked, err)
		}
		call := asked.Choices[0].Message.ToolCalls[0]
		same(t, "the call", []string{call.ID, call.Function.Name, call.Function.Arguments}, []string{"call_1", "departures", `{"pier":4}`})
		params.Messages = append(params.Messages, asked.Choices[0].Message.ToParam(), openai.ToolMessage("at nine", call.ID))
		got, err := chatOf(t.Context(), r.openAI(), params, streamed)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the answer", got.Choices[0].Message.Content, text)
		result := r.a.seen()[1].Body["messages"].([]any)[2]
		same(t, "the result that was sent", result, any(map[string]any{"role": "tool", "content": "at nine", "tool_call_id": "call_1"}))
		r.decided("a served", "a served")
	})
}

func TestAnAnswerKeepsToItsSchema(t *testing.T) {
	r := setUp(t, openAI)
	r.a.then(whole(chatJSON))
	params := hello()
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "departure", Schema: schema, Strict: openai.Bool(true)},
	}
	got, err := chatOf(t.Context(), r.openAI(), params, false)
	if err != nil {
		t.Fatal(err)
	}
	var departure struct{ Hour, Pier int }
	if err := json.Unmarshal([]byte(got.Choices[0].Message.Content), &departure); err != nil || departure.Hour != 9 {
		t.Error(got.Choices[0].Message.Content, err)
	}
	format := r.a.seen()[0].Body["response_format"].(map[string]any)
	same(t, "format", []any{format["type"], format["json_schema"].(map[string]any)["name"]}, []any{"json_schema", "departure"})
}

func TestTextsAreEmbedded(t *testing.T) {
	r := setUp(t, openAI)
	r.a.then(refuse(503, openAIBroken))
	r.b.then(whole(embeddings))
	api := r.openAI()
	got, err := api.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "chat", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"ferry", "pier"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "vectors", [][]float64{got.Data[0].Embedding, got.Data[1].Embedding}, [][]float64{{0.25, -0.5, 1}, {0, 0.125, 0}})
	same(t, "path", r.b.seen()[0].Path, "/v1/embeddings")
	same(t, "input", r.client.Attempts()[1].Outcome.Usage.Input, int64(12))
	r.decided("a faulted", "b served")
}
