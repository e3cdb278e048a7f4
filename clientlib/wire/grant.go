package wire

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// EncodePermit makes the grant that carries p to leaf, as of now.
func EncodePermit(now int64, leaf string, term uint64, p route.Permit) *pb.Grant {
	return &pb.Grant{
		Number: p.Number, Term: term, Leaf: leaf,
		What: &pb.Grant_Permit{Permit: &pb.Permit{
			Endpoint: p.Endpoint, Identity: p.Identity, Class: encodeClass(p.Class), Phase: encodePhase(p.Phase),
			Round: p.Round, UseByUs: remaining(now, p.UseBy),
		}},
	}
}

// Permit decodes the permit of a grant dated so; false: the grant is something else, or
// for a class or phase that is not known here.
func Permit(dated int64, g *pb.Grant) (route.Permit, bool) {
	m := g.GetPermit()
	class, known := classOf(m.GetClass())
	phase, ok := phaseOf(m.GetPhase())
	if m == nil || !known || !ok {
		return route.Permit{}, false
	}
	return route.Permit{
		Number: g.GetNumber(), Endpoint: m.Endpoint, Identity: m.Identity, Class: class, Phase: phase,
		Round: m.Round, UseBy: plus(dated, max(m.UseByUs, 0)),
	}, true
}

// EncodeLease makes the grant that carries a lease to leaf, as of now: parts are of one
// quota or tenant, and end together. Who sends it numbers it, under its term.
func EncodeLease(now int64, leaf string, parts []route.Lease) *pb.Grant {
	m := &pb.Lease{}
	for _, p := range parts {
		m.Quota, m.Tenant, m.DurationUs = p.Quota, p.Tenant, remaining(now, p.Until)
		m.Parts = append(m.Parts, &pb.LeasePart{
			Dimension: pb.Dimension(p.Dimension) + pb.Dimension_DIMENSION_REQUESTS, Rate: p.Rate, Safe: p.Safe,
		})
	}
	return &pb.Grant{Leaf: leaf, What: &pb.Grant_Lease{Lease: m}}
}

// Lease decodes what a grant dated so leases of a quota or of a tenant's caps, in each
// dimension that is known here. Nothing: the grant is something else.
func Lease(dated int64, g *pb.Grant) (out []route.Lease) {
	m := g.GetLease()
	for _, p := range m.GetParts() {
		d := p.GetDimension() - pb.Dimension_DIMENSION_REQUESTS
		if d < 0 || d >= pb.Dimension(limit.Dimensions) || (m.Quota == "") == (m.Tenant == "") {
			continue
		}
		out = append(out, route.Lease{
			Quota: m.Quota, Tenant: m.Tenant, Dimension: limit.Dimension(d),
			Lease: limit.Lease{Rate: amount(p.Rate), Safe: amount(p.Safe), From: dated, Until: plus(dated, Age(m.DurationUs))},
		})
	}
	return out
}

// amount is one from outside, in the range of limits.
func amount(n int64) int64 { return min(max(n, 0), mostAmount) }

const mostAmount = 1 << 40 // limit: amounts
