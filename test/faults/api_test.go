package faults

import "encoding/json"

// api is a format of requests and answers, and who speaks it.
type api struct {
	name, dialect string
	base          string // of the endpoints' addresses, after the host
	path          string // that the caller asks
	prompt        string // its member
}

// The first is the one that all faults are told of.
var apis = []api{
	{"openai.chat", "openai", "/v1", "/v1/chat/completions", "messages"},
	{"openai.responses", "openai", "/v1", "/v1/responses", "input"},
	{"openai.chat", "azure-openai", "", "/v1/chat/completions", "messages"},
	{"anthropic.messages", "anthropic", "", "/v1/messages", "messages"},
}

// said is an answer, or an event of one, of any API.
type said struct {
	Type    string
	Choices []struct {
		Message, Delta struct{ Content string }
	}
	Delta   json.RawMessage
	Output  []struct{ Content []part }
	Content []part
	Usage   *struct{}
	Error   struct{ Code string }
}

type part struct{ Text string }

func (e *said) text() (all string) {
	for _, c := range e.Choices {
		all += c.Message.Content + c.Delta.Content
	}
	for _, o := range e.Output {
		for _, p := range o.Content {
			all += p.Text
		}
	}
	for _, p := range e.Content {
		all += p.Text
	}
	var said string
	var delta part
	_, _ = json.Unmarshal(e.Delta, &said), json.Unmarshal(e.Delta, &delta) // of a text, or a part of one
	return all + said + delta.Text
}

// ends says whether it is a stream's end mark.
func (e *said) ends() bool {
	return e.Type == "response.completed" || e.Type == "message_stop"
}
