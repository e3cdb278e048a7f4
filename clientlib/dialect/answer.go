package dialect

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// FilterFinish is the finish reason of an answer that a content filter ended.
const FilterFinish = "content_filter"

// Answer judges a whole answer, one that is not streamed.
func Answer(status int, h http.Header, body []byte, now time.Time) route.Outcome {
	if status < 200 || status > 299 {
		return Failure(status, h, body, now)
	}
	a, err := readChunk(body)
	switch {
	case err != nil:
		return route.Outcome{Kind: route.Faulted, Status: status, Detail: "not a JSON object"}
	case a.failed():
		return inBody(body)
	case a.Choices == nil:
		return route.Outcome{Kind: route.Faulted, Status: status, Detail: "no choices"}
	}
	o := route.Outcome{Kind: route.Served, Status: status}
	if a.Usage != nil {
		o.Usage, o.HasUsage = a.Usage.money(), true
	}
	if a.finish() == FilterFinish {
		o.Kind, o.Detail = route.Filtered, FilterFinish
	}
	return o
}

// chunk is what is read of an answer, whole or one event of a stream.
type chunk struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
}

type choice struct {
	Finish string                     `json:"finish_reason"`
	Delta  map[string]json.RawMessage `json:"delta"`
}

// readChunk fails on what is not a JSON object. A member of another type than usual is
// left out: only its own meaning is lost.
func readChunk(body []byte) (c chunk, err error) {
	err = json.Unmarshal(body, &c)
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) && odd.Field != "" {
		err = nil
	}
	return c, err
}

func (c *chunk) failed() bool { return filled(c.Error) || c.Object == "error" }

// saying are the members of a delta in which the model itself says something. A role
// alone says nothing.
var saying = []string{"content", "reasoning_content", "reasoning", "thinking", "refusal", "tool_calls", "function_call", "audio"}

func (c *chunk) generated() bool {
	for _, choice := range c.Choices {
		for _, member := range saying {
			if filled(choice.Delta[member]) {
				return true
			}
		}
	}
	return false
}

// finish is why the first finished choice ended; empty: none has.
func (c *chunk) finish() string {
	for _, choice := range c.Choices {
		if choice.Finish != "" {
			return choice.Finish
		}
	}
	return ""
}
