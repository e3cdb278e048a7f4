package wire

import (
	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Asked is the request that a question is about.
func Asked(m *pb.ExplainRequest) route.Request {
	return route.Request{
		Tenant: m.GetTenant(), API: m.GetApi(), Needs: m.GetNeeds(),
		Input: max(m.GetInputTokens(), 0), MaxOutput: max(m.GetMaxOutputTokens(), 0),
	}
}

// EncodeExplained encodes an explanation as an answer. Whose knowledge it is, and when it was, are for
// the caller to say.
func EncodeExplained(x *route.Explanation) *pb.ExplainResponse {
	m := &pb.ExplainResponse{Generation: x.Version.Generation, Revision: x.Version.Revision, Strategy: x.Strategy.String()}
	sums := map[string]float64{} // of those that may be drawn, by tier
	for i := range x.Candidates {
		if c := &x.Candidates[i]; c.Reason == route.Pass {
			sums[c.Tier] += c.Share
		}
	}
	for i := range x.Candidates {
		c := &x.Candidates[i]
		m.Candidates = append(m.Candidates, encodeCandidate(c, sums[c.Tier]))
	}
	if x.Err != nil {
		m.Shed = x.Err.Error()
	}
	return m
}

// encodeCandidate says how often one is drawn in its tier, whose shares make that sum.
func encodeCandidate(c *route.Candidate, sum float64) *pb.Candidate {
	m := &pb.Candidate{
		Endpoint: c.Endpoint, Tier: c.Tier, Score: c.Score,
		RowAgeUs: ageOrNone(c.RowAge), SampleAgeUs: ageOrNone(c.SampleAge), Samples: uint64(max(c.Samples, 0)),
	}
	switch {
	case c.Reason != route.Pass:
		m.Reason = c.Reason.String()
	case sum > 0:
		m.Share = c.Share / sum
	}
	return m
}

// ageOrNone is an age as the wire has it: -1 says that there is none.
func ageOrNone(age int64) int64 {
	if age == route.Absent {
		return -1
	}
	return Age(age)
}
