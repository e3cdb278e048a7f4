package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	bytesPerToken      = 4
	defaultOutputCount = 64 // tokens, when the caller says nothing
	bodyMax            = 8 << 20
)

// chatRequest is what the endpoint reads of a chat completion request.
type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []message         `json:"messages"`
	Stream              bool              `json:"stream"`
	StreamOptions       streamOptions     `json:"stream_options"`
	MaxTokens           int64             `json:"max_tokens"`
	MaxCompletionTokens int64             `json:"max_completion_tokens"`
	Tools               []json.RawMessage `json:"tools"`
	ResponseFormat      responseFormat    `json:"response_format"`
	Metadata            map[string]string `json:"metadata"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type string `json:"type"`
}

type message struct {
	Content content `json:"content"`
}

// content is a string or a list of parts.
type content struct {
	bytes int
	image bool
}

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		c.bytes = len(text)
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	for _, p := range parts {
		c.bytes += len(p.Text)
		c.image = c.image || p.Type == "image_url"
	}
	return nil
}

// input estimates the prompt's tokens.
func (q *chatRequest) input() int64 {
	var bytes int
	for _, m := range q.Messages {
		bytes += m.Content.bytes
	}
	return int64(bytes+bytesPerToken-1) / bytesPerToken
}

// limit is the most tokens the caller lets it generate; 0: it did not say.
func (q *chatRequest) limit() int64 { return max(q.MaxCompletionTokens, q.MaxTokens) }

// output is how many tokens are generated, and whether the caller's limit ended them: as many as metadata's
// output_tokens says, else as the limit allows.
func (q *chatRequest) output() (tokens int64, cut bool) {
	limit := q.limit()
	tokens, err := strconv.ParseInt(q.Metadata["output_tokens"], 10, 64)
	switch {
	case err == nil && tokens > 0 && (limit == 0 || tokens <= limit):
		return tokens, false
	case err == nil && tokens > 0:
		return limit, true
	case limit > 0:
		return limit, true
	}
	return defaultOutputCount, false
}

func (q *chatRequest) needs() []string {
	var needs []string
	if q.Stream {
		needs = append(needs, "stream")
	}
	if len(q.Tools) > 0 {
		needs = append(needs, "tools")
	}
	if slices.ContainsFunc(q.Messages, func(m message) bool { return m.Content.image }) {
		needs = append(needs, "vision")
	}
	if q.ResponseFormat.Type == "json_schema" {
		needs = append(needs, "json_schema")
	}
	return needs
}

// violationsOf are all reasons why this request should not have come here.
func (e *Endpoint) violationsOf(header http.Header, q *chatRequest) []Violation {
	var found []Violation
	add := func(reason, format string, args ...any) {
		found = append(found, Violation{Reason: reason, Detail: fmt.Sprintf(format, args...)})
	}
	c := &e.config
	if c.Key != "" && header.Get("Authorization") != "Bearer "+c.Key {
		add("key", "not the key of %s", c.Name)
	}
	for name := range header {
		if strings.HasPrefix(name, "X-Pointsman-") || strings.Contains(strings.ToLower(name), "tenant") {
			add("header", "%s must not leave the caller", name)
		}
	}
	if len(c.Models) > 0 && !slices.Contains(c.Models, q.Model) {
		add("model", "%q is not among %q", q.Model, c.Models)
	}
	for _, need := range q.needs() {
		if c.Capabilities != nil && !slices.Contains(c.Capabilities, need) {
			add("capability", "%s is not among %q", need, c.Capabilities)
		}
	}
	if input := q.input(); input+q.limit() > c.ContextWindow {
		add("context_window", "%d input and %d output tokens are above %d", input, q.limit(), c.ContextWindow)
	}
	if q.limit() > c.MaxOutput {
		add("max_output", "%d output tokens are above %d", q.limit(), c.MaxOutput)
	}
	return found
}
