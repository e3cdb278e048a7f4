package wire

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// EncodeReport encodes one leaf's interval, as of now.
func EncodeReport(now int64, r *route.Report) *pb.LeafReport {
	m := &pb.LeafReport{
		Leaf: r.Leaf, Node: r.Node, Locality: r.Locality, Incarnation: r.Incarnation, Sequence: r.Sequence,
		AgeUs: ageOf(now, r.At), IntervalUs: r.Interval, Term: r.Term, LastGrant: r.LastGrant,
	}
	for i := range r.Rows {
		m.Rows = append(m.Rows, encodeRow(&r.Rows[i]))
	}
	for _, v := range r.Votes {
		m.Votes = append(m.Votes, &pb.Vote{
			Endpoint: v.Endpoint, Identity: v.Identity, Class: encodeClass(v.Class), Phase: encodePhase(v.Phase),
			Round: v.Round, Soft: v.Soft, Reason: v.Reason,
		})
	}
	for _, p := range r.Probes {
		m.Probes = append(m.Probes, &pb.ProbeResult{
			Permit: p.Permit, Endpoint: p.Endpoint, Identity: p.Identity, Class: encodeClass(p.Class),
			Round: p.Round, Outcome: pb.ProbeOutcome(p.Outcome),
		})
	}
	for _, s := range r.Sheds {
		m.Sheds = append(m.Sheds, &pb.Shed{Workload: s.Workload, Reason: shedWords[s.Kind], Count: s.Count})
	}
	for _, q := range r.Spent {
		m.Spent = append(m.Spent, &pb.Spent{Quota: q.Quota, RemainingUs: remaining(now, q.Until)})
	}
	return m
}

// shedWords are the protocol's for why calls were refused.
var shedWords = map[route.ShedKind]string{
	route.ShedIncompatible: "incompatible", route.ShedOpen: "open", route.ShedLimited: "limited",
	route.ShedFull: "full", route.ShedTenant: "tenant", route.ShedTenantCap: "tenant_cap",
}

// ShedWord is the protocol's word for why a call was refused.
func ShedWord(k route.ShedKind) string { return shedWords[k] }

func encodeRow(r *route.Row) *pb.Row {
	m := &pb.Row{
		Endpoint: r.Endpoint, Identity: r.Identity, Class: encodeClass(r.Class), Workload: r.Workload,
		Admitted: r.Admitted, AdmitFailed: r.AdmitFailed, Finished: r.Finished, FinishFailed: r.FinishFailed,
		Slow: r.Slow, Limited: r.Limited, Excluded: r.Excluded, Invalid: r.Invalid,
		InFlight: r.InFlight, PendingPromptTokens: r.PendingPromptTokens, OutstandingTokens: r.OutstandingTokens,
		CostNanoUsd: int64(r.Cost), WorkUs: r.WorkUS, BusyUs: r.BusyUS,
		WaitedUs: r.WaitedUS, ExplainedUs: r.ExplainedUS,
	}
	for _, b := range r.TTFT {
		m.Ttft = append(m.Ttft, &pb.Bucket{Index: b.Index, Count: b.Count})
	}
	return m
}

// Report decodes one leaf's interval from a message dated so. What has a class, phase,
// outcome or reason that is not known here is skipped.
func Report(dated int64, m *pb.LeafReport) (route.Report, error) {
	switch {
	case m.GetLeaf() == "":
		return route.Report{}, errors.New("a report without a leaf")
	case m.IntervalUs != Age(m.IntervalUs):
		return route.Report{}, fmt.Errorf("report of leaf %q: interval_us is %d", m.Leaf, m.IntervalUs)
	}
	r := route.Report{
		Leaf: m.Leaf, Node: m.Node, Locality: m.Locality, Incarnation: m.Incarnation, Sequence: m.Sequence,
		At: dateOf(dated, m.AgeUs), Interval: m.IntervalUs, Term: m.Term, LastGrant: m.LastGrant,
	}
	for _, row := range m.Rows {
		if class, ok := classOf(row.GetClass()); ok {
			r.Rows = append(r.Rows, decodeRow(row))
			r.Rows[len(r.Rows)-1].Class = class
		}
	}
	r.Votes, r.Probes, r.Sheds, r.Spent = votes(m.Votes), probes(m.Probes), sheds(m.Sheds), spent(dated, m.Spent)
	return r, nil
}

func decodeRow(m *pb.Row) route.Row {
	r := route.Row{
		Endpoint: m.Endpoint, Identity: m.Identity, Workload: m.Workload,
		Admitted: m.Admitted, AdmitFailed: m.AdmitFailed, Finished: m.Finished, FinishFailed: m.FinishFailed,
		Slow: m.Slow, Limited: m.Limited, Excluded: m.Excluded, Invalid: m.Invalid,
		InFlight: m.InFlight, PendingPromptTokens: m.PendingPromptTokens, OutstandingTokens: m.OutstandingTokens,
		Cost: money.Nano(max(m.CostNanoUsd, 0)), WorkUS: m.WorkUs, BusyUS: m.BusyUs,
		WaitedUS: m.WaitedUs, ExplainedUS: m.ExplainedUs,
	}
	for _, b := range m.Ttft {
		r.TTFT = append(r.TTFT, route.Bucket{Index: b.GetIndex(), Count: b.GetCount()})
	}
	return r
}

func votes(ms []*pb.Vote) (out []route.Vote) {
	for _, m := range ms {
		class, known := classOf(m.GetClass())
		phase, ok := phaseOf(m.GetPhase())
		if known && ok {
			out = append(out, route.Vote{
				Endpoint: m.Endpoint, Identity: m.Identity, Class: class, Phase: phase,
				Round: m.Round, Soft: m.Soft, Reason: m.Reason,
			})
		}
	}
	return out
}

func probes(ms []*pb.ProbeResult) (out []route.ProbeResult) {
	for _, m := range ms {
		class, known := classOf(m.GetClass())
		if known && m.Outcome >= pb.ProbeOutcome_PROBE_OUTCOME_UNUSED && m.Outcome <= pb.ProbeOutcome_PROBE_OUTCOME_BAD {
			out = append(out, route.ProbeResult{
				Permit: m.Permit, Endpoint: m.Endpoint, Identity: m.Identity, Class: class,
				Round: m.Round, Outcome: route.ProbeOutcome(m.Outcome),
			})
		}
	}
	return out
}

func sheds(ms []*pb.Shed) (out []route.Shed) {
	for _, m := range ms {
		for kind, word := range shedWords {
			if word == m.GetReason() && m.GetWorkload() != "" {
				out = append(out, route.Shed{Workload: m.Workload, Kind: kind, Count: m.Count})
			}
		}
	}
	return out
}

func spent(dated int64, ms []*pb.Spent) (out []route.SpentQuota) {
	for _, m := range ms {
		if m.GetQuota() != "" && m.RemainingUs > 0 {
			out = append(out, route.SpentQuota{Quota: m.Quota, Until: plus(dated, m.RemainingUs)})
		}
	}
	return out
}
