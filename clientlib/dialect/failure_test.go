package dialect

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

func TestFailureByStatusAndBody(t *testing.T) {
	const (
		o, c, z, a, v, p = "openai", "openai-compatible", "azure-openai", "anthropic", "vllm", "http"
		long             = route.TooLong
	)
	for _, c := range []struct {
		rule, dialect string
		status        int
		body          string
		want          route.OutcomeKind
	}{
		{"a bad key", o, 401, `{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}`, route.Unauthorized},
		{"a country", o, 403, `{"error":{"message":"x","type":"request_forbidden","code":"unsupported_country_region_territory"}}`, route.Unauthorized},
		{"a firewall's page is no word of the API", o, 403, `<html>blocked</html>`, route.Faulted},
		{"nor is its JSON", o, 403, `{"message":"Forbidden"}`, route.Faulted},
		{"nor a problem's address", o, 403, `{"type":"https://problems.example/1020","title":"Access denied"}`, route.Faulted},
		{"a project without the model keeps its key", o, 403, `{"error":{"code":"model_not_found","type":"invalid_request_error"}}`, route.Missing},
		{"a conflict", o, 409, `{"error":{"type":"conflict_error"}}`, route.Faulted},
		{"payment required", o, 402, ``, route.Unauthorized},
		{"out of credit as a plain 400", o, 400, `{"error":{"message":"Your credit balance is too low to continue."}}`, route.Unauthorized},
		{"a caller's words take no credential out", o, 400, `{"error":{"message":"Invalid value: 'your credit balance is too low'.","type":"x"}}`, route.Refused},
		{"out of credit as a 400 code", o, 400, `{"error":{"code":"insufficient_quota"}}`, route.Unauthorized},
		{"out of credit by its type", o, 429, `{"error":{"type":"insufficient_quota","code":"unheard_of"}}`, route.Unauthorized},
		{"credit used up", o, 429, `{"error":{"code":"credit_balance_exhausted"}}`, route.Unauthorized},
		{"the organization's limit of spending", o, 429, `{"error":{"code":"organization_spend_limit_exceeded"}}`, route.Unauthorized},
		{"the project's", o, 429, `{"error":{"code":"project_spend_limit_exceeded"}}`, route.Unauthorized},
		{"the organization's limit of use", o, 429, `{"error":{"code":"organization_usage_limit_exceeded"}}`, route.Unauthorized},
		{"an account that pays for nothing", o, 429, `{"error":{"code":"billing_not_active","message":"Your account is not active, please check your billing details on our website."}}`, route.Unauthorized},
		{"a rate", o, 429, `{"error":{"code":"rate_limit_exceeded","type":"requests"}}`, route.Limited},
		{"growing too fast", o, 429, `{"error":{"code":"slow_down","type":"rate_limit_error"}}`, route.Limited},
		{"growing too fast, as it was said before", o, 503, `{"error":{"code":"slow_down"}}`, route.Faulted},
		{"a 429 that is no JSON", o, 429, `slow down`, route.Limited},
		{"overload", o, 503, `{"error":{"code":"server_is_overloaded","type":"service_unavailable_error"}}`, route.Faulted},
		{"a server's error", o, 500, `{"error":{"type":"server_error"}}`, route.Faulted},
		{"a plain 400", o, 400, `{"error":{"message":"temperature: not a number","code":null}}`, route.Refused},
		{"a validation error that echoes 429", o, 400, `{"error":{"message":"token ids [429, 503] are bad","code":null}}`, route.Refused},
		{"a body that echoes 429", o, 422, `429 {"code":429}`, route.Refused},
		{"a parameter check that looks like the context", o, 400, `{"error":{"message":"maximum context length is","code":"string_above_max_length"}}`, route.Refused},
		{"one request above the whole limit per minute", o, 429, `{"error":{"message":"Request too large for m on tokens per min (TPM)","code":"rate_limit_exceeded"}}`, long},
		{"a prompt that a policy refuses", o, 400, `{"error":{"message":"Invalid prompt: flagged by our usage policy.","code":"invalid_prompt"}}`, route.Filtered},
		{"also as it is said now", o, 400, `{"error":{"message":"Invalid prompt: we've limited access to this content for safety reasons.","code":"invalid_prompt"}}`, route.Filtered},
		{"a response of another account", o, 400, `{"error":{"message":"Previous response with id 'resp_1' not found.","code":"previous_response_not_found"}}`, route.Refused},
		{"a body that is too large", o, 413, `<html>`, long},
		{"a missing page: no such API there", o, 404, `{"detail":"Not Found"}`, route.Missing},
		{"something else missing", o, 404, `{"error":{"message":"no such file","code":"file_not_found"}}`, route.Refused},
		{"a missing model", o, 404, `{"error":{"code":"model_not_found"}}`, route.Missing},
		{"a model that is gone", o, 410, ``, route.Missing},
		{"the server's own time-out", o, 408, ``, route.Faulted},
		{"semantic failure", o, 422, `{}`, route.Refused},
		{"a redirect", o, 307, ``, route.Faulted},
		{"an overloaded provider", o, 529, `{"type":"error","error":{"type":"overloaded_error"}}`, route.Faulted},
		{"no JSON", o, 502, `<html>bad gateway</html>`, route.Faulted},
		{"an error that is a text", o, 400, `{"error":"no"}`, route.Refused},

		{"a full tier", c, 498, `{"error":{"code":"capacity_exceeded"}}`, route.Limited},
		{"is Groq's alone", o, 498, `{"error":{"code":"capacity_exceeded"}}`, route.Refused},
		{"Mistral's full tier", c, 429, `{"message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","code":"3505"}`, route.Limited},
		{"Mistral's bill", c, 402, `{"detail":"payment required"}`, route.Unauthorized},
		{"DeepSeek's balance", c, 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, route.Unauthorized},
		{"DeepSeek's parameters", c, 422, `{"error":{"type":"invalid_request_error"}}`, route.Refused},
		{"DeepSeek's filter", c, 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","code":"invalid_request_error"}}`, route.Filtered},
		{"Mistral's parameters", c, 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","seed"]}]},"type":"invalid_request_error","param":null,"code":null}`, route.Refused},
		{"and as they were said before", c, 422, `{"detail":[{"type":"extra_forbidden"}]}`, route.Refused},
		{"SGLang's window", c, 400, `{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).","type":"BadRequestError","code":400}`, long},
		{"an account that Groq has stopped", c, 400, `{"error":{"message":"Organization has been restricted.","type":"invalid_request_error","code":"organization_restricted"}}`, route.Unauthorized},
		{"or one whose limit of spending is reached", c, 400, `{"error":{"message":"x","type":"invalid_request_error","code":"blocked_api_access"}}`, route.Unauthorized},
		{"a model that Groq has retired", c, 400, `{"error":{"code":"model_decommissioned","type":"invalid_request_error"}}`, route.Missing},
		{"a model that Mistral does not know", c, 400, `{"message":"Invalid model: m","type":"invalid_model","code":"1500"}`, route.Missing},
		{"TGI's window", c, 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096\",\"error_type\":\"validation\"}", long},
		{"Together's window", c, 422, `{"error":{"message":"Input validation error: The sum of 'inputs' tokens and 'max_new_tokens' must not exceed 4097.","type":"invalid_request_error"}}`, long},
		{"llama.cpp's window", c, 400, `{"error":{"message":"the request exceeds the available context size"}}`, long},
		{"Cerebras' window", c, 400, `{"message":"Current length is 9000 while limit is 8192","code":"x"}`, long},
		{"half of that phrase", c, 400, `{"message":"Current length is 9000","code":"x"}`, route.Refused},
		{"Mistral's window", c, 400, `{"message":"too large for model with 32768 maximum context length","type":"invalid_request_error"}`, long},

		{"Azure's rate", z, 429, `{"error":{"code":"429","message":"exceeded token rate limit. Please retry after 37 seconds."}}`, route.Limited},
		{"Azure's high demand", z, 429, `{"error":{"code":"429","message":"currently experiencing high demand"}}`, route.Limited},
		{"Azure's filter by its inner code", z, 400, `{"error":{"code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, route.Filtered},
		{"a deployment that is not there", z, 404, `{"error":{"code":"DeploymentNotFound","message":"x"}}`, route.Missing},
		{"a version that is not there", z, 404, `{"error":{"code":"404","message":"Resource not found"}}`, route.Missing},
		{"a stored response that is not there", z, 404, `{"error":{"code":null,"type":"invalid_request_error","message":"x"}}`, route.Refused},
		{"a quota of API Management", z, 403, `{"statusCode":403,"message":"Out of call volume quota."}`, route.Unauthorized},
		{"its rate", z, 429, `{"statusCode":429,"message":"Rate limit is exceeded."}`, route.Limited},

		{"Anthropic's rate", a, 429, `{"type":"error","error":{"type":"rate_limit_error"}}`, route.Limited},
		{"its ramp", a, 429, `{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"ramp_limit_exceeded"}}}`, route.Limited},
		{"its limit of spending", a, 429, `{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}`, route.Unauthorized},
		{"its contract's", a, 429, `{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"contract_spend_limit_reached"}}}`, route.Unauthorized},
		{"its bill", a, 402, `{"type":"error","error":{"type":"billing_error","details":{"error_code":"linked_organization_x"}}}`, route.Unauthorized},
		{"its window", a, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`, long},
		{"its limit of use, which is a 400", a, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC."}}`, route.Unauthorized},
		{"an organization that it has stopped", a, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}`, route.Unauthorized},
		{"a window that is not paid for", a, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"Usage credits are required for long context requests."}}`, long},
		{"its window with what is to come", a, 400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 9 + 1 > 9\"}}", long},
		{"its edge", a, 413, `{"type":"error","error":{"type":"request_too_large"}}`, long},
		{"its keys", a, 401, `{"type":"error","error":{"type":"authentication_error"}}`, route.Unauthorized},
		{"its permissions", a, 403, `{"type":"error","error":{"type":"permission_error"}}`, route.Unauthorized},
		{"its models", a, 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, route.Missing},
		{"a file of the caller's", a, 404, `{"type":"error","error":{"type":"not_found_error","message":"File not found: my_model"}}`, route.Refused},
		{"its conflicts", a, 409, `{"type":"error","error":{"type":"conflict_error"}}`, route.Faulted},
		{"its time-outs", a, 504, `{"type":"error","error":{"type":"timeout_error"}}`, route.Faulted},
		{"its filter", a, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, route.Filtered},

		{"vLLM's window, as it was said before", v, 400, `{"object":"error","message":"The prompt (length 9) is longer than the maximum model length of 8","type":"BadRequestError","code":400}`, long},
		{"vLLM's window, as it is said now", v, 400, `{"error":{"message":"You passed 9 input tokens and requested 0 output tokens. However, the model's context length is only 8 tokens, resulting in a maximum input length of 8 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`, long},
		{"a response that vLLM has not kept", v, 404, `{"error":{"message":"Response with id 'resp_1' not found.","type":"invalid_request_error","param":"response_id","code":404}}`, route.Refused},
		{"a gateway's rate", v, 429, `Too Many Requests`, route.Limited},

		{"plain: a key", p, 401, ``, route.Unauthorized},
		{"plain: a path that is forbidden", p, 403, `{"error":{"code":"x"}}`, route.Refused},
		{"plain: a path that is not there", p, 404, ``, route.Refused},
		{"plain: a path that is gone", p, 410, ``, route.Refused},
		{"plain: a rate", p, 429, `{"error":{"code":"insufficient_quota"}}`, route.Limited},
		{"plain: bodies are not read", p, 400, `{"error":{"code":"context_length_exceeded"}}`, route.Refused},
		{"plain: a failure", p, 503, ``, route.Faulted},
	} {
		if got := Of(c.dialect).Failure(c.status, http.Header{}, []byte(c.body), wallClock); got.Kind != c.want || got.Status != c.status {
			t.Errorf("%s: %v with status %d, want %v with %d", c.rule, got.Kind, got.Status, c.want, c.status)
		}
	}
}

func TestAnErrorIsKnownWithoutAStatus(t *testing.T) {
	for _, c := range []struct {
		dialect, body, detail string
		want                  route.OutcomeKind
	}{
		{"openai", `{"error":{"message":"x","code":"rate_limit_exceeded"}}`, "429 rate_limit_exceeded", route.Limited},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`, "429 rate_limit_exceeded", route.Limited},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"server_is_overloaded"}}}`, "503 server_is_overloaded", route.Faulted},
		{"openai", `{"type":"error","code":"server_error","message":"x","param":null}`, "502 server_error", route.Faulted},
		{"openai", `{"error":{"message":"x","code":"invalid_api_key"}}`, "401 invalid_api_key", route.Unauthorized},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}}`, "400 context_length_exceeded", route.TooLong},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"x"}}}`, "400 invalid_prompt", route.Filtered},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"image_content_policy_violation","message":"x"}}}`, "400 image_content_policy_violation", route.Filtered},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"bio_policy","message":"x"}}}`, "400 bio_policy", route.Filtered},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"invalid_image_url","message":"x"}}}`, "400 invalid_image_url", route.Refused},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"image_too_small","message":"x"}}}`, "400 image_too_small", route.Refused},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"failed_to_download_image","message":"x"}}}`, "400 failed_to_download_image", route.Refused},
		{"openai", `{"type":"response.failed","response":{"error":{"code":"vector_store_timeout","message":"x"}}}`, "502 vector_store_timeout", route.Faulted},
		{"azure-openai", `{"error":{"message":"x","code":"429"}}`, "429", route.Limited},
		{"anthropic", `{"type":"error","error":{"type":"overloaded_error"}}`, "529 overloaded_error", route.Faulted},
		{"anthropic", `{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"contract_spend_limit_reached"}}}`, "429 contract_spend_limit_reached", route.Unauthorized},
		{"anthropic", `{"type":"error","error":{"type":"billing_error"}}`, "402 billing_error", route.Unauthorized},
		{"anthropic", `{"type":"error","error":{"type":"permission_error"}}`, "403 permission_error", route.Unauthorized},
		{"anthropic", `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, "404 not_found_error", route.Missing},
		{"anthropic", `{"type":"error","error":{"type":"request_too_large"}}`, "413 request_too_large", route.TooLong},
		{"anthropic", `{"type":"error","error":{"type":"api_error"}}`, "502 api_error", route.Faulted},
		{"vllm", `{"object":"error","message":"x","type":"InternalServerError","code":500}`, "500 InternalServerError", route.Faulted},
		{"vllm", `{"error":{"message":"x","type":"BadRequestError"}}`, "400 BadRequestError", route.Refused},
		{"vllm", `{"error":"boom"}`, "502", route.Faulted},
	} {
		if got := Of(c.dialect).inBody([]byte(c.body)); got.Kind != c.want || got.Detail != c.detail {
			t.Errorf("%s: %v %q, want %v %q", c.body, got.Kind, got.Detail, c.want, c.detail)
		}
	}
}

func TestAProviderMaySayWhetherToTryAgain(t *testing.T) {
	const rate = `{"error":{"type":"rate_limit_error"}}`
	for _, c := range []struct {
		rule, should, after string
		status              int
		body                string
		want                route.OutcomeKind
	}{
		{"never: no wait helps", "false", "", 429, rate, route.Unauthorized},
		{"not now: a wait does", "false", "7", 429, rate, route.Limited},
		{"a wait in the message does too", "false", "", 429, `{"error":{"message":"Please try again in 2s","type":"rate_limit_error"}}`, route.Limited},
		{"yes, after a limit", "true", "", 429, rate, route.Limited},
		{"yes, after a refusal", "true", "", 400, `{"error":{"type":"x"}}`, route.Faulted},
		{"yes makes no key good", "true", "", 401, ``, route.Unauthorized},
		{"no leaves a failure one", "false", "", 500, ``, route.Faulted},
	} {
		h := http.Header{"X-Should-Retry": {c.should}, "Retry-After": {c.after}}
		if got := anthropic.Failure(c.status, h, []byte(c.body), wallClock); got.Kind != c.want {
			t.Errorf("%s: %v, want %v", c.rule, got.Kind, c.want)
		}
	}
}

func TestADetailHasNamesOnly(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"the prompt","type":"a \"quoted\" type\n","code":{"x":1}}}`: "400",
		`{"error":{"message":"the prompt","type":"key_error","code":"sk-proj-4bQ"}}`:     "400 key_error",
		`{"error":{"message":"the prompt","type":"line\nline","code":null}}`:             "400",
		`{"error":{"code":"` + strings.Repeat("x", 49) + `"}}`:                           "400",
		`{"error":{"code":"400","type":"BadRequestError"}}`:                              "400 BadRequestError",
		`{"error":{"code":7,"type":null,"details":{"error_code":"a_code"}}}`:             "400 a_code",
		`{"error":"the prompt"}`:                     "400",
		`{"error":{"code":{"x":1},"type":"a_type"}}`: "400 a_type",
	} {
		if o := anthropic.Failure(400, http.Header{}, []byte(body), wallClock); o.Detail != want {
			t.Errorf("%s: detail %q, want %q", body, o.Detail, want)
		}
	}
}

func FuzzFailure(f *testing.F) {
	f.Add(429, []byte(`{"error":{"message":"Please try again in 1h2m3.5s","type":"t","code":"c","details":{"error_code":"e"}}}`))
	f.Add(403, []byte(`{"statusCode":403,"response":{"error":{"code":9}}}`))
	f.Add(200, []byte(`{"error":"\ud800"}`))
	f.Add(304, []byte(`0`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, d := range dialects {
			for _, o := range []route.Outcome{d.Failure(status%1000, http.Header{}, body, wallClock), d.inBody(body)} {
				unchanged := d == &plainHTTP && o.Status == http.StatusNotModified // what its caller asked to be told
				if o.RetryAfter < 0 || o.RetryAfter > maxWait || (o.Kind == route.Served) != unchanged || o.Kind == route.Abandoned || o.HasUsage {
					t.Errorf("%s: %+v", d.name, o)
				}
				number, name, named := strings.Cut(o.Detail, " ")
				if len(o.Detail) > 64 || !word(number) || named && !plainName(name) {
					t.Errorf("%s: detail %q", d.name, o.Detail)
				}
			}
		}
	})
}
