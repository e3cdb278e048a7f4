package sdk

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
)

// hello is a chat of one question.
func hello() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "chat", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("When does the ferry leave?")},
	}
}

// helloMessage is the same question in Anthropic's words.
func helloMessage() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "chat", MaxTokens: 1024,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("When does the ferry leave?"))},
	}
}

// chatOf is a chat's answer, streamed or not; of a stream that broke what came until then.
func chatOf(ctx context.Context, api openai.Client, p openai.ChatCompletionNewParams, streamed bool) (openai.ChatCompletion, error) {
	if !streamed {
		got, err := api.Chat.Completions.New(ctx, p)
		if err != nil {
			return openai.ChatCompletion{}, err
		}
		return *got, nil
	}
	stream := api.Chat.Completions.NewStreaming(ctx, p)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	return all.ChatCompletion, stream.Err()
}

// chat asks the question and gives the answer's text.
func (r *rig) chat(streamed bool) (string, error) {
	got, err := chatOf(r.t.Context(), r.openAI(), hello(), streamed)
	if len(got.Choices) == 0 {
		return "", err
	}
	return got.Choices[0].Message.Content, err
}

// messageOf is a message, streamed or not; of a stream that broke what came until then.
func messageOf(ctx context.Context, api anthropic.Client, p anthropic.MessageNewParams, streamed bool) (anthropic.Message, error) {
	if !streamed {
		got, err := api.Messages.New(ctx, p)
		if err != nil {
			return anthropic.Message{}, err
		}
		return *got, nil
	}
	stream := api.Messages.NewStreaming(ctx, p)
	defer stream.Close()
	var all anthropic.Message
	for stream.Next() {
		if err := all.Accumulate(stream.Current()); err != nil {
			return all, err
		}
	}
	return all, stream.Err()
}

// message asks the question and gives the answer's text.
func (r *rig) message(streamed bool) (string, error) {
	got, err := messageOf(r.t.Context(), r.anthropic(), helloMessage(), streamed)
	if len(got.Content) == 0 {
		return "", err
	}
	return got.Content[0].Text, err
}

// both has a test run for whole answers and for streamed ones.
func both(f func(streamed bool)) {
	f(false)
	f(true)
}
