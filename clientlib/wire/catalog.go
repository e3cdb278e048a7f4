package wire

import (
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Catalog decodes a catalog state and names the workloads that this library cannot use.
//
// What it does not know (a strategy, a feature, a value of an enum) makes the workloads
// that reach it unusable and nothing else; kinds and fields it does not know are skipped.
// What cannot be right (a body that does not decode, a reference to nothing, a negative
// number) is an error that names all of it; cold, when there is nothing better to keep,
// it is the workloads that reach it that are unusable. An unusable workload has a name and
// a reason, nothing else.
func Catalog(s *State, cold bool) (*route.Catalog, []*pb.Unusable, error) {
	d := decode(s)
	if len(d.faults) > 0 && !cold {
		return nil, nil, d.err()
	}
	c := &route.Catalog{Version: catalogVersion(s.Version())}
	d.quotasInto(c)
	d.endpointsInto(c)
	d.tenantsInto(c)
	return c, d.workloadsInto(c), nil
}

func catalogVersion(v *pb.Version) route.CatalogVersion {
	return route.CatalogVersion{
		StoreID: v.GetStoreId(), Epoch: v.GetEpoch(), Generation: v.GetGeneration(), Revision: v.GetRevision(),
	}
}

// endpointsInto adds the endpoints that can be used, and their overrides. An override of
// an endpoint that is gone stands for nothing.
func (d *decoded) endpointsInto(c *route.Catalog) {
	for _, r := range d.state.kind(pb.Kind_KIND_ENDPOINT) {
		if d.wrong(r.key) == "" {
			c.Endpoints = append(c.Endpoints, d.endpoint(d.endpoints[r.key.Name]))
			c.Overrides = append(c.Overrides, d.overrides[r.key.Name]...)
		}
	}
}

// endpoint joins an endpoint with its provider and model. Its adapters stay out: they are
// APIs that a library would have to translate, and this one translates none.
func (d *decoded) endpoint(e *pb.Endpoint) route.Endpoint {
	p, m := d.providers[e.Provider], d.models[e.Model]
	return route.Endpoint{
		Name: e.Name, Identity: e.Identity,
		Provider: e.Provider, Dialect: p.GetDialect(), BaseURL: p.GetBaseUrl(), APIVersion: p.GetApiVersion(),
		Model: e.Model, WireModel: e.WireModel, Artifact: m.GetArtifact(),
		APIs: e.Apis, Capabilities: m.GetCapabilities(), Compliance: e.Compliance,
		Region: e.Region, Credential: e.Credential, Quotas: e.Quotas,
		ContextWindow: m.GetContextWindow(), MaxOutputTokens: m.GetMaxOutputTokens(), Price: price(m.GetPrice()),
		Weight: given(e.Weight), Concurrency: given(e.Concurrency), Retires: retires(m.GetRetires()),
		Capacity: route.Capacity{Slots: e.Capacity.GetSlots(), PrefillTPS: e.Capacity.GetPrefillTps(), TPOT: e.Capacity.GetTpotUs()},
		Breaker:  policy(e.Breaker), Metrics: e.Metrics,
		Instances: route.Instances{DNS: e.Instances.GetDns(), Addresses: e.Instances.GetAddresses()},
	}
}

func given(v *int64) int64 {
	if v == nil {
		return route.Absent
	}
	return *v
}

// retires is when a model's date begins. Some moment is, also for a date before 1970.
func retires(date string) int64 {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0 // no date: refer finds bad ones
	}
	return max(day.UnixMicro(), 1)
}

func price(p *pb.Price) money.Price {
	out := money.Price{
		Input: money.Pico(p.GetInput()), CachedInput: money.Pico(p.GetCachedInput()),
		CacheWrite: money.Pico(p.GetCacheWrite()), Output: money.Pico(p.GetOutput()),
	}
	for _, a := range p.GetAbove() {
		out.Above = append(out.Above, money.Above{
			Tokens: a.GetInputTokens(), Input: money.Pico(a.GetInput()), CachedInput: money.Pico(a.GetCachedInput()),
			CacheWrite: money.Pico(a.GetCacheWrite()), Output: money.Pico(a.GetOutput()),
		})
	}
	return out
}

func policy(p *pb.BreakerPolicy) breaker.Policy {
	return breaker.Policy{
		Window: p.GetWindowUs(), SlowWindow: p.GetSlowWindowUs(), MinSamples: p.GetMinSamples(), Consecutive: p.GetConsecutive(),
		FailureRatio: p.GetFailureRatio(), TTFTLimit: p.GetTtftLimitUs(), Cooldown: p.GetCooldownUs(), CooldownMax: p.GetCooldownMaxUs(),
		Probes: p.GetProbes(), Ramp: p.GetRampUs(), MaxEjected: p.GetMaxEjected(),
	}
}
