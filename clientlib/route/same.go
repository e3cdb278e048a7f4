package route

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route/money"
)

// What did not change is shared between snapshots. Comparing by reflection would cost
// more than compiling anew; a test holds these to every field there is.

func (e *Endpoint) same(o *Endpoint) bool {
	return e.Name == o.Name && e.Identity == o.Identity &&
		e.Provider == o.Provider && e.Dialect == o.Dialect && e.BaseURL == o.BaseURL && e.APIVersion == o.APIVersion &&
		e.Model == o.Model && e.WireModel == o.WireModel && e.Artifact == o.Artifact &&
		slices.Equal(e.APIs, o.APIs) && slices.Equal(e.Capabilities, o.Capabilities) && slices.Equal(e.Compliance, o.Compliance) &&
		e.Region == o.Region && e.Credential == o.Credential && slices.Equal(e.Quotas, o.Quotas) &&
		e.ContextWindow == o.ContextWindow && e.MaxOutputTokens == o.MaxOutputTokens && samePrice(&e.Price, &o.Price) &&
		e.Weight == o.Weight && e.Concurrency == o.Concurrency && e.Retires == o.Retires && e.Capacity == o.Capacity && e.Breaker == o.Breaker &&
		e.Instances.same(&o.Instances) && e.Metrics == o.Metrics
}

func samePrice(p, o *money.Price) bool {
	return p.Input == o.Input && p.CachedInput == o.CachedInput && p.CacheWrite == o.CacheWrite && p.Output == o.Output &&
		slices.Equal(p.Above, o.Above)
}

func (w *Workload) same(o *Workload) bool {
	return w.Name == o.Name && w.Unusable == o.Unusable && slices.Equal(w.APIs, o.APIs) &&
		w.Contract.same(&o.Contract) && slices.EqualFunc(w.Tiers, o.Tiers, Tier.same) &&
		w.Strategy == o.Strategy && w.MoneyPerMS == o.MoneyPerMS && slices.EqualFunc(w.Bands, o.Bands, Band.same) && w.PreferQuality == o.PreferQuality && w.Affinity == o.Affinity && w.Attempts == o.Attempts &&
		w.Whole == o.Whole && w.FilterElsewhere == o.FilterElsewhere &&
		w.EscalateQuality == o.EscalateQuality && w.EscalateContext == o.EscalateContext
}

func (c *Contract) same(o *Contract) bool {
	return slices.Equal(c.Requires, o.Requires) && c.NeedsContext == o.NeedsContext && c.NeedsOutputTokens == o.NeedsOutputTokens &&
		c.MaxTTFT == o.MaxTTFT && slices.Equal(c.Regions, o.Regions) && slices.Equal(c.Compliance, o.Compliance)
}

func (b Band) same(o Band) bool {
	return b.Name == o.Name && b.UptoTokens == o.UptoTokens && slices.Equal(b.Models, o.Models)
}

func (t Tier) same(o Tier) bool { return t.Name == o.Name && slices.Equal(t.Endpoints, o.Endpoints) }

func (t Tenant) same(o Tenant) bool {
	return t.Name == o.Name && slices.Equal(t.Workloads, o.Workloads) && slices.Equal(t.Regions, o.Regions) &&
		slices.Equal(t.Compliance, o.Compliance) && t.Priority == o.Priority && t.Caps == o.Caps && t.Budget == o.Budget &&
		slices.Equal(t.Reservations, o.Reservations)
}
