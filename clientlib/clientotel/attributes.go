package clientotel

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/dialect"
)

// spanName is "chat gpt-5", as the conventions want it; "http" for what is none of theirs.
func spanName(api, of string) string {
	return strings.TrimRight(cmp.Or(operation(api), "http")+" "+of, " ")
}

// operation is the conventions' name for what an API does; empty: it is no model's.
func operation(api string) string {
	switch dialect.ParseAPI(api) {
	case dialect.Embeddings:
		return semconv.GenAIOperationNameEmbeddings.Value.AsString()
	case dialect.PlainHTTP:
		return ""
	}
	return semconv.GenAIOperationNameChat.Value.AsString()
}

// provider is the conventions' name where a dialect is one provider's alone, else the catalog's.
func provider(a *clientlib.AttemptInfo) string {
	switch a.Dialect {
	case "openai":
		return semconv.GenAIProviderNameOpenAI.Value.AsString()
	case "azure-openai":
		return semconv.GenAIProviderNameAzureAIOpenAI.Value.AsString()
	case "anthropic":
		return semconv.GenAIProviderNameAnthropic.Value.AsString()
	}
	return a.Provider
}

// common is what spans and metrics say of an attempt.
func common(a *clientlib.AttemptInfo) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 16)
	if op := operation(a.API); op != "" {
		all = append(all, semconv.GenAIOperationNameKey.String(op), semconv.GenAIProviderNameKey.String(provider(a)), semconv.GenAIRequestModel(a.Model))
	}
	if u, err := url.Parse(a.BaseURL); err == nil {
		all = append(all, semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port(u)))
	}
	return append(all, attribute.String("pointsman.workload", a.Workload), attribute.String("pointsman.endpoint", a.Endpoint))
}

func port(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

func attemptStart(a *clientlib.AttemptInfo) []attribute.KeyValue {
	all := append(common(a),
		attribute.String("pointsman.tenant", a.Tenant), attribute.Int("pointsman.attempt", a.Number),
		attribute.Int64("pointsman.catalog.revision", int64(a.Catalog.Revision)), attribute.Bool("pointsman.probe", a.Probe))
	if operation(a.API) != "" {
		all = append(all, semconv.GenAIRequestStream(a.Stream))
	}
	return all
}

func attemptEnd(a *clientlib.AttemptInfo) []attribute.KeyValue {
	o := &a.Outcome
	all := append(usage(a), attribute.String("pointsman.outcome", o.Kind.String()), attribute.String("pointsman.phase", a.Phase().String()))
	if o.Status > 0 {
		all = append(all, semconv.HTTPResponseStatusCode(o.Status))
	}
	if a.Stream && a.FirstToken > 0 {
		all = append(all, semconv.GenAIResponseTimeToFirstChunk(a.FirstToken.Seconds()))
	}
	if a.ResponseID != "" {
		all = append(all, semconv.GenAIResponseID(a.ResponseID))
	}
	if a.RequestID != "" {
		all = append(all, attribute.String("pointsman.request_id", a.RequestID))
	}
	if why := finish(a.Finish); why != "" {
		all = append(all, semconv.GenAIResponseFinishReasons(why))
	}
	return all
}

// usage is what the attempt used and cost. Tokens are the provider's word, or not said.
func usage(a *clientlib.AttemptInfo) []attribute.KeyValue {
	if !a.Outcome.HasUsage {
		return nil
	}
	cost := attribute.Int64("pointsman.cost.nano_usd", int64(a.Cost))
	if a.Outcome.Estimated {
		return []attribute.KeyValue{cost, attribute.Bool("pointsman.cost.estimated", true)}
	}
	u := a.Outcome.Usage
	return []attribute.KeyValue{
		cost, semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output)),
		semconv.GenAIUsageCacheReadInputTokens(int(u.Cached)), semconv.GenAIUsageCacheCreationInputTokens(int(u.Written)),
	}
}

func finish(f dialect.Finish) string {
	switch f {
	case dialect.Stopped:
		return "stop"
	case dialect.Truncated, dialect.Overflowed:
		return "length"
	case dialect.CalledTool:
		return "tool_calls"
	case dialect.Blocked:
		return "content_filter"
	}
	return ""
}

func callEnd(c *clientlib.CallInfo) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("pointsman.end", c.End()), attribute.Int("pointsman.attempts", c.Attempts), attribute.String("pointsman.endpoint", c.Endpoint),
		attribute.Float64("pointsman.waited", c.Waited.Seconds()), attribute.Int64("pointsman.cost.nano_usd", int64(c.Cost)),
	}
}
