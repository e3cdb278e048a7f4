package wire

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// quotasInto adds the quotas that can be used.
func (d *decoded) quotasInto(c *route.Catalog) {
	for _, r := range d.state.kind(pb.Kind_KIND_QUOTA) {
		if d.wrong(r.key) == "" {
			c.Quotas = append(c.Quotas, quotaOf(d.quotas[r.key.Name]))
		}
	}
}

func quotaOf(q *pb.Quota) route.Quota {
	return route.Quota{
		Name: q.Name, Requests: given(q.RequestsPerMinute), Tokens: given(q.TokensPerMinute),
		Input: given(q.InputTokensPerMinute), Output: given(q.OutputTokensPerMinute), Daily: given(q.RequestsPerDay),
		Fixed: q.Refill == pb.Refill_REFILL_FIXED, Hold: q.OnCutoff == pb.OnCutoff_ON_CUTOFF_HOLD,
	}
}

// tenantsInto adds the tenants. One that cannot be used as it is written is entitled to
// nothing: left out, it could leave no tenant at all, and then everybody would be entitled
// to all.
func (d *decoded) tenantsInto(c *route.Catalog) {
	for _, r := range d.state.kind(pb.Kind_KIND_TENANT) {
		if d.wrong(r.key) != "" {
			c.Tenants = append(c.Tenants, route.Tenant{Name: r.key.Name, Caps: route.NoCaps()})
			continue
		}
		c.Tenants = append(c.Tenants, d.tenant(d.tenants[r.key.Name]))
	}
}

func (d *decoded) tenant(t *pb.Tenant) route.Tenant {
	out := route.Tenant{
		Name: t.Name, Workloads: t.Workloads, Regions: t.Regions, Compliance: t.Compliance,
		Priority: priority(t.Priority), Caps: caps(t.Caps), Budget: budget(t.Budget),
	}
	for _, r := range t.Reservations {
		if q := r.GetQuota(); d.quotas[q] != nil && d.wrong(Key{pb.Kind_KIND_QUOTA, q}) == "" { // else nothing here draws on it
			out.Reservations = append(out.Reservations, route.Reservation{
				Quota: q, Requests: given(r.RequestsPerMinute), Tokens: given(r.TokensPerMinute),
			})
		}
	}
	return out
}

// priority counts from 0; on the wire 0 is none, which is the highest.
func priority(p pb.Priority) route.Priority {
	return route.Priority(max(p-pb.Priority_PRIORITY_INTERACTIVE, 0))
}

func caps(c *pb.Caps) route.Caps {
	if c == nil {
		return route.NoCaps()
	}
	return route.Caps{Concurrency: given(c.Concurrency), Requests: given(c.RequestsPerMinute), Tokens: given(c.TokensPerMinute)}
}

func budget(b *pb.Budget) route.Budget {
	return route.Budget{
		Has: b != nil, Limit: money.Nano(b.GetNanoUsd()), PerMonth: b.GetPer() == pb.BudgetPeriod_BUDGET_PERIOD_MONTH,
		Warn: b.GetWarn(), Cheapest: b.GetOnExhausted() == pb.OnExhausted_ON_EXHAUSTED_CHEAPEST,
	}
}
