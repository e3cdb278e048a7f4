package clientlib

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// problem is an answer that no endpoint gave.
type problem struct {
	status  int
	code    string
	message string
	counts  map[string]int // of endpoints left out, by reason
	wait    time.Duration  // 0: not known
}

var unsupported = problem{
	status: http.StatusNotFound, code: "unsupported_path",
	message: "only POST …/chat/completions, …/responses, …/embeddings and …/v1/messages are served here, and what names a workload in " + WorkloadHeader,
}

// invalid is a request that cannot be read.
func invalid(message string) *problem {
	return &problem{status: http.StatusBadRequest, code: "invalid_body", message: message}
}

// refusal is what a call is answered with that had no attempt.
func (c *Client) refusal(err error) *problem {
	p := &problem{status: http.StatusServiceUnavailable, code: "no_attempt", message: err.Error()}
	p.wait, _ = c.RetryIn(err)
	var shed *ShedError
	switch {
	case errors.Is(err, ErrUnknownWorkload):
		p.status, p.code = http.StatusNotFound, "model_not_found"
	case errors.Is(err, ErrUnusable):
		p.code = "workload_unusable"
	case errors.Is(err, ErrRequest):
		p.status, p.code = http.StatusBadRequest, "bad_request"
	case errors.As(err, &shed):
		p.status, p.code = shedStatus(shed.Kind)
		p.counts = shedCounts(shed)
	}
	return p
}

func shedStatus(k route.ShedKind) (int, string) {
	switch k {
	case route.ShedLimited:
		return http.StatusTooManyRequests, "shed_limited"
	case route.ShedFull:
		return http.StatusTooManyRequests, "shed_full"
	case route.ShedTenantCap:
		return http.StatusTooManyRequests, "shed_tenant_cap"
	case route.ShedTenant:
		return http.StatusForbidden, "shed_tenant"
	case route.ShedOpen:
		return http.StatusServiceUnavailable, "shed_open"
	}
	return http.StatusServiceUnavailable, "shed_incompatible"
}

func shedCounts(e *ShedError) map[string]int {
	counts := map[string]int{}
	for reason, n := range e.Counts {
		if n > 0 {
			counts[route.Reason(reason).String()] = n
		}
	}
	return counts
}

// fault is an error as the APIs write it.
type fault struct {
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Param   *string        `json:"param"`
	Code    string         `json:"code"`
	Counts  map[string]int `json:"counts,omitempty"`
}

// body is the problem in the shape of an API's errors; OpenAI's, where it has none.
func (p *problem) body(api dialect.API) []byte {
	answer := struct {
		Type  string `json:"type,omitempty"`
		Error fault  `json:"error"`
	}{Error: fault{Message: p.message, Type: "pointsman_error", Code: p.code, Counts: p.counts}}
	if api == dialect.Messages {
		answer.Type, answer.Error.Type = "error", messagesType(p.status)
	}
	b, err := json.Marshal(answer)
	if err != nil { // of strings and numbers: it cannot be
		return nil
	}
	return b
}

// messagesType is what Anthropic calls errors of a status.
func messagesType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	}
	return "api_error"
}

func (p *problem) response(r *http.Request, api dialect.API) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	if p.wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.wait+time.Second-1)/time.Second), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(max(p.wait.Milliseconds(), 1), 10))
	}
	return complete(&http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h}, r, p.status, p.body(api))
}

// complete makes an answer one that is all there. An error's tells SDKs that the retries
// have been made.
func complete(answer *http.Response, r *http.Request, status int, body []byte) *http.Response {
	failed := status < 200 || status > 299
	if failed {
		answer.Header.Set("X-Should-Retry", "false")
		answer.Header.Del("Location") // no client follows an endpoint's redirect with what it was sent
		answer.Trailer = nil
	}
	if failed || status != answer.StatusCode { // whose words are the endpoint's
		answer.StatusCode, answer.Status = status, fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	if r.Method != http.MethodHead || len(body) > 0 { // HEAD asks how long another answer would be
		answer.Header.Del("Content-Length")
		answer.ContentLength = int64(len(body))
	}
	answer.Body, answer.TransferEncoding, answer.Request = holding(body), nil, r
	return answer
}
