package dialect

import (
	"net/url"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// compatible are the many that speak as OpenAI does: Groq, Mistral, DeepSeek, Together and
// the like. Which one it is an answer does not say, so all their headers are looked for.
var compatible = Dialect{
	name:     "openai-compatible",
	apis:     openaiAPIs,
	path:     openaiPath,
	header:   openaiHeader,
	ids:      []string{"X-Request-Id", "Request-Id", "Cf-Ray"},
	counters: slices.Concat(openaiCounters[:2], othersCounters),
	demands:  compatibleDemands,
	kind:     compatibleKind,
}

// othersCounters are Mistral's, new and old ("by size" is by tokens), and Together's, which
// are a second's: what is left of one is far less than what is left of the minute, so they
// only slow down.
var othersCounters = []counter{
	{limit.Requests, "X-Ratelimit-Limit-Req-Minute", "X-Ratelimit-Remaining-Req-Minute", "", false},
	{limit.Tokens, "X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Remaining-Tokens-Minute", "", false},
	{limit.Tokens, "X-Ratelimitbysize-Limit-Minute", "X-Ratelimitbysize-Remaining-Minute", "Ratelimitbysize-Reset", false},
	{limit.Requests, "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", false},
	{limit.Tokens, "X-Tokenlimit-Limit", "X-Tokenlimit-Remaining", "X-Tokenlimit-Reset", false},
}

// compatibleDemands: Mistral tells a stream's usage unasked, and refuses options that it does
// not know.
func compatibleDemands(e *route.Endpoint) bool {
	u, err := url.Parse(e.BaseURL)
	return err != nil || u.Hostname() != "api.mistral.ai"
}

func compatibleKind(f *failure, status int) (route.OutcomeKind, bool) {
	switch {
	case status == 498: // Groq's flex tier is full
		return route.Limited, true
	case status < 500 && f.is("model_decommissioned", "invalid_model"): // Groq, Mistral
		return route.Missing, true
	}
	return 0, false
}
