package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/test/fake"
)

// patience is how long a caller waits for an answer.
const patience = 60 * time.Second

// result is how a call ended, as its caller sees it.
type result struct {
	status   int
	text     string // of all events, in order
	ended    bool   // properly, as far as the caller can tell
	code     string // of an error answer
	usage    bool   // told, which nobody asked for
	took     time.Duration
	attempts int // made meanwhile, by other calls too
	err      error
}

// right says whether it is the answer, whole and once.
func (r *result) right() bool {
	return r.err == nil && r.status == http.StatusOK && r.ended && r.text == fake.Text(tokens)
}

func (r *result) String() string {
	return fmt.Sprintf("%d %s %q ended=%v after %v: %v", r.status, r.code, r.text, r.ended, r.took, r.err)
}

// calls makes so many of them, evenly spread over the time of each: one after the other, or by so many callers.
func (s *scene) calls(n, callers int, every time.Duration) {
	s.results = make([]result, n)
	began := time.Now()
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := c; i < n; i += callers {
				time.Sleep(time.Until(began.Add(time.Duration(i) * every)))
				s.results[i] = s.call()
			}
		})
	}
	all.Wait()
}

// The prompt has 40 bytes, which the endpoints take for 10 tokens.
const prompt = "where does the ferry go to from here now"

func countTokens(string, []byte) int64 { return int64(len(prompt) / 4) }

func (s *scene) call() (r result) {
	began, before := time.Now(), len(s.Attempts())
	defer func() { r.took, r.attempts = time.Since(began), len(s.Attempts())-before }()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	resp, err := s.post(ctx, tokens)
	if err != nil {
		return result{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r = result{status: resp.StatusCode, err: err}
	switch {
	case resp.StatusCode != http.StatusOK:
		r.code = code(body)
	case s.policy == unstreamed:
		r.piece(body)
	default:
		r.events(string(body))
	}
	return r
}

func (s *scene) post(ctx context.Context, output int) (*http.Response, error) {
	body := fmt.Sprintf(`{"model":"chat","stream":%v,"metadata":{"output_tokens":"%d"},%q:[{"role":"user","content":%q}]}`,
		s.policy != unstreamed, output, s.api.prompt, prompt)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.invalid"+s.api.path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return s.http.Do(q)
}

func code(body []byte) string {
	var e said
	if err := json.Unmarshal(body, &e); err != nil {
		return err.Error()
	}
	return e.Error.Code
}

func (r *result) piece(body []byte) {
	var a said
	if r.err == nil {
		r.err = json.Unmarshal(body, &a)
	}
	if r.err == nil {
		r.text, r.ended = a.text(), true
	}
}

// events reads a stream: what follows its end is no part of it.
func (r *result) events(body string) {
	for event := range strings.SplitSeq(body, "\n\n") {
		_, data, ok := strings.Cut("\n"+event, "\ndata: ")
		var e said
		switch {
		case event == "":
		case data == "[DONE]":
			r.ended = true
		case !ok || r.ended || json.Unmarshal([]byte(data), &e) != nil:
			r.err = fmt.Errorf("an odd event: %q, %w", event, r.err)
			return
		default:
			r.text += e.text()
			r.ended = e.ends()
			r.usage = r.usage || e.Usage != nil && e.Type == ""
		}
	}
}
