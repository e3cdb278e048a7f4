package dialect

import (
	"net/http"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// anthropic is Anthropic's API of messages.
var anthropic = Dialect{
	name:   "anthropic",
	apis:   []API{Messages},
	path:   anthropicPath,
	header: anthropicHeader,
	ids:    []string{"Request-Id"},
	counters: []counter{
		{limit.Requests, "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset", false},
		{limit.Tokens, "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset", false},
		{limit.Input, "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset", false},
		{limit.Output, "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset", false},
	},
	kind: anthropicKind,
}

// anthropicPath takes a base address with or without its version, as the SDKs of both
// kinds are configured.
func anthropicPath(e *route.Endpoint, _ API) string {
	if based(e, "/v1") {
		return "/messages"
	}
	return "/v1/messages"
}

// anthropicVersion is of a request that names none.
const anthropicVersion = "2023-06-01"

func anthropicHeader(to, from http.Header, secret string) {
	if secret != "" {
		to["X-Api-Key"] = []string{secret}
	}
	Carry(to, from, "Anthropic-Version")
	Carry(to, from, "Anthropic-Beta")
	if len(to["Anthropic-Version"]) == 0 {
		to["Anthropic-Version"] = []string{anthropicVersion}
	}
}

// anthropicKind: some that look like limits of a rate are limits of money.
func anthropicKind(f *failure, status int) (route.OutcomeKind, bool) {
	spent := f.is("enforced_spend_limit_reached", "contract_spend_limit_reached", "billing_error")
	return route.Unauthorized, spent && status < 500
}
