package wire

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// EncodeDecision encodes all of a record but its time, which is the attempt's.
func EncodeDecision(d *route.Record) *pb.Decision {
	m := &pb.Decision{
		Revision: d.Revision, Generation: d.Generation, Strategy: d.Strategy.String(), Version: uint32(d.StrategyVersion),
		Way: d.Way.String(), Seed: d.Seed, Tie: d.Tie, Refusals: uint32(d.Refusals), Chosen: uint32(d.Chosen),
		Factor: d.Factor, Top: d.Top, Bias: d.Bias,
	}
	for r := range route.Reasons {
		if d.Refused&(1<<r) != 0 {
			m.Refused = append(m.Refused, r.String())
		}
	}
	for i := range min(int(d.Drawn), len(d.Candidates)) {
		c := &d.Candidates[i]
		drawn := considered(c.Endpoint, &c.Inputs)
		k := &d.Known[i]
		drawn.RowAgeMs, drawn.SampleAgeMs, drawn.Samples = k.RowAge, k.SampleAge, k.Samples
		m.Drawn = append(m.Drawn, drawn)
	}
	return m
}

func considered(endpoint string, in *route.Inputs) *pb.Considered {
	return &pb.Considered{
		Endpoint: endpoint, Load: in.Load, TimeUs: in.Time, Price: in.Price, Share: in.Share, Tokens: in.Tokens, Rate: in.Rate,
		Temper: in.Temper, Health: in.Health,
	}
}

// Decision decodes what EncodeDecision made, without its time. A strategy that is not known
// here is none: Replay refuses it.
func Decision(m *pb.Decision) route.Record {
	d := route.Record{
		Revision: m.GetRevision(), Generation: m.GetGeneration(),
		Strategy: strategies[m.GetStrategy()], StrategyVersion: small(m.GetVersion()),
		Way: ways[m.GetWay()], Seed: m.GetSeed(), Tie: m.GetTie(), Refusals: small(m.GetRefusals()), Chosen: small(m.GetChosen()),
		Liking: route.Liking{Factor: m.GetFactor(), Top: m.GetTop()}, Bias: m.GetBias(),
	}
	for r := range route.Reasons {
		if slices.Contains(m.GetRefused(), r.String()) {
			d.Refused |= 1 << r
		}
	}
	for i, c := range m.GetDrawn() {
		if i == len(d.Candidates) {
			break
		}
		d.Drawn++
		d.Candidates[i] = route.Drawn{
			Endpoint: c.GetEndpoint(),
			Inputs: route.Inputs{
				Load: c.GetLoad(), Time: c.GetTimeUs(), Price: c.GetPrice(), Share: c.GetShare(), Tokens: c.GetTokens(), Rate: c.GetRate(),
				Temper: c.GetTemper(), Health: c.GetHealth(),
			},
		}
		d.Known[i] = route.Known{RowAge: c.GetRowAgeMs(), SampleAge: c.GetSampleAgeMs(), Samples: c.GetSamples()}
	}
	return d
}

// ways are those in which an endpoint is found, by name.
var ways = map[string]route.Way{
	"drawn": route.WayDrawn, "home": route.WayHome, "same": route.WaySame, "probe": route.WayProbe,
}

// small is a number of eight bits; what does not fit is the largest.
func small(n uint32) uint8 { return uint8(min(n, 255)) }

// EncodeExplanation encodes at most so many candidates, and counts the others.
func EncodeExplanation(x *route.Explanation, most int) *pb.Explanation {
	m := &pb.Explanation{Omitted: uint32(max(len(x.Candidates)-most, 0))}
	for i := range x.Candidates[:min(len(x.Candidates), most)] {
		c := &x.Candidates[i]
		e := considered(c.Endpoint, &c.Inputs)
		e.Tier, e.Score = c.Tier, c.Score
		e.RowAgeMs, e.SampleAgeMs, e.Samples = millis(c.RowAge), millis(c.SampleAge), uint32(c.Samples)
		if c.Reason != route.Pass {
			e.Reason = c.Reason.String()
		}
		m.Candidates = append(m.Candidates, e)
	}
	return m
}

// millis is an age in whole ms, at least 1: 0 is none.
func millis(us int64) uint32 {
	if us == route.Absent {
		return 0
	}
	return uint32(min(max(us/1000, 1), 1<<32-1))
}
