package clientlib

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// StreamError says that a stream broke after content had reached the caller: what came
// until then is not the whole answer.
type StreamError struct {
	Endpoint string
	Events   int   // with content, passed on
	Bytes    int64 // passed on
	Outcome  Outcome
	Err      error
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("endpoint %q: stream broke after %d events: %v", e.Endpoint, e.Events, e.Err)
}

// Unwrap is what broke it.
func (e *StreamError) Unwrap() error { return e.Err }

// errNoEnd is a stream that stops without its end mark.
var errNoEnd = errors.New("the stream ended without [DONE]")

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
func (x *exchange) stream(answer *http.Response) (_ *http.Response, live, final bool) {
	defer func() {
		if !live {
			answer.Body.Close()
		}
	}()
	if !streamed(answer) {
		return x.broken(fmt.Errorf("asked for a stream, got %.60q", answer.Header.Get("Content-Type"))), false, false
	}
	o := &opening{
		liveBody: &liveBody{exchange: x, source: answer.Body, events: dialect.NewStream(answer.Body)},
		answer:   answer, whole: x.transport.client.view.Load().whole[x.call.workload],
	}
	for {
		e, err := o.next()
		if err != nil {
			return x.broken(err), false, false
		}
		o.held.Write(o.count(e))
		if e.Kind == dialect.Failed {
			return o.refused(e), false, false
		}
		if e.Kind == dialect.Done {
			whole, served := o.complete()
			return whole, false, served
		}
		if o.progress(e); o.began && !o.whole {
			x.attempt.Content()
			return o.open(answer, o.held.Bytes()), true, true
		}
	}
}

// next is the next event, if it still fits.
func (o *opening) next() (dialect.Event, error) {
	most := int64(dialect.MaxEvent)
	if o.whole {
		most = o.exchange.transport.config.MaxAnswer
	}
	e, err := o.events.Next()
	switch {
	case errors.Is(err, io.EOF):
		err = errNoEnd
	case err == nil && int64(o.held.Len()+len(e.Raw)) > most:
		err = fmt.Errorf("more than %d bytes before anything was passed on", most)
	}
	return e, err
}

// progress marks the first content; of a stream that is held, what follows bounds stalls.
func (o *opening) progress(e dialect.Event) {
	a := o.exchange.attempt
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
	outcome := o.outcome(Served)
	o.exchange.attempt.Settle(outcome)
	o.end(io.EOF)
	o.drain()
	return o.exchange.answer(o.answer, outcome, o.held.Bytes()), outcome.Kind == Served
}

// refused settles a stream whose error came before the caller saw anything of it: the
// same as if the status had said so.
func (o *opening) refused(e dialect.Event) *http.Response {
	outcome := o.judged(e.Outcome)
	o.exchange.attempt.Settle(outcome)
	h := o.answer.Header.Clone()
	h.Set("Content-Type", "application/json")
	h.Set(EndpointHeader, o.exchange.attempt.f.endpoint.Name)
	return response(o.exchange.caller, outcome.Status, h, bytes.Clone(e.Data))
}
