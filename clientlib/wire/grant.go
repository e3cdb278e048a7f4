package wire

import (
	"github.com/pointsman/pointsman/clientlib/route"
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
