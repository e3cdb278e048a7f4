package clientlib

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// Headers that callers may set, for SDKs that cannot do better. They are never sent on.
const (
	WorkloadHeader = "X-Pointsman-Workload" // default: the body's "model"
	TenantHeader   = "X-Pointsman-Tenant"   // default: WithTenant's
)

// EndpointHeader names, in an answer, the endpoint that gave it.
const EndpointHeader = "X-Pointsman-Endpoint"

// TransportConfig bounds a Transport.
type TransportConfig struct {
	MaxBody   int64    // bytes of a request; default 16 MiB
	MaxAnswer int64    // bytes of an answer that is held: one that is not streamed, or delivered whole; default 64 MiB
	Forward   []string // request headers to pass on, beside those of tracing; never a credential
	Session   string   // the request header that names a session, for workloads that keep one where it was; empty: none does

	// Validate judges an answer that is good otherwise: an error refuses it, and counts
	// against the endpoint's quality. A whole answer is not given to the caller then, but
	// asked for one band or tier further, once, if the workload escalates on quality. Of a live
	// stream the caller has had all but the end: it only counts, and no more than
	// MaxAnswer of it is judged.
	Validate func(context.Context, Answer) error
}

// The defaults of TransportConfig.
const (
	defaultMaxBody   = 16 << 20
	defaultMaxAnswer = 64 << 20
)

// Transport sends what an SDK asks for to the endpoints of a workload: give it to the
// http.Client of any. It takes chat completions, responses and embeddings as OpenAI defines
// them, and messages as Anthropic does, by how the path ends; and with the header
// X-Pointsman-Workload anything else, for workloads whose API is "http". The address that
// the SDK thinks it calls, its key and its model are replaced for every attempt; of "http"
// the path is put after the endpoint's address.
//
// An attempt that fails before content has reached the caller is tried elsewhere, as the
// workload's policy says. A streamed answer is passed on event by event as it comes,
// from the first one with content on; a workload with deliver = "whole" holds it to its
// end instead. A stream that breaks later ends in a *StreamError from Read, never in
// a clean EOF. Of "http", what may not be repeated (POST, PATCH and methods that nobody
// knows, without an Idempotency-Key) is sent once.
//
// A call that could be served but for limits and full endpoints waits for its turn, as
// Config.Queue and QueueWait say, if its context's deadline allows.
//
// What cannot be served is an answer in the shape of the API's errors, with
// X-Should-Retry: false, for the retries have been made: a shed is 429 (limited, full)
// or 503 with Retry-After, an unknown workload 404, an endpoint's own error is as it
// gave it. Errors of RoundTrip are only the caller's own end, and a *BodyTooLargeError.
//
// Read every answer to its end, or close it: until then, or the limit "total", it holds a
// connection and counts as in flight.
func (c *Client) Transport(t TransportConfig) http.RoundTripper {
	t.MaxBody = cmp.Or(t.MaxBody, defaultMaxBody)
	t.MaxAnswer = cmp.Or(t.MaxAnswer, defaultMaxAnswer)
	return &transport{client: c, config: t, forward: forwards(t.Forward)}
}

type tenantKey struct{}

// WithTenant says whom the calls of a context are for.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

type transport struct {
	client  *Client
	config  TransportConfig
	forward []string // headers of a caller that go along
}

// visit is a call that came as an HTTP request.
type visit struct {
	call
	transport *transport
	caller    *http.Request
	ctx       context.Context // of all attempts
	ask       *dialect.Ask
	live      bool // its answer is on its way: the end of that ends the call
	first     exchange
}

// RoundTrip makes the attempts of one call.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	api := t.api(r)
	body, err := t.body(r)
	switch {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case api == dialect.NoAPI:
		return unsupported.response(r, api), nil
	case err != nil && errors.As(err, new(*BodyTooLargeError)):
		return nil, err
	case err != nil:
		return invalid("the body cannot be read").response(r, api), nil
	}
	if wrong := unsendable(r); api == dialect.PlainHTTP && wrong != "" {
		return invalid(wrong).response(r, api), nil
	}
	ask, err := dialect.Parse(api, body)
	if err != nil {
		return invalid(err.Error()).response(r, api), nil
	}
	return t.visit(r, ask).run()
}

// api is what is asked for. A workload that takes opaque requests gets those that it takes
// no other way.
func (t *transport) api(r *http.Request) dialect.API {
	api := dialect.NoAPI
	if r.Method == http.MethodPost {
		api = dialect.APIOf(r.URL.Path)
	}
	name := r.Header.Get(WorkloadHeader)
	if name == "" {
		return api
	}
	takes := t.client.view.Load().terms.workloads[name].apis
	if api == dialect.NoAPI || !slices.Contains(takes, api.String()) && slices.Contains(takes, dialect.PlainHTTP.String()) {
		return dialect.PlainHTTP
	}
	return api
}

// visit begins a call.
func (t *transport) visit(r *http.Request, ask *dialect.Ask) *visit {
	c := t.client
	workload := cmp.Or(r.Header.Get(WorkloadHeader), ask.Model)
	q := t.request(r, ask)
	q.Input = c.estimate(workload, ask)
	if c.view.Load().terms.workloads[workload].begins {
		q.Prefix = ask.Prefix()
	}
	return &visit{call: c.begin(workload, q, c.clock.deadline(r.Context())), transport: t, caller: r, ask: ask}
}

// request is what a request needs, and for whom it is.
func (t *transport) request(r *http.Request, ask *dialect.Ask) Request {
	tenant, _ := r.Context().Value(tenantKey{}).(string)
	session := ""
	if t.config.Session != "" {
		session = r.Header.Get(t.config.Session)
	}
	return Request{
		Tenant: cmp.Or(tenant, r.Header.Get(TenantHeader)), API: ask.API.String(), Needs: ask.Needs, Stream: ask.Stream,
		MaxOutput: ask.MaxOutput, Session: session,
	}
}

// run makes the attempts and tells of the call's end, whichever it is.
func (v *visit) run() (*http.Response, error) {
	c := v.transport.client
	v.ctx = c.startCall(v.caller.Context(), &v.call)
	why := errPanic
	defer func() {
		if !v.live {
			c.endCall(&v.call, why)
		}
	}()
	answer, why := v.attempts()
	if end := v.caller.Context().Err(); end != nil && why != nil {
		return nil, end
	}
	return answer, nil
}

// attempts makes them until one's answer is the caller's. The error is why none is good.
func (v *visit) attempts() (*http.Response, error) {
	var kept *http.Response // of the failure that the caller is told of
	for {
		step, err := v.transport.client.next(v.ctx, &v.call)
		switch {
		case err != nil && kept != nil:
			return kept, err
		case err != nil:
			return v.transport.client.refusal(err).response(v.caller, v.ask.API), err
		}
		x := &v.first
		if v.call.attempts > 0 {
			x = &exchange{}
		}
		x.visit = v
		x.take(v.transport.client, &v.call, step)
		answer, final := x.run(step.Limits)
		if final {
			return answer, nil
		}
		if kept == nil || !v.hides() {
			kept = answer
		}
		if v.once() && x.reached.Load() {
			return kept, &Fault{Outcome: v.core.Last()}
		}
	}
}
