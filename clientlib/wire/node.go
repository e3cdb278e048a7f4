package wire

import (
	"errors"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// EncodeNodeReport encodes what an agent saw, as of now.
func EncodeNodeReport(now int64, r *route.NodeReport) *pb.NodeReport {
	m := &pb.NodeReport{Node: r.Node, Locality: r.Locality, Incarnation: r.Incarnation, Sequence: r.Sequence, AgeUs: ageOf(now, r.At)}
	for i := range r.Engines {
		m.Engines = append(m.Engines, EncodeEngineLoad(&r.Engines[i]))
	}
	for i := range r.Reaches {
		m.Reaches = append(m.Reaches, EncodeReach(&r.Reaches[i]))
	}
	return m
}

// EncodeEngineLoad leaves out what is not known.
func EncodeEngineLoad(l *route.EngineLoad) *pb.EngineLoad {
	return &pb.EngineLoad{
		Endpoint: l.Endpoint, Identity: l.Identity, Running: known(l.Running), Waiting: known(l.Waiting),
		KvUsed: known(l.KVUsed), PromptTps: known(l.PromptTPS), OutputTps: known(l.OutputTPS),
	}
}

// EncodeReach encodes one.
func EncodeReach(r *route.Reach) *pb.Reach {
	return &pb.Reach{Endpoint: r.Endpoint, Identity: r.Identity, Reached: r.Reached, Reason: r.Reason, ConnectUs: r.Connect}
}

func known(v float64) *float64 {
	if !sane(v) {
		return nil
	}
	return &v
}

// NodeReport decodes what an agent saw from a message dated so. A number that cannot be is
// one that is not known.
func NodeReport(dated int64, m *pb.NodeReport) (route.NodeReport, error) {
	if m.GetNode() == "" {
		return route.NodeReport{}, errors.New("a report without a node")
	}
	r := route.NodeReport{
		Node: m.Node, Locality: m.Locality, Incarnation: m.Incarnation, Sequence: m.Sequence, At: dateOf(dated, m.AgeUs),
	}
	for _, e := range m.Engines {
		r.Engines = append(r.Engines, route.EngineLoad{
			Endpoint: e.GetEndpoint(), Identity: e.GetIdentity(), Running: told(e.Running, mostFigure), Waiting: told(e.Waiting, mostFigure),
			KVUsed: told(e.KvUsed, 1), PromptTPS: told(e.PromptTps, mostFigure), OutputTPS: told(e.OutputTps, mostFigure),
		})
	}
	for _, v := range m.Reaches {
		r.Reaches = append(r.Reaches, route.Reach{
			Endpoint: v.GetEndpoint(), Identity: v.GetIdentity(), Reached: v.GetReached(), Reason: v.GetReason(), Connect: Age(v.GetConnectUs()),
		})
	}
	return r, nil
}

const mostFigure = 1 << 40 // route, counts

// told is what was told, if it can be.
func told(v *float64, most float64) float64 {
	if v == nil || !sane(*v) || *v > most || math.IsNaN(*v) {
		return route.Absent
	}
	return *v
}

// OverrideEnds is when an operator's word ends, on the clock that its entry is dated by; one
// without an end, or that cannot be read, has the last there is.
func OverrideEnds(e Entry) int64 {
	var m pb.Override
	if proto.Unmarshal(e.Body, &m) != nil || m.DurationUs <= 0 {
		return math.MaxInt64
	}
	return plus(made(e), m.DurationUs)
}
