package fake

import "time"

var chat = format{
	whole: func(a *answer) any {
		said := text(0, a.output)
		return a.completion("chat.completion", []choice{{Message: &delta{Role: "assistant", Content: &said}, FinishReason: a.finish()}}, a.usage())
	},
	begin: func(a *answer) []event {
		return []event{a.chunk(choice{Delta: &delta{Role: "assistant", Content: new(string)}})}
	},
	piece: func(a *answer, text string) event { return a.chunk(choice{Delta: &delta{Content: &text}}) },
	end: func(a *answer) []event {
		all := []event{a.chunk(choice{Delta: &delta{}, FinishReason: a.finish()})}
		if a.request.StreamOptions.IncludeUsage && !a.endpoint.config.NoUsage {
			all = append(all, event{data: a.completion("chat.completion.chunk", []choice{}, a.usage())})
		}
		return append(all, event{data: "[DONE]"})
	},
}

// completion is a chat's answer, or a chunk of it.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        *delta  `json:"delta,omitempty"`
	Message      *delta  `json:"message,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
}

func (a *answer) usage() *usage {
	if a.endpoint.config.NoUsage {
		return nil
	}
	input := a.request.input()
	return &usage{PromptTokens: input, CompletionTokens: a.output, TotalTokens: input + a.output}
}

func (a *answer) finish() *string {
	reason := [...]string{stopped: "stop", limited: "length", filtered: "content_filter"}[a.ending]
	return &reason
}

func (a *answer) chunk(c choice) event {
	return event{data: a.completion("chat.completion.chunk", []choice{c}, nil)}
}

func (a *answer) completion(object string, choices []choice, u *usage) completion {
	return completion{
		ID: "chatcmpl-" + a.id, Object: object, Created: time.Now().Unix(), Model: a.request.Model, Choices: choices, Usage: u,
	}
}

// embeddings are of so many numbers; nothing is generated.
const dimensions = 8

var embeddings = format{
	whole: func(a *answer) any {
		input := a.request.input()
		data := make([]any, 0, a.request.Input.parts)
		for i := range max(a.request.Input.parts, 1) {
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": make([]float64, dimensions)})
		}
		return map[string]any{"object": "list", "model": a.request.Model, "data": data, "usage": usage{PromptTokens: input, TotalTokens: input}}
	},
}
