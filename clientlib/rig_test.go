package clientlib_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// rig is a client on the workload "chat", whose first tier is endpoint a and whose
// second is b.
type rig struct {
	*clienttest.Client
	t    *testing.T
	a, b *clienttest.Endpoint
	http *http.Client
}

// setUp starts a rig; change alters its catalog and configuration first.
func setUp(t *testing.T, change ...func(*rig, *route.Catalog, *clientlib.Config)) *rig {
	t.Helper()
	r := &rig{t: t, a: clienttest.Start("a"), b: clienttest.Start("b")}
	t.Cleanup(r.a.Close)
	t.Cleanup(r.b.Close)
	catalog := clienttest.Pool("chat", r.a, r.b)
	catalog.Workloads[0].Tiers = []route.Tier{{Name: "first", Endpoints: []string{"a"}}, {Name: "second", Endpoints: []string{"b"}}}
	config := clientlib.Config{Catalog: catalog}
	for _, c := range change {
		c(r, catalog, &config)
	}
	var err error
	if r.Client, err = clienttest.Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.settledAll()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	r.http = r.HTTP()
	return r
}

// settledAll holds every test to it: what was taken has been given back.
func (r *rig) settledAll() {
	for _, e := range r.Endpoints() {
		if e.InFlight != 0 {
			r.t.Errorf("endpoint %q: %d in flight at the end", e.Name, e.InFlight)
		}
	}
}

// limits sets what the workload allows an attempt.
func limits(set func(*route.Attempts)) func(*rig, *route.Catalog, *clientlib.Config) {
	return func(_ *rig, c *route.Catalog, _ *clientlib.Config) { set(&c.Workloads[0].Attempts) }
}

// keys gives each endpoint a credential of its own.
func keys(r *rig, c *route.Catalog, config *clientlib.Config) {
	config.Credentials = map[string]clientlib.Credential{}
	for i, e := range []*clienttest.Endpoint{r.a, r.b} {
		name := "key-" + e.Name
		c.Endpoints[i].Credential = name
		r.t.Setenv("TEST_SECRET_"+e.Name, "secret-"+e.Name)
		host := strings.TrimSuffix(strings.TrimPrefix(e.URL, "http://"), "/v1")
		config.Credentials[name] = clientlib.Credential{From: "env:TEST_SECRET_" + e.Name, Hosts: []string{host}}
	}
}

const (
	plain    = `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`
	streamed = `{"model":"chat","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// post sends a body with pairs of headers.
func (r *rig) post(ctx context.Context, body string, headers ...string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.invalid/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	return r.http.Do(q)
}

// answer sends a body and reads the answer to its end.
func (r *rig) answer(body string, headers ...string) (*http.Response, string, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	resp, err := r.post(ctx, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

func (r *rig) decided(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.Decisions()); diff != "" {
		r.t.Errorf("decisions:\n%s", diff)
	}
}

func (r *rig) sent(e *clienttest.Endpoint, want int) {
	r.t.Helper()
	if got := len(e.Requests()); got != want {
		r.t.Errorf("endpoint %q got %d requests, want %d", e.Name, got, want)
	}
}

// code is the code of an error in OpenAI's shape.
func code(t *testing.T, body string) string {
	t.Helper()
	var e struct {
		Error struct{ Code, Message, Type string }
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Message == "" {
		t.Errorf("not an error object: %s", body)
	}
	return e.Error.Code
}

// text is what the events of a stream say together.
func text(stream string) string {
	var all strings.Builder
	for _, line := range strings.Split(stream, "\n") {
		var e struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if ok && json.Unmarshal([]byte(data), &e) == nil && len(e.Choices) > 0 {
			all.WriteString(e.Choices[0].Delta.Content)
		}
	}
	return all.String()
}
