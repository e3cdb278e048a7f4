package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// wireAnswer is what a file under testdata/wire is read as.
type wireAnswer struct {
	API     API
	Outcome route.Outcome
	Limits  limit.Headers
	Request string // the provider's id of it
	ID      string // the answer's own
	Finish  Finish
	Cost    money.Nano
}

// wirePrice is dearer above 1,000 tokens of input, which Anthropic's answers here have.
var wirePrice = money.Price{
	Input: 1_000_000, CachedInput: 100_000, CacheWrite: 1_250_000, Output: 5_000_000,
	Above: []money.Above{{Tokens: 1000, Input: 2_000_000, CachedInput: 200_000, CacheWrite: 2_500_000, Output: 10_000_000}},
}

var wireClock = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// What several files have.
const (
	openaiRequest    = "req_5b1f0c7a9d3e4f6281aa0c2d4e6f8091"
	openaiAnswer     = "chatcmpl-Ex4mple0penAi000001"
	azureRequest     = "0f3c9a52-7d41-4b0e-9a8e-1c2d3e4f5a6b"
	azureAnswer      = "chatcmpl-Ex4mpleAzure00000001"
	anthropicRequest = "req_011CExampleAnthropic0001"
	anthropicLimited = "req_011CExampleAnthropic0002"
	anthropicAnswer  = "msg_01ExampleAnthropic0001"
	vllmAnswer       = "chatcmpl-3f2a9c0d4b5e4f60a1b2c3d4e5f60718"
)

var (
	openaiLeft    = limits(resetting(4999, 12_000), resetting(799_871, 9_000))
	azureLeft     = limits(left(299), left(49_880))
	anthropicLeft = limits(resetting(999, 1e6), resetting(95_000, 3e6), resetting(79_000, 3e6), resetting(16_000, 1e6))
	anthropicNone = limits(resetting(999, 1e6), resetting(95_000, 3e6), left(0), resetting(16_000, 1e6))
	none          limit.Headers

	short   = money.Usage{Input: 41, Output: 9}
	long    = money.Usage{Input: 1062, Cached: 1024, Output: 11}
	refusal = money.Usage{Input: 1062, Cached: 1024, Output: 1}
)

// limits are of requests, tokens, input and output, in this order.
func limits(of ...limit.Header) (h limit.Headers) {
	copy(h.Of[:], of)
	return h
}

func served(used money.Usage) route.Outcome {
	return route.Outcome{Kind: route.Served, Status: 200, HasUsage: true, Usage: used}
}

func ended(kind route.OutcomeKind, status int, detail string, wait int64) route.Outcome {
	return route.Outcome{Kind: kind, Status: status, Detail: detail, RetryAfter: wait}
}

// using is an outcome of an answer that told its usage first.
func using(used money.Usage, o route.Outcome) route.Outcome {
	o.HasUsage, o.Usage = true, used
	return o
}

var wire = map[string]wireAnswer{
	"openai/success":                   {ChatCompletions, served(short), openaiLeft, openaiRequest, openaiAnswer, Stopped, 86_000},
	"openai/success-stream":            {ChatCompletions, served(short), openaiLeft, openaiRequest, openaiAnswer, Stopped, 86_000},
	"openai/midstream-error":           {ChatCompletions, ended(route.Faulted, 502, "502 server_error", 0), openaiLeft, openaiRequest, openaiAnswer, Unfinished, 0},
	"openai/responses-stream":          {Responses, served(short), openaiLeft, openaiRequest, "resp_example0001", Stopped, 86_000},
	"openai/responses-midstream-error": {Responses, ended(route.Limited, 429, "429 rate_limit_exceeded", 0), openaiLeft, openaiRequest, "resp_example0001", Unfinished, 0},
	"openai/rate-limited": {ChatCompletions, ended(route.Limited, 429, "429 rate_limit_exceeded", 19_874_000),
		limits(resetting(4871, 1_548_000), limit.Header{HasRemaining: true, Remaining: 1204, HasReset: true, Reset: 360e6}), "req_6c2a1d8b0e4f507392bb1d3e5f7091a2", "", Unfinished, 0},
	"openai/slow-down":       {ChatCompletions, ended(route.Limited, 429, "429 slow_down", 5e6), openaiLeft, openaiRequest, "", Unfinished, 0},
	"openai/quota-exhausted": {ChatCompletions, ended(route.Unauthorized, 429, "429 insufficient_quota", 0), none, openaiRequest, "", Unfinished, 0},
	"openai/server-error":    {ChatCompletions, ended(route.Faulted, 503, "503 server_is_overloaded", 3e6), none, openaiRequest, "", Unfinished, 0},
	"openai/context-length":  {ChatCompletions, ended(route.TooLong, 400, "400 context_length_exceeded", 0), openaiLeft, openaiRequest, "", Unfinished, 0},
	"openai/content-filter":  {ChatCompletions, ended(route.Filtered, 400, "400 content_policy_violation", 0), openaiLeft, openaiRequest, "", Unfinished, 0},

	"azure-openai/success":               {ChatCompletions, served(short), azureLeft, azureRequest, azureAnswer, Stopped, 86_000},
	"azure-openai/success-stream":        {ChatCompletions, served(short), azureLeft, azureRequest, azureAnswer, Stopped, 86_000},
	"azure-openai/midstream-error":       {ChatCompletions, ended(route.Faulted, 502, "502 server_error", 0), azureLeft, azureRequest, azureAnswer, Unfinished, 0},
	"azure-openai/content-filter-stream": {ChatCompletions, ended(route.Filtered, 200, "content_filter", 0), azureLeft, azureRequest, azureAnswer, Blocked, 0},
	"azure-openai/content-filter":        {ChatCompletions, ended(route.Filtered, 400, "400 content_filter", 0), azureLeft, azureRequest, "", Unfinished, 0},
	"azure-openai/context-length":        {ChatCompletions, ended(route.TooLong, 400, "400 context_length_exceeded", 0), azureLeft, azureRequest, "", Unfinished, 0},
	"azure-openai/deployment-not-found":  {ChatCompletions, ended(route.Missing, 404, "404 DeploymentNotFound", 0), azureLeft, azureRequest, "", Unfinished, 0},
	"azure-openai/high-demand":           {ChatCompletions, ended(route.Limited, 429, "429", 6e6), none, azureRequest, "", Unfinished, 0},
	"azure-openai/rate-limited":          {ChatCompletions, ended(route.Limited, 429, "429", 36_412_000), limits(resetting(12, 8e6), resetting(0, 37e6)), azureRequest, "", Unfinished, 0},
	"azure-openai/server-error":          {ChatCompletions, ended(route.Faulted, 500, "500 server_error", 0), none, azureRequest, "", Unfinished, 0},

	"anthropic/success":         {Messages, served(long), anthropicLeft, anthropicRequest, anthropicAnswer, Stopped, 390_800},
	"anthropic/success-stream":  {Messages, served(long), anthropicLeft, anthropicRequest, anthropicAnswer, Stopped, 390_800},
	"anthropic/midstream-error": {Messages, using(refusal, ended(route.Faulted, 529, "529 overloaded_error", 0)), anthropicLeft, anthropicRequest, anthropicAnswer, Unfinished, 290_800},
	"anthropic/content-filter":  {Messages, using(refusal, ended(route.Filtered, 200, "content_filter", 0)), anthropicLeft, anthropicRequest, anthropicAnswer, Blocked, 290_800},
	"anthropic/context-length":  {Messages, ended(route.TooLong, 400, "400 invalid_request_error", 0), none, anthropicRequest, "", Unfinished, 0},
	"anthropic/rate-limited":    {Messages, ended(route.Limited, 429, "429 rate_limit_error", 14e6), anthropicNone, anthropicLimited, "", Unfinished, 0},
	"anthropic/ramp-limited":    {Messages, ended(route.Limited, 429, "429 ramp_limit_exceeded", 30e6), anthropicNone, anthropicLimited, "", Unfinished, 0},
	"anthropic/quota-exhausted": {Messages, ended(route.Unauthorized, 429, "429 enforced_spend_limit_reached", 0), none, anthropicRequest, "", Unfinished, 0},
	"anthropic/billing":         {Messages, ended(route.Unauthorized, 402, "402 billing_error", 0), none, anthropicRequest, "", Unfinished, 0},
	"anthropic/internal-error":  {Messages, ended(route.Faulted, 500, "500 api_error", 0), none, anthropicRequest, "", Unfinished, 0},
	"anthropic/server-error":    {Messages, ended(route.Faulted, 529, "529 overloaded_error", 0), none, anthropicRequest, "", Unfinished, 0},

	"vllm/success":                  {ChatCompletions, served(short), none, "3f2a9c0d4b5e4f60a1b2c3d4e5f60718", vllmAnswer, Stopped, 86_000},
	"vllm/success-stream":           {ChatCompletions, served(short), none, "", vllmAnswer, Stopped, 86_000},
	"vllm/midstream-error":          {ChatCompletions, ended(route.Faulted, 500, "500 InternalServerError", 0), none, "", vllmAnswer, Unfinished, 0},
	"vllm/context-length":           {ChatCompletions, ended(route.TooLong, 400, "400 BadRequestError", 0), none, "", "", Unfinished, 0},
	"vllm/context-length-old-shape": {ChatCompletions, ended(route.TooLong, 400, "400 BadRequestError", 0), none, "", "", Unfinished, 0},
	"vllm/model-not-found":          {ChatCompletions, ended(route.Missing, 404, "404 NotFoundError", 0), none, "", "", Unfinished, 0},
	"vllm/queue-full":               {ChatCompletions, ended(route.Faulted, 503, "503 ServiceUnavailableError", 0), none, "", "", Unfinished, 0},
	"vllm/rate-limited":             {ChatCompletions, ended(route.Limited, 429, "429 rate_limit_exceeded", 1e6), none, "", "", Unfinished, 0},
	"vllm/server-error":             {ChatCompletions, ended(route.Faulted, 500, "500 InternalServerError", 0), none, "", "", Unfinished, 0},
}

func TestEveryWireAnswerIsUnderstood(t *testing.T) {
	for name, want := range wire {
		if diff := cmp.Diff(want, understand(t, name, want.API)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestEveryWireFileHasARow(t *testing.T) {
	seen := map[string]bool{}
	err := fs.WalkDir(os.DirFS("testdata/wire"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "README.md" {
			return err
		}
		name := strings.TrimSuffix(strings.TrimSuffix(path, filepath.Ext(path)), ".head")
		seen[name] = true
		if _, ok := wire[name]; !ok {
			t.Errorf("%s has no row", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(wire) {
		t.Errorf("%d rows for %d answers", len(wire), len(seen))
	}
}

// understand reads an answer as an attempt does: its head, then all of its body.
func understand(t *testing.T, name string, api API) wireAnswer {
	family, _, _ := strings.Cut(name, "/")
	d := Of(family)
	status, h, body, streamed := wireFile(t, name)
	a := wireAnswer{API: api, Request: d.RequestID(h)}
	a.Limits, _ = d.Limits(h, wireClock)
	if streamed {
		listen(t, d.Stream(api, bytes.NewReader(body)), &a)
	} else {
		j := d.Answer(api, status, h, body, wireClock)
		a.Outcome, a.ID, a.Finish = j.Outcome, j.ID, j.Finish
	}
	a.Cost = wirePrice.Cost(a.Outcome.Usage)
	return a
}

// listen reads a stream to its end. What comes after a failure moves nothing.
func listen(t *testing.T, s *Stream, a *wireAnswer) {
	var used money.Usage
	told, over := false, false
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || e.Kind == Malformed {
			t.Fatal(e.Kind, err)
		}
		if e.HasUsage {
			used, told = e.Usage, true
		}
		a.ID += e.ID
		if e.Finish != Unfinished {
			a.Finish = e.Finish
		}
		switch {
		case over:
		case e.Kind == Failed:
			a.Outcome, over = e.Outcome, true
		case e.Kind == Done:
			a.Outcome, over = a.Finish.Outcome(), true
		}
	}
	if !over {
		t.Error("no end")
	}
	if told {
		a.Outcome = using(used, a.Outcome)
	}
}

// wireFile is an answer as it comes: a file with its body, or a stream beside its head.
func wireFile(t *testing.T, name string) (status int, h http.Header, body []byte, streamed bool) {
	t.Helper()
	path := filepath.Join("testdata", "wire", name)
	stream, err := os.ReadFile(path + ".sse")
	streamed = err == nil
	head := path + ".json"
	if streamed {
		head = path + ".head.json"
	}
	raw, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	h = http.Header{}
	for name, value := range file.Headers {
		h.Set(name, value)
	}
	if streamed {
		return file.Status, h, stream, true
	}
	return file.Status, h, file.Body, false
}
