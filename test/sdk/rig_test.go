package sdk

import (
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// rig is a client on the workload "chat", whose first tier is endpoint a and whose second
// is b, and the SDKs that call it.
type rig struct {
	t      *testing.T
	client *clienttest.Client
	a, b   *endpoint
}

// The families of endpoints a rig can have.
var (
	openAI = family{"openai-compatible", []string{"openai.chat", "openai.responses", "openai.embeddings"}}
	claude = family{"anthropic", []string{"anthropic.messages"}}
)

// family is what endpoints speak.
type family struct {
	dialect string
	apis    []string
}

// setUp starts a rig; change alters its catalog and configuration first.
func setUp(t *testing.T, f family, change ...func(*route.Catalog, *clientlib.Config)) *rig {
	t.Helper()
	r := &rig{t: t, a: start(t, "a"), b: start(t, "b")}
	config := clientlib.Config{Catalog: r.catalog(f), Credentials: map[string]clientlib.Credential{}, Queue: -1}
	for _, e := range []*endpoint{r.a, r.b} {
		t.Setenv("SDK_TEST_KEY_"+e.name, "secret-"+e.name)
		config.Credentials["key-"+e.name] = clientlib.Credential{From: "env:SDK_TEST_KEY_" + e.name, Hosts: []string{e.host()}}
	}
	for _, c := range change {
		c(config.Catalog, &config)
	}
	var err error
	if r.client, err = clienttest.Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) catalog(f family) *route.Catalog {
	c := clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: r.a.url}, &clienttest.Endpoint{Name: "b", URL: r.b.url})
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		e.Dialect, e.APIs, e.Credential = f.dialect, f.apis, "key-"+e.Name
	}
	w := &c.Workloads[0]
	w.APIs, w.Tiers = f.apis, []route.Tier{{Name: "first", Endpoints: []string{"a"}}, {Name: "second", Endpoints: []string{"b"}}}
	return c
}

// close holds every test to it: what was taken has been given back.
func (r *rig) close() {
	for _, e := range r.client.Endpoints() {
		if e.InFlight != 0 {
			r.t.Errorf("endpoint %q: %d in flight at the end", e.Name, e.InFlight)
		}
	}
	r.client.Close()
}

func (e *endpoint) host() string {
	return strings.TrimSuffix(strings.TrimPrefix(e.url, "http://"), "/v1")
}

func (r *rig) http(config ...clientlib.TransportConfig) *http.Client {
	return &http.Client{Transport: r.client.Transport(append(config, clientlib.TransportConfig{})[0])}
}

// openAI is OpenAI's SDK with another http.Client, and nothing else changed.
func (r *rig) openAI(config ...clientlib.TransportConfig) openai.Client {
	return openai.NewClient(option.WithAPIKey("callers-own"), option.WithHTTPClient(r.http(config...)))
}

// anthropic is Anthropic's.
func (r *rig) anthropic(config ...clientlib.TransportConfig) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithAPIKey("callers-own"), anthropicoption.WithHTTPClient(r.http(config...)))
}

// decided says which attempts there were, and how each ended: "a faulted", "b served".
func (r *rig) decided(want ...string) {
	r.t.Helper()
	same(r.t, "decisions", r.client.Decisions(), want)
}

// sent says how many requests each endpoint got.
func (r *rig) sent(a, b int) {
	r.t.Helper()
	same(r.t, "requests at a and b", []int{len(r.a.seen()), len(r.b.seen())}, []int{a, b})
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}
