package dialect

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
)

func TestADialectIsFoundByItsName(t *testing.T) {
	want := []string{"openai", "openai-compatible", "azure-openai", "anthropic", "vllm", "http"}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range Names() {
		if d := Of(name); d == nil || d.name != name {
			t.Errorf("%s: %v", name, d)
		}
	}
	for _, name := range []string{"", "gemini", "OpenAI"} {
		if d := Of(name); d != nil {
			t.Errorf("%q: %s", name, d.name)
		}
	}
}

func TestWhereRequestsGo(t *testing.T) {
	const api, azureBase = "https://api.example/v1", "https://weu.azure.example"
	for _, c := range []struct {
		rule, dialect string
		api           API
		endpoint      route.Endpoint
		want          string // of an error: how it begins
	}{
		{"chat", "openai", ChatCompletions, route.Endpoint{BaseURL: api}, api + "/chat/completions"},
		{"a slash at the end changes nothing", "openai", ChatCompletions, route.Endpoint{BaseURL: api + "/"}, api + "/chat/completions"},
		{"responses", "openai-compatible", Responses, route.Endpoint{BaseURL: api}, api + "/responses"},
		{"embeddings", "vllm", Embeddings, route.Endpoint{BaseURL: "http://127.0.0.1:8000"}, "http://127.0.0.1:8000/embeddings"},
		{"a deployment is in the path", "azure-openai", ChatCompletions, route.Endpoint{BaseURL: azureBase, WireModel: "gpt/4o 2", APIVersion: "2025-04-01"},
			azureBase + "/openai/deployments/gpt%2F4o%202/chat/completions?api-version=2025-04-01"},
		{"the model's own name where it has no other", "azure-openai", Embeddings, route.Endpoint{BaseURL: azureBase + "/", Model: "embed"}, azureBase + "/openai/deployments/embed/embeddings"},
		{"responses name it in the body", "azure-openai", Responses, route.Endpoint{BaseURL: azureBase, Model: "m", APIVersion: "a&b"}, azureBase + "/openai/responses?api-version=a%26b"},
		{"Azure's newer addresses have no deployment", "azure-openai", ChatCompletions, route.Endpoint{BaseURL: azureBase + "/openai/v1/", Model: "m"}, azureBase + "/openai/v1/chat/completions"},
		{"but may have a version", "azure-openai", Responses, route.Endpoint{BaseURL: azureBase + "/openai/v1", Model: "m", APIVersion: "preview"}, azureBase + "/openai/v1/responses?api-version=preview"},
		{"messages", "anthropic", Messages, route.Endpoint{BaseURL: "https://api.example"}, api + "/messages"},
		{"a version is there once", "anthropic", Messages, route.Endpoint{BaseURL: api + "/"}, api + "/messages"},
		{"plain http adds nothing", "http", PlainHTTP, route.Endpoint{BaseURL: "https://fx.example/v1/"}, "https://fx.example/v1/"},
		{"no address", "openai", ChatCompletions, route.Endpoint{BaseURL: "http://a b"}, "base_url: "},
		{"another's API", "anthropic", ChatCompletions, route.Endpoint{BaseURL: api}, "dialect anthropic does not speak openai.chat"},
	} {
		u, err := Of(c.dialect).URL(&c.endpoint, c.api)
		if err != nil && strings.HasPrefix(err.Error(), c.want) {
			continue
		}
		if err != nil || u.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.rule, u, err, c.want)
		}
	}
}

func TestWhatADialectAddsToARequest(t *testing.T) {
	caller := http.Header{
		"Authorization": {"Bearer the caller's"}, "X-Api-Key": {"the caller's"}, "Openai-Beta": {"assistants=v2"},
		"Openai-Organization": {"org"}, "Anthropic-Version": {"2024-01-01"}, "Anthropic-Beta": {"a", "b\n", "c"},
	}
	for _, c := range []struct {
		rule, dialect, secret string
		from                  http.Header
		want                  http.Header
	}{
		{"bearer", "openai", "s", caller, http.Header{"Authorization": {"Bearer s"}, "Openai-Beta": {"assistants=v2"}}},
		{"no credential", "vllm", "", nil, http.Header{}},
		{"a key", "azure-openai", "s", caller, http.Header{"Api-Key": {"s"}}},
		{"a key and what the caller asks of the API", "anthropic", "s", caller, http.Header{"X-Api-Key": {"s"}, "Anthropic-Version": {"2024-01-01"}, "Anthropic-Beta": {"a", "c"}}},
		{"a version where the caller names none", "anthropic", "", nil, http.Header{"Anthropic-Version": {"2023-06-01"}}},
		{"nothing of the caller's", "http", "s", caller, http.Header{"Authorization": {"Bearer s"}}},
	} {
		to := http.Header{}
		Of(c.dialect).Header(to, c.from, c.secret)
		if diff := cmp.Diff(c.want, to); diff != "" {
			t.Errorf("%s:\n%s", c.rule, diff)
		}
	}
}

func TestWhoRefusesToBeAskedForUsage(t *testing.T) {
	for _, c := range []struct {
		rule, dialect string
		endpoint      route.Endpoint
		want          bool
	}{
		{"OpenAI does not", "openai", route.Endpoint{BaseURL: "https://api.openai.com/v1"}, true},
		{"nor do most others", "openai-compatible", route.Endpoint{BaseURL: "https://api.groq.com/openai/v1"}, true},
		{"Mistral does", "openai-compatible", route.Endpoint{BaseURL: "https://api.mistral.ai/v1"}, false},
		{"its models elsewhere do not", "openai-compatible", route.Endpoint{BaseURL: "https://other.example/mistral.ai/v1"}, true},
		{"Azure's old versions do", "azure-openai", route.Endpoint{APIVersion: "2024-08-01-preview"}, false},
		{"its new ones do not", "azure-openai", route.Endpoint{APIVersion: "2024-10-21"}, true},
		{"nor do those without a date", "azure-openai", route.Endpoint{APIVersion: "preview"}, true},
		{"or none", "azure-openai", route.Endpoint{}, true},
	} {
		if got := Of(c.dialect).Demands(&c.endpoint); got != c.want {
			t.Errorf("%s: %v", c.rule, got)
		}
	}
}

func TestAHeaderIsCarriedOnce(t *testing.T) {
	to := http.Header{"Anthropic-Beta": {"a"}}
	anthropic.Header(to, http.Header{"Anthropic-Beta": {"a"}}, "")
	if diff := cmp.Diff([]string{"a"}, to["Anthropic-Beta"]); diff != "" {
		t.Error(diff)
	}
}

func TestARequestIDIsOneShortWord(t *testing.T) {
	for id, want := range map[string]string{
		"req_5b1f0c7a": "req_5b1f0c7a", "a b": "", "a\x1b[2J": "", "é": "", strings.Repeat("x", 128): strings.Repeat("x", 128), strings.Repeat("x", 129): "",
	} {
		if got := openai.RequestID(http.Header{"X-Request-Id": {id}}); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestTheBestRequestIDIsTaken(t *testing.T) {
	for _, c := range []struct {
		dialect string
		h       http.Header
		want    string
	}{
		{"azure-openai", http.Header{"X-Request-Id": {"x"}, "Apim-Request-Id": {"a"}}, "a"},
		{"azure-openai", http.Header{"X-Request-Id": {"x"}, "Apim-Request-Id": {"not one"}}, "x"},
		{"openai-compatible", http.Header{"Cf-Ray": {"r"}}, "r"},
		{"anthropic", http.Header{"X-Request-Id": {"x"}, "Request-Id": {"r"}}, "r"},
		{"vllm", http.Header{}, ""},
	} {
		if got := Of(c.dialect).RequestID(c.h); got != c.want {
			t.Errorf("%s: %q, want %q", c.dialect, got, c.want)
		}
	}
}

// The header of every answer is read.
func TestReadingHeadersAllocatesNothing(t *testing.T) {
	h := http.Header{"X-Request-Id": {"r"}, "Content-Type": {"application/json"}}
	full := http.Header{
		"X-Ratelimit-Limit-Requests": {"5000"}, "X-Ratelimit-Remaining-Requests": {"4871"}, "X-Ratelimit-Reset-Requests": {"1.548s"},
		"X-Ratelimit-Limit-Tokens": {"800000"}, "X-Ratelimit-Remaining-Tokens": {"1204"}, "X-Ratelimit-Reset-Tokens": {"6m0s"},
		"Anthropic-Ratelimit-Tokens-Remaining": {"7"}, "Anthropic-Ratelimit-Tokens-Reset": {"2026-03-01T12:00:14Z"}, "Date": {"Sun, 01 Mar 2026 12:00:00 GMT"},
	}
	for _, name := range Names() {
		d := Of(name)
		if n := testing.AllocsPerRun(100, func() { _, _ = d.Limits(h, wallClock); _ = d.RequestID(h); _, _ = d.Limits(full, wallClock) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
