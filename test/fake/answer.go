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

// Text is what an answer of so many tokens says.
func Text(tokens int) string { return text(0, int64(tokens)) }

func text(from, to int64) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i%int64(len(words))])
	}
	return b.String()
}

// ending is why an answer ends.
type ending uint8

const (
	stopped  ending = iota
	limited         // by the caller's limit
	filtered        // by a content filter
)

// answer is one request being answered.
type answer struct {
	*exchange
	output  int64 // tokens to generate
	ending  ending
	steps   int   // events numbered so far, where the API numbers them
	begun   bool  // it counts
	counted int64 // tokens
}

// write waits as long as a model would, and sends the answer whole or as a stream.
func (a *answer) write(ctx context.Context) error {
	c := &a.endpoint.config
	ttft := a.endpoint.paced(c.TTFT.Base + time.Duration(a.request.input())*c.TTFT.PerInputToken)
	if err := pause(ctx, a.fault.late(ttft)); err != nil {
		return err
	}
	if a.request.Stream {
		return a.stream(ctx)
	}
	return a.whole(ctx)
}

func (a *answer) whole(ctx context.Context) error {
	if err := pause(ctx, a.fault.pause()+a.endpoint.paced(time.Duration(a.output-1)*a.endpoint.config.TPOT)); err != nil {
		return err
	}
	body, err := json.Marshal(a.way.format.whole(a))
	if err != nil {
		return err
	}
	sent := body
	switch a.fault.Kind {
	case Cut:
		sent = body[:len(body)/2]
	case Malformed:
		body = body[:len(body)/2]
		sent = body
	default:
		a.generated(a.output)
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if _, err = a.w.Write(sent); a.fault.Kind == Cut {
		return errors.Join(errCut, err, http.NewResponseController(a.w).Flush())
	}
	return err
}

func (a *answer) stream(ctx context.Context) error {
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s := &sse{w: a.w, flush: http.NewResponseController(a.w).Flush}
	s.send(a.way.format.begin(a)...)
	if tells := a.way.format.tells; tells > 0 && !a.endpoint.config.NoUsage {
		a.generated(tells)
	}
	if err := a.tokens(ctx, s); err != nil {
		return err
	}
	end := a.way.format.end(a)
	if a.fault.Kind == Unended && len(end) > 0 {
		s.send(end[:len(end)-1]...)
		return errors.Join(errUnended, s.err)
	}
	s.send(end...)
	return s.err
}

// tokens sends the text at the endpoint's pace: the first token alone, then some a chunk.
func (a *answer) tokens(ctx context.Context, s *sse) error {
	step, breaks := int64(1), a.fault.breaks(a.output)
	for from, to := int64(0), int64(0); s.err == nil; from = to {
		if from == breaks {
			if err := a.disturb(ctx, s); err != nil {
				return err
			}
		}
		if from == a.output {
			break
		}
		if to = min(from+step, a.output); from < breaks {
			to = min(to, breaks)
		}
		if from > 0 {
			if err := pause(ctx, a.endpoint.paced(time.Duration(to-from)*a.endpoint.config.TPOT)); err != nil {
				return err
			}
		}
		a.send(s, from, to)
		step = a.endpoint.config.share()
	}
	return s.err
}

// disturb does to a stream what its fault does once so many tokens have been sent.
func (a *answer) disturb(ctx context.Context, s *sse) error {
	switch a.fault.Kind {
	case Cut:
		return errors.Join(errCut, s.err)
	case Unended:
		return errors.Join(errUnended, s.err)
	case Malformed:
		s.send(event{data: `{"choices":[{"delta":{"content":`})
	}
	return pause(ctx, a.fault.pause())
}

func (a *answer) send(s *sse, from, to int64) {
	s.send(a.way.format.piece(a, text(from, to)))
	a.generated(to)
}

// generated counts the answer's tokens up to so many; with the first of them the prompt's.
func (a *answer) generated(to int64) {
	a.endpoint.mu.Lock()
	defer a.endpoint.mu.Unlock()
	c := &a.endpoint.counts
	if !a.begun {
		a.begun = true
		c.Input += a.request.input()
	}
	c.Output += max(to-a.counted, 0)
	a.counted = max(to, a.counted)
}

// share is how many tokens share a chunk.
func (c *Config) share() int64 {
	apart := time.Duration(float64(c.TPOT) / c.Speed)
	return max(1, int64(chunkEvery/max(apart, chunkEvery/chunkMax)))
}

// sse writes events until the first error, which it keeps.
type sse struct {
	w     http.ResponseWriter
	flush func() error
	err   error
}

func (s *sse) send(events ...event) {
	for _, e := range events {
		if s.err == nil {
			s.err = s.write(e)
		}
	}
	if s.err == nil {
		s.err = s.flush()
	}
}

func (s *sse) write(e event) error {
	data, isText := e.data.(string)
	if !isText {
		b, err := json.Marshal(e.data)
		if err != nil {
			return err
		}
		data = string(b)
	}
	name := ""
	if e.name != "" {
		name = "event: " + e.name + "\n"
	}
	_, err := fmt.Fprintf(s.w, "%sdata: %s\n\n", name, data)
	return err
}
