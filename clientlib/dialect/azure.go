package dialect

import (
	"net/http"
	"net/url"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// azure is OpenAI's models as Azure serves them: a model is a deployment, and most of the
// address names it.
var azure = Dialect{
	name:     "azure-openai",
	apis:     openaiAPIs,
	path:     azurePath,
	header:   azureHeader,
	ids:      []string{"Apim-Request-Id", "X-Request-Id"},
	counters: azureCounters,
	demands:  azureDemands,
	kind:     azureKind,
}

// azurePath: the newer addresses, which have a version in their path, and responses name
// the deployment in the body.
func azurePath(e *route.Endpoint, api API) string {
	path := openaiPath(e, api)
	switch {
	case based(e, "/openai/v1"):
	case api == Responses:
		path = "/openai" + path
	default:
		path = "/openai/deployments/" + url.PathEscape(WireModel(e)) + path
	}
	if e.APIVersion == "" {
		return path
	}
	return path + "?api-version=" + url.QueryEscape(e.APIVersion)
}

// azureDemands: versions are dates, or names of the newest.
func azureDemands(e *route.Endpoint) bool { return e.APIVersion == "" || e.APIVersion >= "2024-09" }

func azureHeader(to, _ http.Header, secret string) {
	if secret != "" {
		to["Api-Key"] = []string{secret}
	}
}

// azureCounters are vague: the responses API says 0 and -1 where it counts nothing.
var azureCounters = []counter{
	{limit.Requests, "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", true},
	{limit.Tokens, "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens", true},
}

func azureKind(f *failure, status int) (route.OutcomeKind, bool) {
	switch {
	case status == 403 && f.Gateway == 403: // API Management: the quota of a policy is used up
		return route.Unauthorized, true
	case status == 404 && f.is("DeploymentNotFound", "404"): // 404: no such path or version
		return route.Missing, true
	case status == 400 && f.is("ResponsibleAIPolicyViolation"):
		return route.Filtered, true
	}
	return 0, false
}
