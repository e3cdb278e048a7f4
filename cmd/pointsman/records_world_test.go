package main

import (
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// history is a call that failed over, a home, a shed, a decision of another version, and two events.
func history() []*pb.Record {
	at := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC).UnixMicro()
	record := func(after time.Duration, a *pb.Attempt) *pb.Record {
		a.Workload = "chat"
		return &pb.Record{TimeUs: at + after.Microseconds(), What: &pb.Record_Attempt{Attempt: a}}
	}
	event := func(after time.Duration, e *pb.Event) *pb.Record {
		return &pb.Record{TimeUs: at + after.Microseconds(), What: &pb.Record_Event{Event: e}}
	}
	drawn := route.Record{
		Revision: 3, Generation: 5, Strategy: route.P2C, StrategyVersion: 1, Way: route.WayDrawn, Attempt: 1, Drawn: 2,
		Refused: 1 << route.ReasonDrained, Refusals: 1, Seed: 99, Tie: 7,
		Known: [2]route.Known{{RowAge: 400, SampleAge: 1200, Samples: 64}},
		Candidates: [2]route.Drawn{
			{Endpoint: "gpu-a", Inputs: route.Inputs{Load: 3, Time: 250_000}},
			{Endpoint: "gpu-b", Inputs: route.Inputs{Load: 9, Time: 240_000}},
		},
	}
	home := drawn
	home.Way, home.Drawn, home.Refusals, home.Refused, home.Known = route.WayHome, 1, 0, 0, [2]route.Known{}
	home.Candidates[0] = route.Drawn{Endpoint: "gpu-b"}
	older := wire.EncodeDecision(&drawn)
	older.Version = 9
	wrong := wire.EncodeDecision(&drawn)
	wrong.Chosen = 1
	return []*pb.Record{
		record(1500*time.Millisecond, &pb.Attempt{
			Call: 7, Number: 1, Tenant: "acme", Endpoint: "gpu-a", RequestId: "req-1", Outcome: "faulted", Domain: "endpoint", Phase: "before_first_token",
			Status: 503, Detail: "overloaded", TotalUs: 120_000, Decision: wire.EncodeDecision(&drawn),
			Explanation: &pb.Explanation{Omitted: 2, Candidates: []*pb.Considered{
				{Endpoint: "gpu-a", Tier: "primary", Load: 3, TimeUs: 250_000, Share: 1, Score: 1e6},
				{Endpoint: "gpu-b", Tier: "primary", Reason: "breaker_open"},
			}},
		}),
		event(1600*time.Millisecond, &pb.Event{
			Kind: "opened", Endpoint: "gpu-a", Class: "any", Reason: "3 failures in a row", UntilUs: at + 6_600_000,
		}),
		record(3*time.Second, &pb.Attempt{
			Call: 7, Number: 2, Tenant: "acme", Endpoint: "gpu-b", Probe: true, RequestId: "req-2", Outcome: "served", Domain: "endpoint", Phase: "complete",
			Status: 200, FirstTokenUs: 245_000, TotalUs: 1_300_000, CostNanoUsd: 4_200_000,
			Usage: &pb.Usage{Input: 1200, Cached: 200, Output: 310, Estimated: true}, Decision: wire.EncodeDecision(&home),
		}),
		record(4*time.Second, &pb.Attempt{
			Call: 8, Tenant: "default", Outcome: "shed", Domain: "endpoint", Phase: "before_dispatch", TotalUs: 20, Detail: `workload "chat": shed: all open: 2 breaker_open`,
		}),
		record(5*time.Second, &pb.Attempt{Call: 9, Number: 1, Endpoint: "gpu-a", Outcome: "served", Decision: older}),
		record(6*time.Second, &pb.Attempt{Call: 10, Number: 1, Endpoint: "gpu-b", Outcome: "served", Decision: wrong}),
		event(7*time.Second, &pb.Event{Kind: "link_lost", Name: "unix:///run/x", Error: "the parent\nended the stream\x1b[2J"}),
	}
}
