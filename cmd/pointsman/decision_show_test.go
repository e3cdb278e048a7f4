package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestADecisionByPredictiveShowsAllThatItsScoresAreMadeOf(t *testing.T) {
	d := route.Record{
		Strategy: route.Predictive, StrategyVersion: 1, Way: route.WayDrawn, Drawn: 2, Chosen: 1, Bias: 0.9,
		Candidates: [2]route.Drawn{
			{Endpoint: "gpu-a", Inputs: route.Inputs{Load: 3, Tokens: 2000, Time: 250_000, Temper: 1.25, Health: 2}},
			{Endpoint: "gpu-b", Inputs: route.Inputs{Load: 9, Tokens: 100, Time: 240_000, Temper: 0.5, Health: 1}},
		},
	}
	var out bytes.Buffer
	printDecision(&out, &pb.Attempt{Endpoint: "gpu-b", Decision: wire.EncodeDecision(&d)})
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"bias gpu-a is left when the score of gpu-b × 0.9 is lower",
		"replay the same",
		"ENDPOINT GATE LOAD TIME TOKENS TEMPER HEALTH SCORE",
		"gpu-a drawn 3 250ms 2000 1.25 2 625000",
		"gpu-b chosen 9 240ms 100 0.5 1 120000",
	}
	if got := strings.Join(lines, "\n"); !strings.HasSuffix(strings.TrimSpace(got), strings.Join(want, "\n")) {
		t.Errorf("%s\nwant at its end\n%s", got, strings.Join(want, "\n"))
	}
}
