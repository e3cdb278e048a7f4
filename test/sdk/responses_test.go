package sdk

import (
	"context"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func helloResponse() responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: "chat", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("When does the ferry leave?")}}
}

// responseOf is what the stream of a response says, and its last event.
func responseOf(ctx context.Context, api openai.Client, p responses.ResponseNewParams) (said string, last responses.ResponseStreamEventUnion, err error) {
	stream := api.Responses.NewStreaming(ctx, p)
	defer stream.Close()
	for stream.Next() {
		last = stream.Current()
		said += last.Delta
	}
	return said, last, stream.Err()
}

// response asks the question and gives the text of a stream.
func (r *rig) response(bool) (string, error) {
	said, _, err := responseOf(r.t.Context(), r.openAI(), helloResponse())
	return said, err
}

func TestAResponseIsAnswered(t *testing.T) {
	r := setUp(t, openAI)
	r.a.then(whole(respWhole))
	api := r.openAI()
	got, err := api.Responses.New(t.Context(), helloResponse())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text", got.OutputText(), text)
	same(t, "usage", []int64{got.Usage.InputTokens, got.Usage.OutputTokens}, []int64{41, 9})
	q := r.a.seen()[0]
	same(t, "path and model", []any{q.Path, q.Body["model"]}, []any{"/v1/responses", "model-at-a"})
	r.decided("a served")
}

func TestAResponseIsStreamed(t *testing.T) {
	r := setUp(t, openAI)
	r.a.then(events(respStream))
	said, last, err := responseOf(t.Context(), r.openAI(), helloResponse())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text and its whole", []string{said, last.Type, last.Response.OutputText()}, []string{text, "response.completed", text})
	usage := r.client.Attempts()[0].Outcome.Usage
	same(t, "usage", []int64{usage.Cached, usage.Output}, []int64{32, 9})
	r.decided("a served")
}

func TestAResponseCallsAToolAndTakesItsResult(t *testing.T) {
	r := setUp(t, openAI)
	r.a.then(events(respToolStream), whole(respWhole))
	api, params := r.openAI(), helloResponse()
	params.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("departures", schema, true)}
	said, last, err := responseOf(t.Context(), api, params)
	if err != nil || len(last.Response.Output) != 1 {
		t.Fatal(last, err)
	}
	call := last.Response.Output[0].AsFunctionCall()
	same(t, "the call", []string{said, call.CallID, call.Name, call.Arguments}, []string{`{"pier":4}`, "call_1", "departures", `{"pier":4}`})
	result := responses.ResponseInputItemParamOfFunctionCallOutput("at nine")
	result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
		responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name), result,
	}}
	got, err := api.Responses.New(t.Context(), params)
	if err != nil || got.OutputText() != text {
		t.Fatal(got, err)
	}
	r.decided("a served", "a served")
}
