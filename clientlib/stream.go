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
	Endpoint string
	Events   int   // with content, passed on
	Bytes    int64 // passed on
	Outcome  Outcome
	Err      error
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("endpoint %q: stream broke after %d events: %v: %s", e.Endpoint, e.Events, e.Outcome.Kind, e.Outcome.Detail)
}

// Unwrap is what broke it.
func (e *StreamError) Unwrap() error { return e.Err }

// What is wrong with streams that end.
var (
	errNoEnd   = errors.New("the stream ended without [DONE]")
	errNothing = errors.New("the stream said nothing before [DONE]")
	errFailed  = errors.New("the endpoint said so")
)

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
	o := &opening{
		liveBody: &liveBody{exchange: x, source: answer.Body, events: dialect.NewStream(answer.Body)},
		answer:   answer, whole: x.transport.client.view.Load().terms.whole[x.call.workload],
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
		if e.Kind == dialect.Done && o.empty() {
			return x.broken(errNothing), false, false
		}
		if e.Kind == dialect.Done {
			whole, served := o.complete()
			return whole, false, served
		}
		o.progress(e)
		if err := context.Cause(x.watch.ctx); err != nil { // the limit of the first token passed as it came
			return x.broken(err), false, false
		}
		if o.began && !o.whole {
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
	case err == nil && int64(o.held.Len()) > most:
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
	outcome := o.exchange.settle(o.outcome(Served))
	o.end(io.EOF)
	o.drain()
	return o.exchange.answer(o.answer, outcome, o.held.Bytes()), outcome.Kind == Served
}

// refused settles a stream whose error came before the caller saw anything of it: the
// same as if the status had said so.
func (o *opening) refused(e dialect.Event) *http.Response {
	outcome := o.exchange.settle(o.judged(e.Outcome))
	h := o.answer.Header.Clone()
	h.Set("Content-Type", "application/json")
	h.Set(EndpointHeader, o.exchange.attempt.f.endpoint.Name)
	return response(o.exchange.caller, outcome.Status, h, []byte(o.exchange.secret.hide(string(e.Data))))
}
