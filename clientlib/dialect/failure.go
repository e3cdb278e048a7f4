package dialect

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// Failure judges an answer that is no success, by its status and its body: the same
// status means "wait" with one body and "your money is gone" with another. wall is the
// wall clock.
func (d *Dialect) Failure(status int, h http.Header, body []byte, wall time.Time) route.Outcome {
	f := d.read(body)
	wait := retryAfter(h, wall)
	o := d.judge(&f, status, wait)
	switch should := first(h, "X-Should-Retry"); {
	case should == "false" && o.Kind == route.Limited && o.RetryAfter == 0:
		o.Kind = route.Unauthorized // no wait helps: the account's money is gone
	case should == "true" && o.Kind == route.Refused:
		o.Kind, o.RetryAfter = route.Faulted, wait
	}
	return o
}

// inBody judges an error that came with a status of 200: what its status would have been.
func (d *Dialect) inBody(body []byte) route.Outcome {
	f := d.read(body)
	return d.judge(&f, f.status(), 0)
}

func (d *Dialect) judge(f *failure, status int, wait int64) route.Outcome {
	o := route.Outcome{Status: status, Detail: f.detail(status)}
	own := false
	if d.kind != nil {
		o.Kind, own = d.kind(f, status)
	}
	if !own {
		o.Kind = f.kind(status)
	}
	if o.Kind == route.Limited || o.Kind == route.Faulted {
		o.RetryAfter = cmp.Or(wait, f.wait())
	}
	return o
}

// failure is the error of an answer.
type failure struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    code   `json:"code"`
	Details struct {
		Code string `json:"error_code"`
	} `json:"details"` // Anthropic
	Inner struct {
		Code string `json:"code"`
	} `json:"innererror"` // Azure
	Gateway int `json:"statusCode"` // Azure API Management

	prose string // of the message: how it begins, in lower case
}

// code is a text or a number; empty: anything else.
type code string

func (c *code) UnmarshalJSON(raw []byte) error {
	_ = json.Unmarshal(raw, (*string)(c))
	if _, err := strconv.Atoi(string(raw)); err == nil {
		*c = code(raw)
	}
	return nil
}

// mostProse bounds how much of a message is read.
const mostProse = 2048

// read takes the error from its usual places; none gives a zero one.
func (d *Dialect) read(body []byte) (f failure) {
	if d.opaque {
		return f
	}
	f = unwrap(body)
	f.prose = strings.ToLower(f.Message[:min(len(f.Message), mostProse)])
	return f
}

// unwrap leaves out what is of another type than usual.
func unwrap(body []byte) failure {
	var all struct {
		Error    json.RawMessage `json:"error"`
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"` // of an event of the responses API
		failure // older vLLM, SGLang, gateways
	}
	_ = json.Unmarshal(body, &all)
	for _, raw := range []json.RawMessage{all.Error, all.Response.Error} {
		var f failure
		if _ = json.Unmarshal(raw, &f); f.Message != "" || f.named() {
			return f
		}
	}
	_ = json.Unmarshal(all.Error, &all.Message) // an error may be a text
	return all.failure
}

// names are what the error calls itself, the most exact first.
func (f *failure) names() [4]string {
	return [...]string{f.Details.Code, string(f.Code), f.Type, f.Inner.Code}
}

// named says that the body was an error of such an API: the pages of proxies and
// firewalls name none.
func (f *failure) named() bool {
	for _, name := range f.names() {
		if _, err := strconv.Atoi(name); err == nil || plainName(name) {
			return true
		}
	}
	return false
}

// kind is the outcome by what most providers mean. No message counts for its numbers: a
// validation error may echo tokens of the prompt, 429 among them.
func (f *failure) kind(status int) route.OutcomeKind {
	client := status >= 400 && status < 500
	switch {
	case client && f.outOfCredit(), status == 401, status == 402:
		return route.Unauthorized
	case status == 413, client && f.tooLong():
		return route.TooLong
	case status == 429:
		return route.Limited
	case status == 410, client && f.noModel(), status == 404 && !f.named(): // the address is not of this API
		return route.Missing
	case status == 403 && f.named():
		return route.Unauthorized
	case client && f.filtered():
		return route.Filtered
	case client && status != 403 && status != 408 && status != 409:
		return route.Refused
	}
	return route.Faulted
}

// is says whether the error names itself as one of these.
func (f *failure) is(names ...string) bool {
	own := f.names()
	for _, name := range names {
		if name == own[0] || name == own[1] || name == own[2] || name == own[3] {
			return true
		}
	}
	return false
}

// says looks for phrases in what the error tells people.
func (f *failure) says(phrases ...string) bool {
	for _, phrase := range phrases {
		if strings.Contains(f.prose, phrase) {
			return true
		}
	}
	return false
}

// outOfCredit: what a message quotes does not stand at its beginning, so that no caller can
// put a credential out by its words.
func (f *failure) outOfCredit() bool {
	return f.is("insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
		"project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached",
		"billing_not_active", "organization_restricted", "blocked_api_access") || // the latter two: Groq
		strings.HasPrefix(f.prose, "your credit balance is too low") || // these are Anthropic's
		strings.HasPrefix(f.prose, "you have reached your specified api usage limits") ||
		strings.HasPrefix(f.prose, "this organization has been disabled")
}

func (f *failure) tooLong() bool {
	if f.is("context_length_exceeded") {
		return true
	}
	return !f.is("string_above_max_length") && (f.says("current length is") && f.says("while limit is") || f.says(
		"maximum context length", "exceed context limit", "longer than the model's context length",
		"longer than the maximum model length", "the model's context length is only",
		"exceeds the maximum allowed length", "exceeds the context window", "prompt is too long",
		"input tokens exceed the configured limit", "tokens + `max_new_tokens` must be", "tokens and 'max_new_tokens' must not",
		"exceeds the available context size", "exceeds the maximum number of tokens allowed",
		"required for long context requests", // a bill of Anthropic's
		"request too large for"))             // above the whole limit per minute: waiting never helps
}

func (f *failure) filtered() bool {
	return f.is("content_policy_violation", "content_filter", "invalid_prompt", "image_content_policy_violation",
		"bio_policy", "misalignment_policy_violation") ||
		f.says("usage policy", "content management policy", "content filtering policy") ||
		strings.HasPrefix(f.prose, "content exists risk") // DeepSeek
}

func (f *failure) noModel() bool {
	return f.is("model_not_found", "NotFoundError") || f.is("not_found_error") && strings.HasPrefix(f.prose, "model")
}

// badImage: a response that failed names what it was given.
func (f *failure) badImage() bool {
	return f.is("invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "invalid_image_mode",
		"image_too_large", "image_too_small", "image_parse_error", "image_file_too_large", "image_file_not_found",
		"unsupported_image_media_type", "empty_image_file", "failed_to_download_image")
}

// status is what an error without one stands for.
func (f *failure) status() int {
	code, _ := strconv.Atoi(string(f.Code))
	switch {
	case code >= 400 && code < 600:
		return code
	case f.is("rate_limit_exceeded", "rate_limit_error", "slow_down", "requests", "tokens"), f.outOfCredit():
		return http.StatusTooManyRequests
	case f.is("authentication_error", "invalid_api_key"):
		return http.StatusUnauthorized
	case f.is("billing_error"):
		return http.StatusPaymentRequired
	case f.is("permission_error"):
		return http.StatusForbidden
	case f.noModel():
		return http.StatusNotFound
	case f.is("request_too_large"):
		return http.StatusRequestEntityTooLarge
	case f.is("overloaded_error"):
		return 529
	case f.is("server_is_overloaded"):
		return http.StatusServiceUnavailable
	case f.is("invalid_request_error", "BadRequestError"), f.tooLong(), f.filtered(), f.badImage():
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}

// detail is for people and records. It never quotes the message, which may quote the prompt.
func (f *failure) detail(status int) string {
	text := strconv.Itoa(status)
	for _, name := range f.names() {
		if plainName(name) {
			return text + " " + name
		}
	}
	return text
}

// plainName says whether a name is as providers call their errors. What is longer, or has
// digits, may be anything, a key for one.
func plainName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return name != "" && name != "null" && len(name) <= 48
}
