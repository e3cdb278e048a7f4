package clientlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// exchange is one attempt of a visit: a request to an endpoint, and its answer.
type exchange struct {
	flight
	visit     *visit
	address   *address
	secret    Secret
	ctx       attemptContext
	trace     httptrace.ClientTrace
	body      []byte
	unread    bytes.Reader // the same, for the request
	named     [1]string    // the endpoint, in the answer's header
	reached   atomic.Bool  // something may have been sent
	streaming bool         // the answer comes in events
	refused   error        // by Validate
}

// attemptContext lets the client's own connections tell an attempt that they dial for it.
type attemptContext struct {
	context.Context
	dialing atomic.Bool // a connection was asked of the network, not only of the pool
}

type dialingKey struct{}

func (c *attemptContext) Value(key any) any {
	if key == (dialingKey{}) {
		return &c.dialing
	}
	return c.Context.Value(key)
}

// dials notes that a connection is dialled for an attempt.
func dials(ctx context.Context) {
	if dialing, ok := ctx.Value(dialingKey{}).(*atomic.Bool); ok {
		dialing.Store(true)
	}
}

// tracing has connections of net/http tell the attempt that it has one, and those that are
// not the client's own that they dial for it.
func (x *exchange) tracing() context.Context {
	s := x.client.http
	if !s.tells() {
		return &x.ctx
	}
	x.trace.GotConn = func(httptrace.GotConnInfo) { x.connected() }
	if s.given != nil {
		x.trace.DNSStart = func(httptrace.DNSStartInfo) { x.ctx.dialing.Store(true) }
		x.trace.ConnectStart = func(string, string) { x.ctx.dialing.Store(true) }
	}
	return httptrace.WithClientTrace(&x.ctx, &x.trace)
}

// run sends the request. Final is an answer that the caller gets whatever is left; one
// that is not has ended, and stands if no other attempt follows.
func (x *exchange) run(limits route.Limits) (answer *http.Response, final bool) {
	x.watch.begin(x.visit.ctx, x.client.clock, limits)
	defer func() {
		if !x.visit.live {
			x.watch.release()
			Attempt{&x.flight}.Abandon()
		}
	}()
	r, err := x.compose()
	if err != nil {
		return x.unsent(err), false
	}
	if answer, err = x.send(r); err != nil {
		return x.broken(x.blame(err)), false
	}
	x.hear(answer.Header)
	if x.streams(answer) {
		return x.stream(answer)
	}
	return x.whole(answer)
}

// compose writes the request for the attempt's endpoint: nothing of the caller's request
// but the body and a few headers, and the credential only where it may go.
func (x *exchange) compose() (*http.Request, error) {
	ask, caller := x.visit.ask, x.visit.caller
	x.address = x.client.view.Load().terms.address(x.endpoint)
	form, err := x.address.form(ask.API)
	if err != nil {
		return nil, err
	}
	if x.body, err = ask.Body(x.address.model, x.address.demands); err != nil {
		return nil, err
	}
	h := x.header()
	if x.secret, err = x.client.keys.secret(x.watch.ctx, x.endpoint.Credential, form.URL); err != nil {
		return nil, err
	}
	x.ctx.Context = x.start(x.watch.ctx, h) // who traces sees no credential
	x.address.dialect.Header(h, caller.Header, x.secret.Reveal())
	r := form.WithContext(x.tracing())
	r.Header = h
	if ask.API == dialect.PlainHTTP {
		r.Method, r.URL = caller.Method, below(form.URL, caller.URL)
	}
	if n := len(x.body); n > 0 {
		x.unread.Reset(x.body) // a body of any other kind net/http sends apart from the header
		r.Body, r.GetBody, r.ContentLength = io.NopCloser(&x.unread), x.again, int64(n)
	}
	return r, nil
}

// again is the request's body once more.
func (x *exchange) again() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(x.body)), nil
}

// send waits for the answer's header. Only net/http's own transport tells when it has a
// connection.
func (x *exchange) send(r *http.Request) (*http.Response, error) {
	sender := x.client.http
	x.watch.phase("connect", x.watch.limits.Connect)
	if !sender.tells() {
		x.connected()
	}
	answer, err := sender.RoundTrip(r)
	if err == nil {
		x.connected()
	}
	return answer, err
}

// connected ends the time for connecting, if it is not over.
func (x *exchange) connected() {
	x.reached.Store(true)
	if x.visit.ask.Stream {
		x.watch.connected("first_token", x.watch.limits.FirstToken)
	} else {
		x.watch.connected("answer", x.watch.limits.Answer)
	}
}

// hear takes what an answer's header says of the provider.
func (x *exchange) hear(h http.Header) {
	d, c := x.address.dialect, x.client
	x.info.RequestID = x.secret.hide(d.RequestID(h))
	told, ok := d.Limits(h, time.Now())
	if !ok {
		return
	}
	c.mu.Lock()
	c.router.Headers(c.clock.now(), x.core, told)
	c.mu.Unlock()
}

// streams says whether an answer comes in events, and is to.
func (x *exchange) streams(answer *http.Response) bool {
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return answer.StatusCode == http.StatusOK && strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") &&
		(x.visit.ask.Stream || x.visit.ask.API == dialect.PlainHTTP)
}

// settle ends the attempt, and gives the outcome as it may be told: what an endpoint says
// of itself may be what it was sent.
func (x *exchange) settle(o Outcome) Outcome {
	o.Detail = x.secret.hide(o.Detail)
	Attempt{&x.flight}.Settle(o)
	if o.HasUsage && !o.Estimated {
		x.client.calibrate(x.endpoint, x.visit.ask, o.Usage.Input)
	}
	return o
}

// unsent settles an attempt of which nothing was sent.
func (x *exchange) unsent(err error) *http.Response {
	x.settle(Outcome{Kind: Unsent, Detail: err.Error()})
	return x.failed(http.StatusBadGateway, "not_sent", err.Error())
}

// broken settles an attempt whose answer did not come, or not to its end.
func (x *exchange) broken(o Outcome) *http.Response {
	o = x.settle(o)
	if o.Kind == TimedOut {
		return x.failed(http.StatusGatewayTimeout, "timed_out", "no "+o.Detail+" in time")
	}
	return x.failed(http.StatusBadGateway, "endpoint_failed", o.Detail)
}

func (x *exchange) failed(status int, code, message string) *http.Response {
	p := problem{status: status, code: code, message: fmt.Sprintf("endpoint %q: %s", x.endpoint.Name, message)}
	answer := p.response(x.visit.caller, x.visit.ask.API)
	x.sign(answer.Header)
	return answer
}

// sign has an answer's header name the endpoint.
func (x *exchange) sign(h http.Header) {
	x.named[0] = x.endpoint.Name
	h[EndpointHeader] = x.named[:]
}

// blame says whose doing it is that the exchange broke: the caller's, a limit's or the
// endpoint's. A caller that waited for a connection of its own full pool blames nobody.
func (x *exchange) blame(err error) Outcome {
	var limit *LimitError
	switch {
	case x.visit.caller.Context().Err() != nil:
		return Outcome{Kind: Cancelled}
	case errors.As(context.Cause(x.watch.ctx), &limit):
		if limit.Limit == "connect" && !x.ctx.dialing.Load() {
			return Outcome{Kind: Unsent, Detail: "no free connection"}
		}
		return Outcome{Kind: TimedOut, Detail: limit.Limit}
	}
	return Outcome{Kind: Faulted, Detail: fmt.Sprintf("%.160s", x.secret.hide(fmt.Sprint(err)))}
}
