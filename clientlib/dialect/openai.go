package dialect

import (
	"net/http"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// openai is OpenAI itself. The other families that take its APIs differ from it in few
// facts each.
var openai = Dialect{
	name:     "openai",
	apis:     openaiAPIs,
	path:     openaiPath,
	header:   openaiHeader,
	ids:      []string{"X-Request-Id"},
	counters: openaiCounters,
}

var openaiAPIs = []API{ChatCompletions, Responses, Embeddings}

func openaiPath(_ *route.Endpoint, api API) string { return apiPaths[api] }

// openaiHeader leaves out the organization and the project that a caller named: the
// credential has its own, and fails with those of another.
func openaiHeader(to, from http.Header, secret string) {
	bearer(to, secret)
	Carry(to, from, "Openai-Beta")
}

// openaiCounters: some models have a second bucket of tokens.
var openaiCounters = []counter{
	{limit.Requests, "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", false},
	{limit.Tokens, "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens", false},
	{limit.Tokens, "X-Ratelimit-Limit-Tokens_usage_based", "X-Ratelimit-Remaining-Tokens_usage_based", "X-Ratelimit-Reset-Tokens_usage_based", false},
}
