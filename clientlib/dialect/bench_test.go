package dialect

import (
	"net/http"
	"strings"
	"testing"
)

// chunkEvent is a usual one of 250 bytes.
const chunkEvent = `data: {"id":"chatcmpl-Bx81q0Zw7v","object":"chat.completion.chunk","created":1767000000,"model":"gpt-5-mini","system_fingerprint":"fp_0123","choices":[{"index":0,"delta":{"content":" harbour"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"

// endless gives a text again and again, as much at a time as it is asked for.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		copied := copy(b[n:], e.text[e.at:])
		n, e.at = n+copied, (e.at+copied)%len(e.text)
	}
	return n, nil
}

func BenchmarkStreamEvent(b *testing.B) {
	for name, c := range map[string]struct {
		api   API
		event string
	}{
		"chat":      {ChatCompletions, chunkEvent},
		"responses": {Responses, named(`{"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_0123456789abcdef","output_index":0,"content_index":0,"delta":" harbour","logprobs":[],"obfuscation":"k3Jd82kd"}`)},
		"messages":  {Messages, named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" harbour"}}`)},
	} {
		b.Run(name, func(b *testing.B) {
			s := speaker[c.api].Stream(c.api, &endless{text: c.event})
			b.ReportAllocs()
			for b.Loop() {
				if e, err := s.Next(); err != nil || !e.Generated {
					b.Fatal(e.Kind, err)
				}
			}
		})
	}
}

func TestGoodEventsAllocateNothing(t *testing.T) {
	for api, event := range map[API]string{
		ChatCompletions: chunkEvent + ": c\n\n" + events(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`),
		Responses:       named(`{"type":"response.output_text.delta","delta":"a"}`),
		Messages:        named(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`, `{"type":"message_delta","usage":{"output_tokens":2}}`),
		PlainHTTP:       "data: a\n\n",
	} {
		s := speaker[api].Stream(api, &endless{text: event})
		if n := testing.AllocsPerRun(1000, func() {
			if e, err := s.Next(); err != nil || e.Kind > Comment {
				t.Fatal(e.Kind, err)
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations an event", api, n)
		}
	}
}

// chatOf is a request of a conversation of about so many bytes.
func chatOf(size int) []byte {
	turn := `,{"role":"user","content":"` + strings.Repeat("How do I get to the harbour? ", 16) + `\n"}`
	return []byte(`{"model":"chat","stream":true,"temperature":0.2,"max_tokens":512,"messages":[{"role":"system","content":"Be brief."}` + strings.Repeat(turn, size/len(turn)) + `]}`)
}

func BenchmarkParse(b *testing.B) {
	for name, body := range map[string][]byte{"1k": chatOf(1 << 10), "16k": chatOf(16 << 10), "256k": chatOf(256 << 10)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := Parse(ChatCompletions, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBody(b *testing.B) {
	q, err := Parse(ChatCompletions, chatOf(1<<10))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.Body("m-1", true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	body := []byte(`{"id":"c-1","choices":[{"message":{"content":"` + strings.Repeat("The ferry leaves at nine. ", 80) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":41,"completion_tokens":9}}`)
	b.ReportAllocs()
	for b.Loop() {
		if j := compatible.Answer(ChatCompletions, 200, http.Header{}, body, wireClock); j.Finish != Stopped {
			b.Fatal(j)
		}
	}
}

func TestARequestIsReadWithFewAllocations(t *testing.T) {
	body := chatOf(1 << 10)
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse(ChatCompletions, body) }); n > 3 { // the Ask, its model and its prefix
		t.Errorf("%v allocations of Parse", n)
	}
	q, err := Parse(ChatCompletions, body)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = q.Body("m-1", true) }); n > 1 {
		t.Errorf("%v allocations of Body", n)
	}
}
