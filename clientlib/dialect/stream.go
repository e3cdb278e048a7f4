package dialect

import (
	"bytes"
	"errors"
	"io"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// EventKind says what an event of a stream is.
type EventKind uint8

// The kinds of event.
const (
	Chunk     EventKind = iota
	Comment             // says nothing: keeps the connection open
	Done                // the end mark
	Failed              // an error after the status said 200
	Malformed           // not a JSON object
)

// Event is one event of a stream.
type Event struct {
	Kind      EventKind
	Raw       []byte // as it came, with its blank line; good until the next call
	Data      []byte // of Failed: the error, as the API writes the body of one; good until the next call
	Generated bool   // by the model: text, refusal, tool call, reasoning
	Tool      bool   // part of a tool's call
	UsageOnly bool   // there only because usage was asked for
	Finish    Finish
	Usage     money.Usage   // all that is known so far; what comes later replaces it
	HasUsage  bool          // the event told some of it
	ID        string        // the answer's own, with the first event that has it
	Outcome   route.Outcome // of Failed
}

// Stream reads the events of a streamed answer.
type Stream struct {
	frames
	dialect *Dialect
	api     API
	begun   bool
	told    bool   // the answer's id
	waits   bool   // a tool of the caller was called
	over    bool   // the end of a stream without an end mark was given
	joined  []byte // data of several lines
	usage   tokens
}

// Stream reads events from r. It never reads further than asked for.
func (d *Dialect) Stream(api API, r io.Reader) *Stream {
	return &Stream{frames: frames{r: r}, dialect: d, api: api}
}

// Next is the next event; io.EOF after the last whole one, io.ErrUnexpectedEOF if the
// end cuts one. Plain HTTP has no end mark: there a clean end is one.
func (s *Stream) Next() (Event, error) {
	raw, whole, err := s.frame()
	switch {
	case errors.Is(err, io.EOF) && s.api == PlainHTTP && !s.over:
		s.over = true
		return Event{Kind: Done}, nil
	case err != nil:
		return Event{}, err
	}
	e := Event{Raw: raw}
	name, data, has := s.fields(raw)
	switch {
	case !has:
		e.Kind = Comment
	case s.api == PlainHTTP:
		e.Generated = true
	case string(bytes.TrimSpace(data)) == "[DONE]":
		e.Kind = s.mark()
	default:
		s.read(&e, name, data)
	}
	if !whole && s.torn(&e) {
		return Event{}, io.ErrUnexpectedEOF
	}
	return e, nil
}

// mark is what the end mark of chat completions is: elsewhere it says nothing.
func (s *Stream) mark() EventKind {
	if s.api == ChatCompletions {
		return Done
	}
	return Comment
}

// torn says whether the end of a stream fell into an event. Only what is whole as JSON is
// known to be all that there was.
func (s *Stream) torn(e *Event) bool {
	last := e.Raw[len(e.Raw)-1]
	lined := last == '\n' || last == '\r' || e.Raw[0] == ':'
	return e.Kind == Malformed || !lined && (e.Kind == Comment || s.api == PlainHTTP)
}

// read fills in what the data of an event say.
func (s *Stream) read(e *Event, name, data []byte) {
	a := saying{scanner: scanner{b: data}, api: s.api, usage: s.usage, waits: s.waits}
	a.usage.told = false
	a.event(name)
	if !a.read() {
		if a.part != breaking {
			e.Kind = Malformed
			return
		}
		a.fault = broke
	}
	s.usage, s.waits = a.usage, a.waits
	if a.usage.told {
		e.Usage, e.HasUsage = a.usage.money(s.api), true
	}
	if !s.told {
		e.ID = a.id()
		s.told = e.ID != ""
	}
	e.Generated, e.Tool, e.Finish = a.generated, a.tool, a.finish
	e.UsageOnly = s.api == ChatCompletions && e.HasUsage && a.choices == 0
	switch {
	case a.fault != nil:
		e.Kind, e.Data, e.Outcome = Failed, a.fault, s.dialect.inBody(a.fault)
	case a.part == ending:
		e.Kind = Done
	case a.part == pinging:
		e.Kind = Comment
	}
}
