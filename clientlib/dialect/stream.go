package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// MaxEvent bounds one event of a stream, in bytes.
const MaxEvent = 1 << 20

var errEventTooLong = fmt.Errorf("stream: an event above %d bytes", MaxEvent)

// EventKind says what an event of a stream is.
type EventKind uint8

// The kinds of event.
const (
	Chunk     EventKind = iota
	Comment             // says nothing: keeps the connection open
	Done                // the end mark
	Failed              // an error after the status said 200
	Malformed           // not JSON
)

// Event is one event of a stream.
type Event struct {
	Kind      EventKind
	Raw       []byte // as it came, with its blank line; good until the next call
	Data      []byte // of Failed: the error as JSON; good until the next call
	Generated bool   // by the model: text, refusal, tool call, reasoning
	UsageOnly bool   // the event that stream_options.include_usage adds
	Finish    string // why it ended; empty: it has not
	Usage     money.Usage
	HasUsage  bool
	Outcome   route.Outcome // of Failed
}

// Stream reads the events of a streamed answer.
type Stream struct {
	r     *bufio.Reader
	raw   []byte
	data  []byte
	lines int // of data
}

// NewStream reads events from r. It never reads further than asked for.
func NewStream(r io.Reader) *Stream { return &Stream{r: bufio.NewReader(r)} }

// Next is the next event; io.EOF after the last whole one, io.ErrUnexpectedEOF if the
// end cuts one.
func (s *Stream) Next() (Event, error) {
	s.raw, s.data, s.lines = s.raw[:0], s.data[:0], 0
	for {
		line, err := s.line()
		if err != nil {
			return s.end(err)
		}
		if len(line) == 0 {
			return s.event(), nil
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if s.lines > 0 {
				s.data = append(s.data, '\n')
			}
			s.lines++
			s.data = append(s.data, bytes.TrimPrefix(data, []byte(" "))...)
		}
	}
}

// line reads one line into raw and gives it without its end. The last one may lack an end.
func (s *Stream) line() ([]byte, error) {
	start := len(s.raw)
	for {
		piece, err := s.r.ReadSlice('\n')
		s.raw = append(s.raw, piece...)
		switch {
		case len(s.raw) > MaxEvent:
			return nil, errEventTooLong
		case err == nil, errors.Is(err, io.EOF) && len(s.raw) > start:
			line := bytes.TrimSuffix(s.raw[start:], []byte("\n"))
			return bytes.TrimSuffix(line, []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// end gives what stands at the end of the stream, if it is whole.
func (s *Stream) end(err error) (Event, error) {
	if !errors.Is(err, io.EOF) || s.lines == 0 {
		return Event{}, err
	}
	e := s.event()
	if e.Kind == Malformed {
		return Event{}, io.ErrUnexpectedEOF
	}
	return e, nil
}

func (s *Stream) event() Event {
	e := Event{Raw: s.raw}
	if s.lines == 0 {
		e.Kind = Comment
		return e
	}
	if string(bytes.TrimSpace(s.data)) == "[DONE]" {
		e.Kind = Done
		return e
	}
	c, err := readChunk(s.data)
	switch {
	case err != nil:
		e.Kind = Malformed
		return e
	case c.failed():
		e.Kind, e.Data, e.Outcome = Failed, s.data, inBody(s.data)
		return e
	}
	if c.Usage != nil {
		e.Usage, e.HasUsage = c.Usage.money(), true
	}
	e.UsageOnly = e.HasUsage && len(c.Choices) == 0
	e.Generated, e.Finish = c.generated(), c.finish()
	return e
}
