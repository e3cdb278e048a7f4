package catalog

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var dialects = []string{
	"openai", "openai-compatible", "azure-openai", "anthropic", "gemini", "vertex", "bedrock", "vllm", "grpc", "http",
}

var refills = map[string]pb.Refill{"continuous": pb.Refill_REFILL_CONTINUOUS, "fixed": pb.Refill_REFILL_FIXED}

var cutoffs = map[string]pb.OnCutoff{"safe": pb.OnCutoff_ON_CUTOFF_SAFE, "hold": pb.OnCutoff_ON_CUTOFF_HOLD}

func (c *compiler) readModel(b *block) {
	m := &pb.Model{Name: b.name}
	b.need("artifact", "context_window", "max_output_tokens")
	b.text("artifact", &m.Artifact)
	b.texts("capabilities", &m.Capabilities)
	b.whole("context_window", 1, maxCount, &m.ContextWindow)
	b.whole("max_output_tokens", 1, maxCount, &m.MaxOutputTokens)
	b.date("retires", &m.Retires)
	m.Price = readPrice(b)
	c.catalog.models[b.name] = m
	c.breakers["model."+b.name] = breakerOf(b.use())
}

// readPrice reads a model's price. Without a price of their own, cached input and cache writes cost what
// input costs.
func readPrice(model *block) *pb.Price {
	p := &pb.Price{}
	b := model.one("price")
	if b == nil {
		model.c.fail(model.path, `add price { input = "…" output = "…" }; what costs nothing costs "0"`, "model without price")
		return p
	}
	b.need("input", "output")
	b.price("input", &p.Input)
	b.price("output", &p.Output)
	p.CachedInput, p.CacheWrite = p.Input, p.Input
	cached, write := b.price("cached_input", &p.CachedInput), b.price("cache_write", &p.CacheWrite)
	for _, in := range b.all("above", 1) {
		p.Above = append(p.Above, readAbove(in, p, cached, write))
	}
	slices.SortFunc(p.Above, func(a, b *pb.PriceAbove) int { return cmp.Compare(a.InputTokens, b.InputTokens) })
	b.close()
	return p
}

// readAbove reads the price of long inputs; what it does not say is as below.
func readAbove(b *block, base *pb.Price, cached, write bool) *pb.PriceAbove {
	a := &pb.PriceAbove{Input: base.Input, CachedInput: base.CachedInput, CacheWrite: base.CacheWrite, Output: base.Output}
	tokens, err := strconv.ParseInt(b.name, 10, 64)
	if err != nil || tokens < 1 || tokens > maxCount || strconv.FormatInt(tokens, 10) != b.name {
		b.c.fail(b.path, `a whole number of tokens: above "200000"`, "above %s", quote(b.name))
	}
	a.InputTokens = tokens
	b.price("input", &a.Input)
	b.price("output", &a.Output)
	if !cached {
		a.CachedInput = a.Input
	}
	if !write {
		a.CacheWrite = a.Input
	}
	b.price("cached_input", &a.CachedInput)
	b.price("cache_write", &a.CacheWrite)
	b.close()
	return a
}

func (c *compiler) readProvider(b *block) {
	p := &pb.Provider{Name: b.name}
	b.need("dialect")
	b.choice("dialect", dialects, &p.Dialect)
	if b.text("base_url", &p.BaseUrl) {
		b.checkURL(p.BaseUrl)
	}
	b.text("api_version", &p.ApiVersion)
	c.catalog.providers[b.name] = p
	c.breakers["provider."+b.name] = breakerOf(b.use())
}

// checkURL allows an address, and nothing that could carry a secret.
func (b *block) checkURL(s string) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		b.wrong("base_url", `"https://host/path"`, "is not an address")
		return
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		b.wrong("base_url", "scheme, host and path only", "holds a user, a query or a fragment")
	}
}

func (c *compiler) readQuota(b *block) {
	q := &pb.Quota{Name: b.name, Refill: defaultRefill, OnCutoff: defaultOnCutoff}
	b.limit("requests_per_minute", &q.RequestsPerMinute)
	b.limit("tokens_per_minute", &q.TokensPerMinute)
	b.limit("input_tokens_per_minute", &q.InputTokensPerMinute)
	b.limit("output_tokens_per_minute", &q.OutputTokensPerMinute)
	b.limit("requests_per_day", &q.RequestsPerDay)
	oneOf(b, "refill", refills, &q.Refill)
	oneOf(b, "on_cutoff", cutoffs, &q.OnCutoff)
	if q.TokensPerMinute != nil && (q.InputTokensPerMinute != nil || q.OutputTokensPerMinute != nil) {
		b.wrong("tokens_per_minute", "either tokens_per_minute, or input_tokens_per_minute and output_tokens_per_minute", "is there beside a limit of input or output tokens")
	}
	c.catalog.quotas[b.name] = q
}
