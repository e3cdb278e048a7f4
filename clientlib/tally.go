package clientlib

import (
	"fmt"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// tally is what is known of a stream so far.
type tally struct {
	bytes     int64 // passed on
	content   int   // events with content
	malformed int
	tool      bool // part of a tool's call came
	finish    dialect.Finish
	usage     Usage
	known     bool   // usage is the endpoint's word
	shut      bool   // what still comes is too late
	id        string // the answer's own
}

// count adds an event and gives what the caller gets of it: not what cannot be read, nor
// the usage that it did not ask for.
func (b *liveBody) count(e *dialect.Event) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tally
	if t.shut {
		return nil
	}
	if e.Generated {
		t.content++
	}
	if e.HasUsage {
		t.usage, t.known = e.Usage, true
	}
	if e.Finish != dialect.Unfinished {
		t.finish = e.Finish
	}
	if e.ID != "" {
		t.id = e.ID
	}
	t.tool = t.tool || e.Tool
	switch {
	case e.Kind == dialect.Malformed:
		t.malformed++
		return nil
	case e.UsageOnly && !b.exchange.visit.ask.Usage:
		return nil
	}
	t.bytes += int64(len(e.Raw))
	return e.Raw
}

// shut has what is told of the stream be all that was passed on.
func (b *liveBody) shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally.shut = true
}

// empty says whether no event said anything, not even that it had finished. Of plain HTTP
// nobody knows.
func (b *liveBody) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tally.content == 0 && b.tally.finish == dialect.Unfinished && b.exchange.visit.ask.API != dialect.PlainHTTP
}

// identify notes with the attempt which answer it was, and why that ended.
func (b *liveBody) identify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.exchange
	x.info.ResponseID, x.info.Finish = x.secret.hide(b.tally.id), b.tally.finish
}

// good is the outcome of a stream that has its end mark.
func (b *liveBody) good() Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.tally.finish.Outcome()
	switch n := b.tally.malformed; {
	case n == 0 || o.Kind != Served:
	case n == 1:
		o.Detail = "1 malformed event"
	default:
		o.Detail = fmt.Sprintf("%d malformed events", n)
	}
	return o
}

// judged is an outcome with usage: the endpoint's word, else what can be told from
// outside, a token for each event with content. Of a stream that broke an endpoint's word may
// be of its beginning.
func (b *liveBody) judged(o Outcome) Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tally
	output := int64(t.content)
	ended := o.Kind == Served || o.Kind == Invalid || o.Status < 300 && (o.Kind == Filtered || o.Kind == TooLong)
	switch {
	case t.known:
		o.Usage, o.HasUsage = t.usage, true
		if !ended && output > t.usage.Output {
			o.Usage.Output, o.Estimated = output, true
		}
	case b.exchange.visit.ask.API == dialect.PlainHTTP:
	case ended || output > 0:
		o.Usage, o.HasUsage, o.Estimated = Usage{Input: b.exchange.call.request.Input, Output: output}, true, true
	}
	return o
}

// fault is what the caller gets of a stream that ended so.
func (b *liveBody) fault(o Outcome, cause error) *StreamError {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, secret := &b.tally, b.exchange.secret
	o.Detail = secret.hide(o.Detail)
	return &StreamError{
		Endpoint: b.exchange.endpoint.Name, Events: t.content, Bytes: t.bytes, Usage: o.Usage, Estimated: o.Estimated,
		Restartable: !t.tool, Outcome: o, Err: secret.hideErr(cause),
	}
}
