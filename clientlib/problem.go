package clientlib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// problem is an answer that no endpoint gave, in OpenAI's shape of errors.
type problem struct {
	status  int
	code    string
	message string
	counts  map[string]int // of endpoints left out, by reason
	wait    time.Duration  // 0: not known
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

func (p *problem) response(r *http.Request) *http.Response {
	type object struct {
		Message string         `json:"message"`
		Type    string         `json:"type"`
		Param   *string        `json:"param"`
		Code    string         `json:"code"`
		Counts  map[string]int `json:"counts,omitempty"`
	}
	body, err := json.Marshal(map[string]object{"error": {Message: p.message, Type: "pointsman_error", Code: p.code, Counts: p.counts}})
	if err != nil { // of strings and numbers: it cannot be
		body = nil
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if p.wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.wait+time.Second-1)/time.Second), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(max(p.wait.Milliseconds(), 1), 10))
	}
	return response(r, p.status, h, body)
}

// response is a complete answer. An error's tells SDKs that the retries have been made.
func response(r *http.Request, status int, h http.Header, body []byte) *http.Response {
	if status < 200 || status > 299 {
		h.Set("X-Should-Retry", "false")
		h.Del("Location") // no client follows an endpoint's redirect with what it was sent
	}
	h.Del("Content-Length")
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}
