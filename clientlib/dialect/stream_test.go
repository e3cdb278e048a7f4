package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
)

// tell reads a stream to its end and says what it held, an event a line.
func tell(r io.Reader) []string {
	s := NewStream(r)
	var told []string
	for {
		e, err := s.Next()
		if err != nil {
			return append(told, err.Error())
		}
		line := [...]string{"chunk", "comment", "done", "failed", "malformed"}[e.Kind]
		if e.Generated {
			line += " generated"
		}
		if e.UsageOnly {
			line += " usage-only"
		}
		if e.HasUsage {
			line += fmt.Sprintf(" %d+%d", e.Usage.Input, e.Usage.Output)
		}
		if e.Finish != "" {
			line += " " + e.Finish
		}
		if e.Kind == Failed {
			line += fmt.Sprintf(" %v %s", e.Outcome.Kind, e.Outcome.Detail)
		}
		told = append(told, line)
	}
}

func TestSampleStreams(t *testing.T) {
	for name, want := range map[string][]string{
		"openai-success-stream":  {"comment", "chunk", "chunk generated", "chunk generated", "chunk generated", "chunk stop", "chunk usage-only 41+9", "done", "EOF"},
		"vllm-success-stream":    {"comment", "chunk", "chunk generated", "chunk generated", "chunk stop", "chunk usage-only 41+9", "done", "EOF"},
		"openai-midstream-error": {"comment", "chunk", "chunk generated", "failed faulted 502 server_error", "EOF"},
		"vllm-midstream-error":   {"comment", "chunk", "chunk generated", "failed faulted 500 InternalServerError", "done", "EOF"},
	} {
		b, err := os.ReadFile("testdata/" + name + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tell(bytes.NewReader(b))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", MaxEvent)
	for _, c := range []struct {
		rule, stream string
		want         []string
	}{
		{"lines may end in CRLF", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n", []string{"chunk generated", "done", "EOF"}},
		{"a comment says nothing", ": keep-alive\n\ndata: [DONE]\n\n", []string{"comment", "done", "EOF"}},
		{"no space after the colon", "data:[DONE]\n\n", []string{"done", "EOF"}},
		{"the last event may lack its blank line", "data: [DONE]", []string{"done", "EOF"}},
		{"half an event is no end", "data: {\"choices\":[{\"del", []string{"unexpected EOF"}},
		{"data may take several lines", "data: {\"choices\":\ndata: []}\n\n", []string{"chunk", "EOF"}},
		{"a malformed event is one event", "data: {oops\n\ndata: [DONE]\n\n", []string{"malformed", "done", "EOF"}},
		{"a list is malformed", "data: []\n\n", []string{"malformed", "EOF"}},
		{"a role is no content", "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n", []string{"chunk", "EOF"}},
		{"a tool's call is content", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}\n\n", []string{"chunk generated", "EOF"}},
		{"reasoning is content", "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n", []string{"chunk generated", "EOF"}},
		{"an unknown member is not", "data: {\"choices\":[{\"delta\":{\"content\":null,\"p\":\"abc\"}}]}\n\n", []string{"chunk", "EOF"}},
		{"an event that is too long ends the stream", "data: " + long + "\n\n", []string{errEventTooLong.Error()}},
		{"and so do many lines", strings.Repeat("data: "+long[:9000]+"\n", 120), []string{errEventTooLong.Error()}},
	} {
		if diff := cmp.Diff(c.want, tell(strings.NewReader(c.stream))); diff != "" {
			t.Errorf("%s:\n%s", c.rule, diff)
		}
	}
}

func TestErrorsInAStream(t *testing.T) {
	for data, want := range map[string]route.Outcome{
		`{"error":{"message":"x","code":"rate_limit_exceeded"}}`:    {Kind: route.Limited, Status: 429, Detail: "429 rate_limit_exceeded"},
		`{"error":{"message":"x","type":"insufficient_quota"}}`:     {Kind: route.Unauthorized, Status: 429, Detail: "429 insufficient_quota"},
		`{"error":{"message":"x","code":503}}`:                      {Kind: route.Faulted, Status: 503, Detail: "503"},
		`{"object":"error","message":"x","type":"BadRequestError"}`: {Kind: route.Refused, Status: 400, Detail: "400 BadRequestError"},
		`{"error":"boom"}`: {Kind: route.Faulted, Status: 502, Detail: "502"},
		`{"error":{"message":"maximum context length is 8","code":null}}`:     {Kind: route.TooLong, Status: 400, Detail: "400"},
		`{"error":{"type":"invalid_api_key","message":"x"},"choices":[null]}`: {Kind: route.Unauthorized, Status: 401, Detail: "401 invalid_api_key"},
	} {
		e, err := NewStream(strings.NewReader("data: " + data + "\n\n")).Next()
		if err != nil || e.Kind != Failed {
			t.Errorf("%s: %v, %v", data, e.Kind, err)
		}
		if diff := cmp.Diff(want, e.Outcome); diff != "" {
			t.Errorf("%s:\n%s", data, diff)
		}
		if string(e.Data) != data {
			t.Errorf("data %s, want %s", e.Data, data)
		}
	}
}

func TestRawIsWhatCame(t *testing.T) {
	b, err := os.ReadFile("testdata/openai-success-stream.sse")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
		s := NewStream(r)
		var raw []byte
		for {
			e, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, e.Raw...)
		}
		if diff := cmp.Diff(string(b), string(raw)); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[]}\n\n: c\r\n\r\ndata: [DONE]"))
	f.Add([]byte("data: {\"error\":{\"code\":[]}}\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewStream(bytes.NewReader(b))
		total := 0
		for {
			e, err := s.Next()
			if err != nil {
				break
			}
			total += len(e.Raw)
		}
		if total > len(b) {
			t.Fatalf("%d bytes of %d", total, len(b))
		}
	})
}
