package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tokensPerMedium is what an image, a sound or a film counts for in the estimate: its
// bytes say nothing about its tokens.
const tokensPerMedium = 1000

// maxPrefix bounds what tells prompts apart by how they begin.
const maxPrefix = 4 << 10

// Chat is a chat completion as a caller sent it.
type Chat struct {
	Model     string // empty: not given
	Stream    bool
	Needs     []string // capabilities, sorted
	Input     int64    // estimated tokens of the prompt
	MaxOutput int64    // tokens; 0: not given
	Prefix    string   // how the messages begin, as they were sent
	Usage     bool     // the caller wants the usage event of its stream

	fields map[string]json.RawMessage
}

// ParseChat reads the body of a chat completion. It judges only what routing needs; the
// endpoint judges the rest.
func ParseChat(body []byte) (*Chat, error) {
	c := &Chat{}
	if err := json.Unmarshal(body, &c.fields); err != nil || c.fields == nil {
		return nil, errors.New("the body is not a JSON object")
	}
	err := errors.Join(
		c.read("model", &c.Model, "a string"),
		c.read("stream", &c.Stream, "true or false"),
		c.readMaxOutput(),
		c.readUsage(),
	)
	if err != nil {
		return nil, err
	}
	c.weigh()
	return c, nil
}

// Body is the request to send: for a model as its provider calls it, and, when
// streamed, with usage asked for. Everything else is as the caller wrote it.
func (c *Chat) Body(model string) ([]byte, error) {
	fields := maps.Clone(c.fields)
	name, err := json.Marshal(model)
	if err != nil {
		return nil, err
	}
	fields["model"] = name
	if c.Stream && !c.Usage {
		options := map[string]json.RawMessage{}
		_ = c.read("stream_options", &options, "")
		options["include_usage"] = json.RawMessage("true")
		if fields["stream_options"], err = json.Marshal(options); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(fields)
	return b.Bytes(), err
}

// read takes a field; an absent one, or null, leaves to alone.
func (c *Chat) read(field string, to any, want string) error {
	raw, ok := c.fields[field]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, to) != nil {
		return fmt.Errorf("%s: want %s", field, want)
	}
	return nil
}

func (c *Chat) readMaxOutput() error {
	for _, field := range []string{"max_tokens", "max_completion_tokens"} {
		if err := c.read(field, &c.MaxOutput, "a whole number"); err != nil {
			return err
		}
		if c.MaxOutput < 0 {
			return fmt.Errorf("%s: want 0 or more, got %d", field, c.MaxOutput)
		}
	}
	return nil
}

func (c *Chat) readUsage() error {
	var options map[string]json.RawMessage
	if err := c.read("stream_options", &options, "an object"); err != nil {
		return err
	}
	_ = json.Unmarshal(options["include_usage"], &c.Usage) // else it is the endpoint's to judge
	return nil
}

// weigh fills Needs and Input.
func (c *Chat) weigh() {
	needs := map[string]bool{"stream": c.Stream}
	size := len(c.fields["tools"]) + len(c.fields["messages"])
	needs["tools"] = filled(c.fields["tools"]) || filled(c.fields["functions"])
	needs["json_schema"] = strings.HasPrefix(kind(c.fields["response_format"]), "json")
	needs["audio"] = c.speaks()
	for _, part := range c.parts() {
		if need := medium(part); need != "" {
			needs[need] = true
			size += 4*tokensPerMedium - len(part)
		}
	}
	c.Input = int64(size+3) / 4
	c.Prefix = string(c.fields["messages"][:min(len(c.fields["messages"]), maxPrefix)])
	maps.DeleteFunc(needs, func(_ string, wanted bool) bool { return !wanted })
	c.Needs = slices.Sorted(maps.Keys(needs))
}

// speaks says whether the answer is wanted as sound.
func (c *Chat) speaks() bool {
	var modalities []string
	_ = c.read("modalities", &modalities, "")
	return slices.Contains(modalities, "audio")
}

// parts are the pieces of all messages whose content is a list.
func (c *Chat) parts() (all []json.RawMessage) {
	var messages []json.RawMessage
	_ = c.read("messages", &messages, "")
	for _, raw := range messages {
		var parts []json.RawMessage
		if json.Unmarshal(member(raw, "content"), &parts) == nil {
			all = append(all, parts...)
		}
	}
	return all
}

// medium is the capability that a part needs; empty for text.
func medium(part json.RawMessage) string {
	switch name := kind(part); {
	case strings.Contains(name, "image"):
		return "vision"
	case strings.Contains(name, "audio"):
		return "audio"
	case strings.Contains(name, "video"):
		return "video"
	}
	return ""
}

// kind is what an object says it is.
func kind(object json.RawMessage) (name string) {
	_ = json.Unmarshal(member(object, "type"), &name)
	return name
}

// member is one of an object's, by its exact name and the last of two, as endpoints read
// it: the fields of a struct would match names in any case.
func member(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members)
	return members[name]
}

// filled says whether a value is there and not empty.
func filled(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", `""`, "[]", "{}":
		return false
	}
	return true
}
