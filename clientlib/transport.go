package clientlib

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

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
}

// The defaults of TransportConfig.
const (
	defaultMaxBody   = 16 << 20
	defaultMaxAnswer = 64 << 20
)

// Transport sends chat completions as OpenAI defines them, streamed or not, to the
// endpoints of a workload: give it to the http.Client of any SDK. The address that the
// SDK thinks it calls, its key and its model are replaced for every attempt.
//
// An attempt that fails before content has reached the caller is tried elsewhere, as the
// workload's policy says. A streamed answer is passed on event by event as it comes,
// from the first one with content on; a workload with deliver = "whole" holds it to its
// end instead. A stream that breaks later ends in a *StreamError from Read, never in
// a clean EOF.
//
// A call that could be served but for limits and full endpoints waits for its turn, as
// Config.Queue and QueueWait say, if its context's deadline allows.
//
// What cannot be served is an answer in OpenAI's shape of errors, with
// X-Should-Retry: false, for the retries have been made: a shed is 429 (limited, full)
// or 503 with Retry-After, an unknown workload 404, an endpoint's own error is as it
// gave it. Only the caller's own end is an error of RoundTrip.
//
// Read every answer to its end, or close it: until then, or the limit "total", it holds a
// connection and counts as in flight.
func (c *Client) Transport(t TransportConfig) http.RoundTripper {
	t.MaxBody = cmp.Or(t.MaxBody, defaultMaxBody)
	t.MaxAnswer = cmp.Or(t.MaxAnswer, defaultMaxAnswer)
	return &transport{client: c, config: t}
}

type tenantKey struct{}

// WithTenant says whom the calls of a context are for.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

type transport struct {
	client *Client
	config TransportConfig
}

// RoundTrip makes the attempts of one call.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, bad := t.body(r)
	switch {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case bad != nil:
		return bad.response(r), nil
	}
	chat, err := dialect.ParseChat(body)
	if err != nil {
		return (&problem{status: http.StatusBadRequest, code: "invalid_body", message: err.Error()}).response(r), nil
	}
	workload := cmp.Or(r.Header.Get(WorkloadHeader), chat.Model)
	call := t.client.begin(workload, t.request(r, chat), t.client.clock.deadline(r.Context()))
	return t.attempts(r, call, chat)
}

// request is what a chat needs, and for whom it is.
func (t *transport) request(r *http.Request, chat *dialect.Chat) Request {
	tenant, _ := r.Context().Value(tenantKey{}).(string)
	session := ""
	if t.config.Session != "" {
		session = r.Header.Get(t.config.Session)
	}
	return Request{
		Tenant: cmp.Or(tenant, r.Header.Get(TenantHeader)), API: dialect.ChatAPI, Needs: chat.Needs, Stream: chat.Stream,
		Input: chat.Input, MaxOutput: chat.MaxOutput, Session: session, Prefix: chat.Prefix,
	}
}

// attempts makes them until one's answer is the caller's.
func (t *transport) attempts(r *http.Request, call *call, chat *dialect.Chat) (*http.Response, error) {
	var last *http.Response
	for {
		step, err := t.client.next(r.Context(), call)
		switch {
		case err != nil && r.Context().Err() != nil:
			return nil, r.Context().Err()
		case err != nil && last != nil:
			return last, nil
		case err != nil:
			return t.client.refusal(err).response(r), nil
		}
		x := &exchange{transport: t, caller: r, chat: chat, call: call}
		x.attempt = Attempt{t.client.take(call, step, t.client.clock.now())}
		answer, final := x.run(newWatch(r.Context(), step.Limits))
		if final {
			return answer, nil
		}
		last = answer
	}
}

// body reads and closes the request's body; what cannot be a chat completion is a problem.
func (t *transport) body(r *http.Request) ([]byte, *problem) {
	from := r.Body
	if from == nil {
		from = http.NoBody
	}
	defer from.Close()
	defer context.AfterFunc(r.Context(), func() { from.Close() })() // one that does not come is waited for no longer
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return nil, &problem{status: http.StatusNotFound, code: "unsupported_path", message: "only POST …/chat/completions is served here"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, from, t.config.MaxBody))
	var above *http.MaxBytesError
	switch {
	case errors.As(err, &above):
		return nil, &problem{status: http.StatusRequestEntityTooLarge, code: "body_too_large", message: err.Error()}
	case err != nil:
		return nil, &problem{status: http.StatusBadRequest, code: "invalid_body", message: "the body cannot be read"}
	}
	return body, nil
}
