package fake

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// customs are what those who serve an API do alike, whatever is asked: how they want to be asked and how they refuse.
type customs struct {
	key       func(http.Header) string
	version   func(*http.Request) string // that it demands; nil: none
	requestID string                     // a header
	limits    func(http.Header, Limits)
	problem   func(p problem, id string) any
	overload  int  // status
	politely  bool // a content filter's refusal is an answer, not an error
}

var openAI = customs{
	key: bearer, requestID: "X-Request-Id", overload: http.StatusServiceUnavailable, problem: openAIProblem,
	limits: func(h http.Header, l Limits) { l.tell(h, l.Reset.String()) },
}

var azure = customs{
	key:       func(h http.Header) string { return h.Get("Api-Key") },
	version:   func(r *http.Request) string { return r.URL.Query().Get("api-version") },
	requestID: "Apim-Request-Id", overload: http.StatusServiceUnavailable,
	limits: func(h http.Header, l Limits) { l.tell(h, seconds(l.Reset)) },
	problem: func(p problem, id string) any {
		if p.status == http.StatusTooManyRequests {
			p.code = "429"
		}
		return openAIProblem(p, id)
	},
}

var anthropic = customs{
	key:       func(h http.Header) string { return h.Get("X-Api-Key") },
	version:   func(r *http.Request) string { return r.Header.Get("Anthropic-Version") },
	requestID: "Request-Id", overload: 529, politely: true, limits: tellAnthropic,
	problem: func(p problem, id string) any {
		message := p.message
		if p.code == "context_length_exceeded" {
			message = "prompt is too long: " + message
		}
		return object{"type": "error", "error": object{"type": anthropicTypes[p.status], "message": message}, "request_id": id}
	},
}

var plainHTTP = customs{
	key: bearer, requestID: "X-Request-Id", overload: http.StatusServiceUnavailable,
	limits:  func(http.Header, Limits) {},
	problem: func(p problem, _ string) any { return object{"error": p.message} },
}

var anthropicTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error",
	503: "overloaded_error", 529: "overloaded_error",
}

func bearer(h http.Header) string {
	key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key
}

// Limits are what an endpoint says of its limits with every answer, where its API says anything; it keeps none.
type Limits struct {
	Requests, RequestsLeft int64 // a minute
	Tokens, TokensLeft     int64
	Reset                  time.Duration // until all is there again
}

func (l Limits) tell(h http.Header, reset string) {
	for _, kind := range []struct {
		name        string
		limit, left int64
	}{{"Requests", l.Requests, l.RequestsLeft}, {"Tokens", l.Tokens, l.TokensLeft}} {
		if kind.limit > 0 {
			h.Set("X-Ratelimit-Limit-"+kind.name, strconv.FormatInt(kind.limit, 10))
			h.Set("X-Ratelimit-Remaining-"+kind.name, strconv.FormatInt(kind.left, 10))
			h.Set("X-Ratelimit-Reset-"+kind.name, reset)
		}
	}
}

func tellAnthropic(h http.Header, l Limits) {
	said := http.Header{}
	l.tell(said, time.Now().Add(l.Reset).UTC().Format(time.RFC3339))
	for name, values := range said { // X-Ratelimit-Limit-Tokens: Anthropic-Ratelimit-Tokens-Limit
		words := strings.Split(name, "-")
		h["Anthropic-Ratelimit-"+words[3]+"-"+words[2]] = values
	}
}

// problem is an error answer, as its status and what OpenAI says of it.
type problem struct {
	status              int
	kind, code, message string
}

const invalid = "invalid_request_error"

func openAIProblem(p problem, _ string) any {
	var code any
	if p.code != "" {
		code = p.code
	}
	return object{"error": object{"message": p.message, "type": p.kind, "param": nil, "code": code}}
}

func (x *exchange) fail(p problem) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(p.status)
	_ = json.NewEncoder(x.w).Encode(x.way.customs.problem(p, x.id))
}

// refusal is what a real endpoint would answer to the first violation it can see; a header is none of them.
func refusal(violations []Violation) problem {
	for _, v := range violations {
		switch v.Reason {
		case "key":
			return problem{http.StatusUnauthorized, invalid, "invalid_api_key", "Incorrect API key provided."}
		case "model":
			return problem{http.StatusNotFound, invalid, "model_not_found", "The model does not exist: " + v.Detail}
		case "context_window":
			return problem{http.StatusBadRequest, invalid, "context_length_exceeded", "This model's maximum context length is exceeded: " + v.Detail}
		case "capability", "max_output", "version":
			return problem{http.StatusBadRequest, invalid, "unsupported_parameter", v.Detail}
		}
	}
	return problem{}
}
