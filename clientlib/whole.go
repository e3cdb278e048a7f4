package clientlib

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// whole reads an answer to its end and judges it.
func (x *exchange) whole(answer *http.Response) (*http.Response, bool) {
	most := x.visit.transport.config.MaxAnswer
	length := answer.ContentLength
	if x.visit.caller.Method == http.MethodHead {
		length = 0 // it is that of another answer
	}
	body, err := readUpTo(answer.Body, length, most)
	answer.Body.Close() // before anybody else is sent there
	switch {
	case errors.Is(err, errTooLarge):
		return x.broken(x.blame(fmt.Errorf("an answer above %d bytes", most))), false
	case err != nil:
		return x.broken(x.blame(err)), false
	}
	ask := x.visit.ask
	j := x.address.dialect.Answer(ask.API, answer.StatusCode, answer.Header, body, time.Now())
	o := j.Outcome
	if ask.Stream && o.Status < 300 {
		o = Outcome{Kind: Faulted, Status: o.Status, Detail: "asked for a stream, got a whole answer"}
	}
	x.info.ResponseID, x.info.Finish = x.secret.hide(j.ID), j.Finish
	o = x.settle(x.valid(x.guess(o, body), body))
	return x.answer(answer, o, body), o.Kind == Served
}

// bytesPerToken is how much of an answer is taken for a token where nobody counts.
const bytesPerToken = 4

// guess is the usage of a good answer that does not tell.
func (x *exchange) guess(o Outcome, body []byte) Outcome {
	output := int64(len(body) / bytesPerToken)
	switch api := x.visit.ask.API; {
	case o.HasUsage, o.Status >= 300, api == dialect.PlainHTTP:
		return o
	case api == dialect.Embeddings:
		output = 0
	}
	switch o.Kind {
	case Served, Filtered, TooLong:
		o.Usage, o.HasUsage, o.Estimated = Usage{Input: x.call.request.Input, Output: output}, true, true
	}
	return o
}

// answer is what the caller gets of a judged answer: as it came, unless its status lied.
func (x *exchange) answer(from *http.Response, o Outcome, body []byte) *http.Response {
	switch {
	case o.Kind == Faulted && o.Status < 300:
		return x.failed(http.StatusBadGateway, "endpoint_failed", o.Detail)
	case o.Kind == Invalid:
		return x.failed(http.StatusBadGateway, "invalid_answer", "refused: "+x.secret.hide(x.refused.Error()))
	case o.Status >= 300: // SDKs put it into their errors
		body = []byte(x.secret.hide(string(body)))
		x.secret.hideIn(from.Header)
	}
	x.sign(from.Header)
	return complete(from, x.visit.caller, o.Status, body)
}

// Answer is a finished answer, for TransportConfig.Validate. It must not be changed, nor
// kept.
type Answer struct {
	Workload, Endpoint string
	API                string // "openai.chat", …
	Stream             bool   // Body is events, as the caller gets them
	Status             int
	Body               []byte
}

// valid is the outcome of an answer that its caller may refuse. The detail says nothing of
// why: that may quote the answer.
func (x *exchange) valid(o Outcome, body []byte) Outcome {
	v := x.visit
	validate := v.transport.config.Validate
	if validate == nil || o.Kind != Served {
		return o
	}
	x.refused = validate(v.ctx, Answer{
		Workload: v.workload, Endpoint: x.endpoint.Name, API: v.ask.API.String(), Stream: x.streaming, Status: o.Status, Body: body,
	})
	if x.refused != nil {
		o.Kind, o.Detail = Invalid, "refused by Validate"
	}
	return o
}
