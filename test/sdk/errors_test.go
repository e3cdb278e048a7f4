package sdk

import (
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestOpenAIsErrorsAreOfItsOwnType(t *testing.T) {
	for rule, c := range map[string]struct {
		answer answer
		want   openai.Error
		b      int // requests at the second endpoint
	}{
		"refused":  {refuse(400, openAIBadValue, "X-Request-Id", "req_1"), openai.Error{StatusCode: 400, Code: "invalid_value", Type: "invalid_request_error", Param: "temperature"}, 0},
		"too long": {refuse(400, openAITooLong, "X-Request-Id", "req_1"), openai.Error{StatusCode: 400, Code: "context_length_exceeded", Type: "invalid_request_error", Param: "messages"}, 0},
		"bad key":  {refuse(401, openAIBadKey, "X-Request-Id", "req_1"), openai.Error{StatusCode: 401, Code: "invalid_api_key", Type: "invalid_request_error"}, 1},
		"limited":  {refuse(429, openAILimited, "X-Request-Id", "req_1", "Retry-After", "20"), openai.Error{StatusCode: 429, Code: "rate_limit_exceeded", Type: "tokens"}, 1},
		"down":     {refuse(503, openAIBroken, "X-Request-Id", "req_1", "Retry-After", "20"), openai.Error{StatusCode: 503, Type: "server_error"}, 1},
	} {
		both(func(streamed bool) {
			r := setUp(t, openAI)
			r.a.always(c.answer)
			r.b.always(c.answer)
			_, err := r.chat(streamed)
			var got *openai.Error
			if !errors.As(err, &got) || got.Message == "" {
				t.Fatalf("%s, streamed %v: %v", rule, streamed, err)
			}
			same(t, rule, []any{got.StatusCode, got.Code, got.Type, got.Param}, []any{c.want.StatusCode, c.want.Code, c.want.Type, c.want.Param})
			same(t, rule+": request id", got.Response.Header.Get("X-Request-Id"), "req_1")
			r.sent(1, c.b)
		})
	}
}

func TestAnthropicsErrorsAreOfItsOwnType(t *testing.T) {
	for rule, c := range map[string]struct {
		answer answer
		status int
		kind   anthropic.ErrorType
		b      int // requests at the second endpoint
	}{
		"too long":   {refuse(400, claudeTooLong, "Request-Id", "req_2"), 400, anthropic.ErrorTypeInvalidRequestError, 0},
		"bad key":    {refuse(401, claudeBadKey, "Request-Id", "req_2"), 401, anthropic.ErrorTypeAuthenticationError, 1},
		"limited":    {refuse(429, claudeLimited, "Request-Id", "req_2", "Retry-After", "14", "X-Should-Retry", "true"), 429, anthropic.ErrorTypeRateLimitError, 1},
		"overloaded": {refuse(529, claudeOverloaded, "Request-Id", "req_2", "X-Should-Retry", "true"), 529, anthropic.ErrorTypeOverloadedError, 1},
	} {
		both(func(streamed bool) {
			r := setUp(t, claude)
			r.a.always(c.answer)
			r.b.always(c.answer)
			_, err := r.message(streamed)
			var got *anthropic.Error
			if !errors.As(err, &got) {
				t.Fatalf("%s, streamed %v: %v", rule, streamed, err)
			}
			same(t, rule, []any{got.StatusCode, got.Type(), got.RequestID}, []any{c.status, c.kind, "req_2"})
			r.sent(1, c.b)
		})
	}
}

// An SDK's own two retries would make nine requests of three.
func TestAnSDKsRetriesDoNotMultiplyOurs(t *testing.T) {
	for _, k := range askings {
		both(func(streamed bool) {
			r := setUp(t, k.family, func(c *route.Catalog, _ *clientlib.Config) {
				c.Workloads[0].Attempts.Max, c.Workloads[0].Attempts.SameEndpoint = 3, 1
			})
			r.a.always(k.down)
			r.b.always(reset)
			if said, err := k.ask(r, streamed); err == nil {
				t.Errorf("%s, streamed %v: %q", k.name, streamed, said)
			}
			r.decided("a faulted", "a faulted", "b faulted")
			r.sent(2, 1)
		})
	}
}

func TestAShedIsAnErrorOfTheSDK(t *testing.T) {
	for _, k := range askings {
		r := setUp(t, k.family)
		r.a.then(k.limited)
		r.b.then(k.limited)
		for range 2 { // the first limits both endpoints, the second is sent nowhere
			_, err := k.ask(r, true)
			same(t, k.name, statusOf(err), 429)
			r.sent(1, 1)
		}
		r = setUp(t, k.family, func(c *route.Catalog, _ *clientlib.Config) {
			for i := range c.Endpoints {
				c.Endpoints[i].Capabilities = []string{"chat"}
			}
		})
		_, err := k.ask(r, true)
		same(t, k.name, statusOf(err), 503)
		r.sent(0, 0)
	}
}

// statusOf is that of an SDK's own error; 0: it is none.
func statusOf(err error) int {
	var theirs *openai.Error
	var others *anthropic.Error
	switch {
	case errors.As(err, &theirs):
		return theirs.StatusCode
	case errors.As(err, &others):
		return others.StatusCode
	}
	return 0
}

func TestABodyThatIsTooLargeIsSentNowhere(t *testing.T) {
	r := setUp(t, openAI)
	params := hello()
	params.Messages = append(params.Messages, openai.UserMessage(strings.Repeat("ferry ", 1000)))
	_, err := chatOf(t.Context(), r.openAI(clientlib.TransportConfig{MaxBody: 1000}), params, false)
	var above *clientlib.BodyTooLargeError
	if !errors.As(err, &above) {
		t.Error(err)
	}
	r.sent(0, 0)
	r.decided()
}
