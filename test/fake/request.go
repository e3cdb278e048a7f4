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

// request is what the endpoint reads of one, by whichever API it came.
type request struct {
	Model               string            `json:"model"`
	Messages            content           `json:"messages"`
	System              content           `json:"system"`
	Instructions        content           `json:"instructions"`
	Input               content           `json:"input"`
	Stream              bool              `json:"stream"`
	StreamOptions       streamOptions     `json:"stream_options"`
	MaxTokens           int64             `json:"max_tokens"`
	MaxCompletionTokens int64             `json:"max_completion_tokens"`
	MaxOutputTokens     int64             `json:"max_output_tokens"`
	Tools               []json.RawMessage `json:"tools"`
	ResponseFormat      typeOnly          `json:"response_format"`
	Text                struct {
		Format typeOnly `json:"format"`
	} `json:"text"`
	Metadata map[string]any `json:"metadata"`

	body []byte
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type typeOnly struct {
	Type string `json:"type"`
}

// content is what a prompt, or a part of it, says: a text, a message, a token, or a list of them.
type content struct {
	bytes int
	image bool
	parts int // of a list
}

func (c *content) UnmarshalJSON(data []byte) error {
	var said string
	var token int64
	var list []content
	var part struct {
		Type          string
		Text, Content content
	}
	switch {
	case json.Unmarshal(data, &said) == nil:
		c.bytes = len(said)
	case json.Unmarshal(data, &token) == nil:
		c.bytes = bytesPerToken
	case json.Unmarshal(data, &list) == nil:
		c.parts = len(list)
		c.add(list...)
	case json.Unmarshal(data, &part) == nil:
		c.image = strings.Contains(part.Type, "image")
		c.add(part.Text, part.Content)
	default:
		return fmt.Errorf("content: %.40q", data)
	}
	return nil
}

func (c *content) add(parts ...content) {
	for _, p := range parts {
		c.bytes += p.bytes
		c.image = c.image || p.image
	}
}

// prompt is all of it.
func (q *request) prompt() (all content) {
	all.add(q.Messages, q.System, q.Instructions, q.Input)
	return all
}

// input estimates the prompt's tokens.
func (q *request) input() int64 {
	return int64(q.prompt().bytes+bytesPerToken-1) / bytesPerToken
}

// limit is the most tokens the caller lets it generate; 0: it did not say.
func (q *request) limit() int64 { return max(q.MaxCompletionTokens, q.MaxTokens, q.MaxOutputTokens) }

// output is how many tokens are generated, and why no more: as many as metadata's output_tokens says, else as the
// limit allows.
func (q *request) output() (int64, ending) {
	limit := q.limit()
	tokens, err := strconv.ParseInt(fmt.Sprint(q.Metadata["output_tokens"]), 10, 64)
	switch {
	case err == nil && tokens > 0 && (limit == 0 || tokens <= limit):
		return tokens, stopped
	case limit > 0:
		return limit, limited
	case err == nil && tokens > 0:
		return tokens, stopped
	}
	return defaultOutputCount, stopped
}

func (q *request) needs() []string {
	var needs []string
	if q.Stream {
		needs = append(needs, "stream")
	}
	if len(q.Tools) > 0 {
		needs = append(needs, "tools")
	}
	if q.prompt().image {
		needs = append(needs, "vision")
	}
	if q.ResponseFormat.Type == "json_schema" || q.Text.Format.Type == "json_schema" {
		needs = append(needs, "json_schema")
	}
	return needs
}

// violationsOf are all reasons why this request should not have come here.
func (x *exchange) violationsOf() []Violation {
	var found []Violation
	add := func(reason, format string, args ...any) {
		found = append(found, Violation{Reason: reason, Detail: fmt.Sprintf(format, args...)})
	}
	c, q := &x.endpoint.config, x.request
	if c.Key != "" && x.way.customs.key(x.http.Header) != c.Key {
		add("key", "not the key of %s", c.Name)
	}
	if version := x.way.customs.version; version != nil && version(x.http) == "" {
		add("version", "no version of the API is named")
	}
	for _, name := range misplaced(x.http.Header) {
		add("header", "%s must not leave the caller", name)
	}
	if x.way.format == &plain {
		return found
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

// misplaced are the headers that are nobody's business here.
func misplaced(header http.Header) (names []string) {
	for name := range header {
		if strings.HasPrefix(name, "X-Pointsman-") || strings.Contains(strings.ToLower(name), "tenant") {
			names = append(names, name)
		}
	}
	return names
}
