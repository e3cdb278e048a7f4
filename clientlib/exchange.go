package clientlib

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// exchange is one attempt of a Transport: a request to an endpoint, and its answer.
type exchange struct {
	transport *transport
	caller    *http.Request
	chat      *dialect.Chat
	call      *call
	attempt   Attempt
	secret    Secret
	watch     *watch
	began     int64       // the sending: what came before, the credential's source, is not the endpoint's time
	dialing   atomic.Bool // a connection was asked of the network, not only of the pool
}

// run sends the request. Final is an answer that the caller gets whatever is left; one
// that is not has ended, and stands if no other attempt follows.
func (x *exchange) run(w *watch) (answer *http.Response, final bool) {
	x.watch, x.attempt.f.watch = w, w
	live := false
	defer func() {
		if !live {
			w.release()
			x.attempt.Abandon()
		}
	}()
	r, err := x.compose()
	if err != nil {
		return x.unsent(err), false
	}
	answer, err = x.send(r)
	if err != nil {
		return x.broken(err), false
	}
	x.attempt.f.info.RequestID = x.secret.hide(dialect.RequestID(answer.Header))
	if !x.chat.Stream || answer.StatusCode != http.StatusOK || !streamed(answer) {
		return x.whole(answer)
	}
	answer, live, final = x.stream(answer)
	return answer, final
}

// compose writes the request for the attempt's endpoint: nothing of the caller's request
// but the body and a few headers, and the credential only where it may go.
func (x *exchange) compose() (*http.Request, error) {
	f := x.attempt.f
	u, err := dialect.ChatURL(f.endpoint.BaseURL)
	if err != nil {
		return nil, err
	}
	body, err := x.chat.Body(cmp.Or(f.endpoint.WireModel, f.endpoint.Model))
	if err != nil {
		return nil, err
	}
	ctx := httptrace.WithClientTrace(x.watch.ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { x.dialing.Store(true) },
		ConnectStart: func(string, string) { x.dialing.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { x.connected() },
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = x.header()
	x.secret, err = f.client.keys.secret(ctx, f.endpoint.Credential, r.URL)
	if err == nil && !x.secret.Empty() {
		dialect.Authorize(r.Header, x.secret.Reveal())
	}
	return r, err
}

// send waits for the answer's header. Only net/http's own transport tells when it has a
// connection. One that was closed before the request came says nothing of the endpoint,
// and another is taken.
func (x *exchange) send(r *http.Request) (*http.Response, error) {
	sender := x.transport.client.http
	x.began = x.transport.client.clock.now()
	if _, tells := sender.(*http.Transport); tells {
		x.watch.phase("connect", x.watch.limits.Connect)
	} else {
		x.connected()
	}
	answer, err := sender.RoundTrip(r)
	if err == nil || !strings.HasSuffix(err.Error(), closedIdle) {
		return answer, err
	}
	again := r.Clone(r.Context())
	if again.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	return sender.RoundTrip(again)
}

// closedIdle is what net/http says when an endpoint closed a pooled connection just as it
// was taken; it sends again by itself only what is no POST.
const closedIdle = "http: server closed idle connection"

// connected ends the time for connecting; what is left of the answer's runs from the start.
func (x *exchange) connected() {
	spent := x.transport.client.clock.now() - x.began
	if x.chat.Stream {
		x.watch.phase("first_token", max(x.watch.limits.FirstToken-spent, 0))
	} else {
		x.watch.phase("answer", max(x.watch.limits.Answer-spent, 0))
	}
}

// whole reads an answer to its end and judges it.
func (x *exchange) whole(answer *http.Response) (*http.Response, bool) {
	defer answer.Body.Close()
	most := x.transport.config.MaxAnswer
	body, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return x.broken(err), false
	case int64(len(body)) > most:
		return x.broken(fmt.Errorf("an answer above %d bytes", most)), false
	}
	o := dialect.Answer(answer.StatusCode, answer.Header, body, time.Now())
	if x.chat.Stream && o.Status < 300 {
		o = Outcome{Kind: Faulted, Status: o.Status, Detail: "asked for a stream, got a whole answer"}
	}
	o = x.settle(o)
	return x.answer(answer, o, body), o.Kind == Served
}

// settle ends the attempt, and gives the outcome as it may be told: what an endpoint says
// of itself may be what it was sent.
func (x *exchange) settle(o Outcome) Outcome {
	o.Detail = x.secret.hide(o.Detail)
	x.attempt.Settle(o)
	return o
}

// answer is what the caller gets of a judged answer: as it came, unless its status lied.
func (x *exchange) answer(from *http.Response, o Outcome, body []byte) *http.Response {
	switch {
	case o.Kind == Faulted && o.Status < 300:
		return x.failed(http.StatusBadGateway, "endpoint_failed", o.Detail)
	case o.Status >= 300: // SDKs put it into their errors
		body = []byte(x.secret.hide(string(body)))
	}
	h := from.Header.Clone()
	h.Set(EndpointHeader, x.attempt.f.endpoint.Name)
	return response(x.caller, o.Status, h, body)
}

// unsent settles an attempt of which nothing was sent.
func (x *exchange) unsent(err error) *http.Response {
	x.settle(Outcome{Kind: Unsent, Detail: err.Error()})
	return x.failed(http.StatusBadGateway, "not_sent", err.Error())
}

// broken settles an attempt whose answer did not come, or not to its end.
func (x *exchange) broken(err error) *http.Response {
	o := x.settle(x.blame(err))
	if o.Kind == TimedOut {
		return x.failed(http.StatusGatewayTimeout, "timed_out", "no "+o.Detail+" in time")
	}
	return x.failed(http.StatusBadGateway, "endpoint_failed", o.Detail)
}

func (x *exchange) failed(status int, code, message string) *http.Response {
	name := x.attempt.f.endpoint.Name
	p := problem{status: status, code: code, message: fmt.Sprintf("endpoint %q: %s", name, message)}
	answer := p.response(x.caller)
	answer.Header.Set(EndpointHeader, name)
	return answer
}

// blame says whose doing it is that the exchange broke: the caller's, a limit's or the
// endpoint's. A caller that waited for a connection of its own full pool blames nobody.
func (x *exchange) blame(err error) Outcome {
	var limit *LimitError
	switch {
	case x.caller.Context().Err() != nil:
		return Outcome{Kind: Cancelled}
	case errors.As(context.Cause(x.watch.ctx), &limit):
		if limit.Limit == "connect" && !x.dialing.Load() {
			return Outcome{Kind: Unsent, Detail: "no free connection"}
		}
		return Outcome{Kind: TimedOut, Detail: limit.Limit}
	}
	return Outcome{Kind: Faulted, Detail: fmt.Sprintf("%.160s", x.secret.hide(fmt.Sprint(err)))}
}

// streamed says whether an answer is a stream of events.
func streamed(answer *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // odd parameters say nothing about the kind
	return kind == "text/event-stream"
}
