package clientlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// StreamError says that a stream broke after content had reached the caller: what came
// until then is not the whole answer.
type StreamError struct {
	Endpoint    string
	Events      int   // with content, passed on
	Bytes       int64 // passed on
	Usage       Usage // so far
	Estimated   bool  // the usage is not the endpoint's word
	Restartable bool  // no part of a tool's call was passed on: asking anew repeats no action
	Outcome     Outcome
	Err         error
}

func (e *StreamError) Error() string {
	text := fmt.Sprintf("endpoint %q: stream broke after %d events: %v", e.Endpoint, e.Events, e.Outcome.Kind)
	if e.Outcome.Detail != "" {
		text += ": " + e.Outcome.Detail
	}
	return text
}

// Unwrap is what broke it.
func (e *StreamError) Unwrap() error { return e.Err }

// What is wrong with streams that end.
var (
	errNoEnd     = errors.New("the stream ended without its end mark")
	errNothing   = errors.New("the stream said nothing before its end mark")
	errFailed    = errors.New("the endpoint said so")
	errMalformed = fmt.Errorf("more than %d malformed events", maxMalformed)
)

// maxMalformed is how many events a good stream may have that cannot be read.
const maxMalformed = 16

// opening is a stream of which the caller has seen nothing yet: its endpoint can still be
// changed.
type opening struct {
	*liveBody
	answer *http.Response
	whole  bool // held to its end
	began  bool // content has come
	held   bytes.Buffer
}

// stream reads a streamed answer until its first content and gives what follows live. An
// answer that ends before has settled the attempt; it is final if that was a success.
func (x *exchange) stream(answer *http.Response) (_ *http.Response, final bool) {
	source := answer.Body
	defer func() {
		if !x.visit.live {
			source.Close()
		}
	}()
	x.streaming, x.stall = true, true
	o := &opening{
		liveBody: &liveBody{exchange: x, source: source, events: *x.address.dialect.Stream(x.visit.ask.API, source)},
		answer:   answer, whole: x.client.view.Load().terms.workloads[x.call.workload].whole,
	}
	for {
		e, err := o.next()
		if err != nil {
			return o.broken(err), false
		}
		o.held.Write(o.count(&e))
		if e.Kind == dialect.Failed {
			return o.refused(&e), false
		}
		if e.Kind == dialect.Done && o.empty() {
			return o.broken(errNothing), false
		}
		if e.Kind == dialect.Done {
			return o.complete()
		}
		o.progress(&e)
		if err := context.Cause(x.watch.ctx); err != nil { // the limit of the first token passed as it came
			return o.broken(err), false
		}
		if o.began && !o.whole {
			Attempt{&x.flight}.Content()
			return o.open(answer, o.held.Bytes()), true
		}
	}
}

// broken settles a stream that broke before the caller saw anything of it, with what it cost.
func (o *opening) broken(err error) *http.Response {
	x := o.exchange
	return x.broken(o.judged(x.blame(err)))
}

// mostOpening bounds what a live stream may say before its first content, in bytes, but for
// one event: the first of the responses API repeats instructions and tools.
const mostOpening = 4 << 20

// next is the next event, if it still fits.
func (o *opening) next() (dialect.Event, error) {
	most := int64(mostOpening)
	if o.whole {
		most = o.exchange.visit.transport.config.MaxAnswer
	}
	e, err := o.events.Next()
	switch {
	case errors.Is(err, io.EOF):
		err = errNoEnd
	case err == nil && int64(o.held.Len()) > most:
		err = fmt.Errorf("more than %d bytes before anything was passed on", most)
	case o.tally.malformed > maxMalformed:
		err = errMalformed
	}
	return e, err
}

// progress marks the first content; of a stream that is held, what follows bounds stalls.
func (o *opening) progress(e *dialect.Event) {
	a := Attempt{&o.exchange.flight}
	switch {
	case e.Generated && !o.began:
		o.began = true
		a.FirstToken()
	case o.began && e.Kind != dialect.Comment:
		a.f.progress()
	}
}

// complete settles a stream that came to its end, and gives it in one piece.
func (o *opening) complete() (_ *http.Response, final bool) {
	x, body := o.exchange, o.held.Bytes()
	o.identify()
	outcome := x.settle(x.valid(o.judged(o.good()), body))
	o.end(io.EOF)
	o.drain()
	return x.answer(o.answer, outcome, body), outcome.Kind == Served
}

// refused settles a stream whose error came before the caller saw anything of it: the
// same as if the status had said so.
func (o *opening) refused(e *dialect.Event) *http.Response {
	x := o.exchange
	outcome := x.settle(o.judged(e.Outcome))
	o.answer.Header.Set("Content-Type", "application/json")
	x.secret.hideIn(o.answer.Header)
	x.sign(o.answer.Header)
	return complete(o.answer, x.visit.caller, outcome.Status, []byte(x.secret.hide(string(e.Data))))
}
