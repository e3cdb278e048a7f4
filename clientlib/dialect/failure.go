package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// failure is the error object of an answer.
type failure struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a string, a number or null
}

// Failure judges an answer that is no success, by its status and its body: the same
// status means "wait" with one body and "your money is gone" with another. now is the
// wall clock.
func Failure(status int, h http.Header, body []byte, now time.Time) route.Outcome {
	f := readFailure(body)
	o := route.Outcome{Kind: f.kind(status), Status: status, Detail: f.detail(status)}
	if o.Kind == route.Limited || o.Kind == route.Faulted {
		o.RetryAfter = retryAfter(h, now)
	}
	return o
}

// inBody judges an error that came with a status of 200: what its status would have been.
func inBody(body []byte) route.Outcome {
	f := readFailure(body)
	status := f.status()
	return route.Outcome{Kind: f.kind(status), Status: status, Detail: f.detail(status)}
}

// readFailure takes the error from its usual places; none gives a zero one.
func readFailure(body []byte) failure {
	var nested struct {
		Error failure `json:"error"`
	}
	var flat failure
	_ = json.Unmarshal(body, &nested)
	if !nested.Error.none() {
		return nested.Error
	}
	_ = json.Unmarshal(body, &flat) // older vLLM, SGLang
	return flat
}

func (f failure) code() string { return strings.Trim(string(bytes.TrimSpace(f.Code)), `"`) }

func (f failure) kind(status int) route.OutcomeKind {
	client := status >= 400 && status < 500
	switch {
	case client && f.outOfCredit(), status == 401, status == 402, status == 403:
		return route.Unauthorized
	case status == 413, client && f.tooLong():
		return route.TooLong
	case status == 429, status == 498: // 498: Groq's flex tier is full
		return route.Limited
	case status == 410, status == 404 && (f.noModel() || f.none()): // the address is not of this API
		return route.Missing
	case client && f.filtered():
		return route.Filtered
	case client && status != 408:
		return route.Refused
	}
	return route.Faulted
}

// is says whether the error names itself as one of these.
func (f failure) is(names ...string) bool {
	for _, name := range names {
		if f.code() == name || f.Type == name {
			return true
		}
	}
	return false
}

// says looks for phrases in what the error tells people.
func (f failure) says(phrases ...string) bool {
	message := strings.ToLower(f.Message[:min(len(f.Message), 2048)])
	for _, phrase := range phrases {
		if strings.Contains(message, phrase) {
			return true
		}
	}
	return false
}

func (f failure) outOfCredit() bool {
	return f.is("insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
		"project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached") ||
		f.says("credit balance is too low", "insufficient credit", "insufficient balance")
}

func (f failure) tooLong() bool {
	if f.is("context_length_exceeded") {
		return true
	}
	return !f.is("string_above_max_length") && f.says(
		"maximum context length is", "exceed context limit", "longer than the model's context length",
		"input tokens exceed the configured limit", "tokens + `max_new_tokens` must be",
		"exceeds the available context size", "exceeds the maximum number of tokens allowed",
		"request too large for") // above the whole limit per minute: waiting never helps
}

func (f failure) filtered() bool {
	return f.is("content_policy_violation", "content_filter", "ResponsibleAIPolicyViolation") ||
		f.says("usage policy", "content management policy")
}

// none says that the body was no error of this API.
func (f failure) none() bool { return f.Message == "" && f.Type == "" && f.Code == nil }

func (f failure) noModel() bool {
	return f.is("model_not_found", "NotFoundError", "DeploymentNotFound")
}

// status is what an error without one stands for.
func (f failure) status() int {
	var code int
	_ = json.Unmarshal(f.Code, &code)
	switch {
	case code >= 400 && code < 600:
		return code
	case f.is("rate_limit_exceeded", "rate_limit_error", "slow_down", "requests", "tokens"), f.outOfCredit():
		return http.StatusTooManyRequests
	case f.is("authentication_error", "invalid_api_key"):
		return http.StatusUnauthorized
	case f.is("invalid_request_error", "BadRequestError"), f.tooLong(), f.filtered():
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}

// plainName is what providers call their errors. What is longer, or has digits, may be
// anything, a key for one.
var plainName = regexp.MustCompile(`^[A-Za-z_.-]{1,48}$`)

// detail is for people and records. It never quotes the message, which may quote the prompt.
func (f failure) detail(status int) string {
	for _, name := range []string{f.code(), f.Type} {
		if plainName.MatchString(name) && name != "null" {
			return fmt.Sprintf("%d %s", status, name)
		}
	}
	return strconv.Itoa(status)
}
