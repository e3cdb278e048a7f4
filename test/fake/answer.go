package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tokens nearer to each other than chunkEvery, at the endpoint's speed, share a chunk: a chunk
// costs a write, a read and two wake-ups, whatever is in it.
const (
	chunkEvery = 20 * time.Millisecond
	chunkMax   = 50 // tokens
)

// An answer's text is this, again and again: a word a token.
var words = strings.Fields("the ferry leaves at nine from pier four and comes back before dark")

// answer is one request being answered.
type answer struct {
	endpoint *Endpoint
	request  *chatRequest
	output   int64 // tokens to generate
	limited  bool  // by the caller's limit
	fault    Fault
}

// write waits as long as a model would, and sends the answer whole or as a stream.
func (a *answer) write(ctx context.Context, w http.ResponseWriter) error {
	c := &a.endpoint.config
	ttft := a.endpoint.paced(c.TTFT.Base + time.Duration(a.request.input())*c.TTFT.PerInputToken)
	if err := pause(ctx, a.fault.late(ttft)); err != nil {
		return err
	}
	if a.request.Stream {
		return a.stream(ctx, w)
	}
	return a.whole(ctx, w)
}

func (a *answer) whole(ctx context.Context, w http.ResponseWriter) error {
	if err := pause(ctx, a.endpoint.paced(time.Duration(a.output-1)*a.endpoint.config.TPOT)); err != nil {
		return err
	}
	body, err := json.Marshal(a.envelope("chat.completion", []choice{{
		Message: &delta{Role: "assistant", Content: text(0, a.output)}, FinishReason: a.finish(),
	}}, a.usage()))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if a.fault.Kind == Cut {
		_, err = w.Write(body[:len(body)/2])
		return errors.Join(errCut, err, http.NewResponseController(w).Flush())
	}
	_, err = w.Write(body)
	return err
}

func (a *answer) stream(ctx context.Context, w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s := &sse{w: w, flush: http.NewResponseController(w).Flush}
	s.send(a.chunk(choice{Delta: &delta{Role: "assistant", Content: new(string)}}))
	if err := a.tokens(ctx, s); err != nil {
		return err
	}
	s.send(a.chunk(choice{Delta: &delta{}, FinishReason: a.finish()}))
	if a.request.StreamOptions.IncludeUsage {
		s.send(a.envelope("chat.completion.chunk", []choice{}, a.usage()))
	}
	s.line("[DONE]")
	return s.err
}

// tokens sends the text at the endpoint's pace: the first token alone, then some a chunk.
func (a *answer) tokens(ctx context.Context, s *sse) error {
	end := a.output
	if a.fault.Kind == Cut {
		end = min(end, int64(orDefault(a.fault.Tokens, defaultTokens)))
	}
	tpot := a.endpoint.config.TPOT
	step := a.endpoint.config.share()
	for from, to := int64(0), min(1, end); from < end && s.err == nil; from, to = to, min(to+step, end) {
		if from > 0 {
			if err := pause(ctx, a.endpoint.paced(time.Duration(to-from)*tpot)); err != nil {
				return err
			}
		}
		s.send(a.chunk(choice{Delta: &delta{Content: text(from, to)}}))
	}
	if s.err == nil && a.fault.Kind == Cut {
		return errCut
	}
	return s.err
}

// share is how many tokens share a chunk.
func (c *Config) share() int64 {
	apart := time.Duration(float64(c.TPOT) / c.Speed)
	return max(1, int64(chunkEvery/max(apart, chunkEvery/chunkMax)))
}

func (a *answer) finish() *string {
	reason := "stop"
	if a.limited {
		reason = "length"
	}
	return &reason
}

func text(from, to int64) *string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i%int64(len(words))])
	}
	text := b.String()
	return &text
}

// completion is the answer, or a chunk of it.
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
	input := a.request.input()
	return &usage{PromptTokens: input, CompletionTokens: a.output, TotalTokens: input + a.output}
}

func (a *answer) chunk(c choice) completion {
	return a.envelope("chat.completion.chunk", []choice{c}, nil)
}

func (a *answer) envelope(object string, choices []choice, u *usage) completion {
	return completion{
		ID: fmt.Sprintf("chatcmpl-%s", a.endpoint.config.Name), Object: object, Created: time.Now().Unix(),
		Model: a.request.Model, Choices: choices, Usage: u,
	}
}

// sse writes events until the first error, which it keeps.
type sse struct {
	w     http.ResponseWriter
	flush func() error
	err   error
}

func (s *sse) send(c completion) {
	data, err := json.Marshal(c)
	if s.err == nil {
		s.err = err
	}
	s.line(string(data))
}

func (s *sse) line(data string) {
	if s.err != nil {
		return
	}
	if _, s.err = fmt.Fprintf(s.w, "data: %s\n\n", data); s.err == nil {
		s.err = s.flush()
	}
}

// problem is an error answer in OpenAI's shape.
type problem struct {
	status              int
	kind, code, message string
}

func (p problem) write(w http.ResponseWriter) {
	var code any
	if p.code != "" {
		code = p.code
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": p.message, "type": p.kind, "param": nil, "code": code,
	}})
}

// refusal is what a real endpoint would answer to the first violation it can see; a header is none of them.
func refusal(violations []Violation) problem {
	for _, v := range violations {
		switch v.Reason {
		case "key":
			return problem{http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."}
		case "model":
			return problem{http.StatusNotFound, "invalid_request_error", "model_not_found", "The model does not exist: " + v.Detail}
		case "context_window":
			return problem{http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is exceeded: " + v.Detail}
		case "capability", "max_output":
			return problem{http.StatusBadRequest, "invalid_request_error", "unsupported_parameter", v.Detail}
		}
	}
	return problem{}
}
