package fake

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hello = `{"model":"m","messages":[{"role":"user","content":"where does the ferry go"}]`

func start(t *testing.T, c Config) (*Endpoint, *http.Client) {
	t.Helper()
	transport := &http.Transport{}
	if l, ok := c.Listener.(*Memory); ok {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, &http.Client{Transport: transport}
}

func post(t *testing.T, e *Endpoint, client *http.Client, body string, header ...string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	return answer, string(got), err
}

func TestAWholeAnswerHasTextAndUsage(t *testing.T) {
	e, client := start(t, Config{Name: "a"})
	answer, body, err := post(t, e, client, hello+`,"max_tokens":3}`)
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	var got completion
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	text, finish := "the ferry leaves", "length"
	want := completion{
		ID: "chatcmpl-a-1", Object: "chat.completion", Created: got.Created, Model: "m",
		Choices: []choice{{Message: &delta{Role: "assistant", Content: &text}, FinishReason: &finish}},
		Usage:   &usage{PromptTokens: 6, CompletionTokens: 3, TotalTokens: 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Counts{Requests: 1, Connections: 1, Answered: 1, Input: 6, Output: 3}, e.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestAStreamBeginsWithTheRoleAndEndsWithDone(t *testing.T) {
	for _, tc := range []struct{ name, options, want string }{
		{"without usage", "", `role, "the", " ferry leaves", stop, [DONE]`},
		{"with usage", `,"stream_options":{"include_usage":true}`, `role, "the", " ferry leaves", stop, usage 6+3, [DONE]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, client := start(t, Config{Name: "a"})
			_, body, err := post(t, e, client, hello+`,"stream":true,"metadata":{"output_tokens":"3"}`+tc.options+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, events(t, body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// events is a stream in short.
func events(t *testing.T, body string) string {
	t.Helper()
	var short []string
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var c completion
		if data == "[DONE]" {
			short = append(short, data)
			continue
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			short = append(short, "odd")
			continue
		}
		short = append(short, inShort(c))
	}
	return strings.Join(short, ", ")
}

func inShort(c completion) string {
	switch {
	case c.Usage != nil:
		return fmt.Sprintf("usage %d+%d", c.Usage.PromptTokens, c.Usage.CompletionTokens)
	case c.Choices[0].FinishReason != nil:
		return *c.Choices[0].FinishReason
	case c.Choices[0].Delta.Role != "":
		return "role"
	}
	return strconv.Quote(*c.Choices[0].Delta.Content)
}

func TestWhatMayNotBeSentIsCountedWithItsReason(t *testing.T) {
	config := Config{
		Name: "a", Models: []string{"m"}, Key: "right", Capabilities: []string{"stream"},
		ContextWindow: 1000, MaxOutput: 500,
	}
	right := []string{"Authorization", "Bearer right"}
	for _, tc := range []struct {
		name, body string
		header     []string
		status     int
		reason     string
	}{
		{"all right", hello + `}`, right, 200, ""},
		{"another model", `{"model":"n"}`, right, 404, "model"},
		{"no key", hello + `}`, nil, 401, "key"},
		{"another key", hello + `}`, []string{"Authorization", "Bearer wrong"}, 401, "key"},
		{"our header", hello + `}`, append([]string{"X-Pointsman-Workload", "chat"}, right...), 200, "header"},
		{"a tenant", hello + `}`, append([]string{"Tenant-Id", "acme"}, right...), 200, "header"},
		{"tools", hello + `,"tools":[{}]}`, right, 400, "capability"},
		{"a schema", hello + `,"response_format":{"type":"json_schema"}}`, right, 400, "capability"},
		{"an image", `{"model":"m","messages":[{"content":[{"type":"image_url"}]}]}`, right, 400, "capability"},
		{"a stream it can", hello + `,"stream":true}`, right, 200, ""},
		{"too long together", `{"model":"m","max_tokens":500,"messages":[{"content":"` + strings.Repeat("word", 501) + `"}]}`, right, 400, "context_window"},
		{"just fitting", `{"model":"m","max_tokens":500,"messages":[{"content":"` + strings.Repeat("word", 500) + `"}]}`, right, 200, ""},
		{"too much output", hello + `,"max_completion_tokens":501}`, right, 400, "max_output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, client := start(t, config)
			answer, body, err := post(t, e, client, tc.body, tc.header...)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != tc.status {
				t.Errorf("status %d, want %d: %s", answer.StatusCode, tc.status, body)
			}
			var want map[string]int
			if tc.reason != "" {
				want = map[string]int{tc.reason: 1}
			}
			if diff := cmp.Diff(want, e.Counts().Violations); diff != "" {
				t.Error(diff)
			}
			if got := len(e.Violations()); got != len(want) {
				t.Errorf("%d violations kept, want %d", got, len(want))
			}
		})
	}
}

func TestHangLastsUntilTheCallerGoes(t *testing.T) {
	arrived := make(chan Arrival, 1)
	e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Hang}}, OnRequest: func(a Arrival) { arrived <- a }})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL()+"/chat/completions", strings.NewReader(hello+"}"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { _, err := client.Do(r); done <- err }()
	if a := <-arrived; a.Fault != Hang || a.Model != "m" || a.Input != 6 {
		t.Errorf("%+v", a)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// bubble runs f with an endpoint that lives in virtual time.
func bubble(t *testing.T, c Config, f func(t *testing.T, e *Endpoint, client *http.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Listener = NewMemory()
		e, client := start(t, c)
		f(t, e, client)
	})
}

func TestAnAnswerTakesAsLongAsAModelWould(t *testing.T) {
	config := Config{Name: "a", TTFT: Latency{Base: 100 * time.Millisecond, PerInputToken: 5 * time.Millisecond}, TPOT: 20 * time.Millisecond}
	for _, tc := range []struct {
		name, body string
		speed      float64
		fault      []Fault
		want       time.Duration
	}{
		{"a whole answer", hello + `,"max_tokens":11}`, 1, nil, 330 * time.Millisecond},
		{"a stream, the same", hello + `,"max_tokens":11,"stream":true}`, 1, nil, 330 * time.Millisecond},
		{"twice as fast", hello + `,"max_tokens":11}`, 2, nil, 165 * time.Millisecond},
		{"slow by a factor", hello + `,"max_tokens":11}`, 1, []Fault{{Kind: Slow, Factor: 4}}, 720 * time.Millisecond},
		{"a delay is the same at any speed", hello + `,"max_tokens":11}`, 2, []Fault{{Kind: Slow, Delay: time.Second}}, 1165 * time.Millisecond},
		{"slow by a delay", hello + `,"max_tokens":11}`, 1, []Fault{{Kind: Slow, Delay: time.Second}}, 1330 * time.Millisecond},
		{"slow by default", hello + `,"max_tokens":1}`, 1, []Fault{{Kind: Slow}}, 1300 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config.Speed, config.Faults = tc.speed, tc.fault
			bubble(t, config, func(t *testing.T, e *Endpoint, client *http.Client) {
				began := time.Now()
				if _, _, err := post(t, e, client, tc.body); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got != tc.want {
					t.Errorf("took %v, want %v", got, tc.want)
				}
			})
		})
	}
}

func TestRequestsWaitForASlotAndAFullQueueRefuses(t *testing.T) {
	config := Config{Name: "a", TTFT: Latency{Base: time.Second}, Slots: 1, Queue: 1}
	bubble(t, config, func(t *testing.T, e *Endpoint, client *http.Client) {
		type result struct {
			status int
			at     time.Duration
		}
		began, results := time.Now(), make(chan result)
		for range 3 {
			go func() {
				answer, _, err := post(t, e, client, hello+`,"max_tokens":1}`)
				if err != nil {
					t.Error(err)
				}
				results <- result{answer.StatusCode, time.Since(began)}
			}()
			synctest.Wait()
		}
		if c := e.Counts(); c.InFlight != 1 || c.Queued != 1 {
			t.Errorf("%+v", c)
		}
		got := []result{<-results, <-results, <-results}
		want := []result{{503, 0}, {200, time.Second}, {200, 2 * time.Second}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := New(Config{Name: "a", Slots: -1, TPOT: -1, Faults: []Fault{{Kind: Fail, From: 2, To: 1}}})
	for _, want := range []string{`fake endpoint "a"`, "Slots is -1", "TPOT is -1", "is no time"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestTokensNearEachOtherShareAChunk(t *testing.T) {
	for _, tt := range []struct {
		tpot  time.Duration
		speed float64
		want  int64
	}{
		{15 * time.Millisecond, 1, 1}, {15 * time.Millisecond, 5, 6}, {15 * time.Millisecond, 20, 26},
		{30 * time.Millisecond, 1, 1}, {time.Microsecond, 1, chunkMax}, {0, 1, chunkMax},
	} {
		c := Config{TPOT: tt.tpot, Speed: tt.speed}
		if got := c.share(); got != tt.want {
			t.Errorf("%v at speed %v: %d tokens a chunk, want %d", tt.tpot, tt.speed, got, tt.want)
		}
	}
}
