package main

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// expectation is what was expected before anything was played.
type expectation struct {
	says    string
	figure  string
	against string // another figure that it is so many times of; empty: it stands for itself
	op      string
	bound   float64
	unit    measure.Unit
}

// expectations are those of the issue by which the strategies were built, and what they are to come to.
var expectations = []expectation{
	{says: "load 0.6: p99 next to Prequal's", figure: "steady-06: predictive.ttft_p99 / prequal.ttft_p99", op: "<=", bound: 0.9},
	{says: "load 0.6: next to least-loaded, local", figure: "steady-06: predictive.ttft_p99 / rival_least_loaded.ttft_p99", op: "<=", bound: 0.7},
	{says: "load 0.6: next to the best clairvoyant", figure: "steady-06: predictive.ttft_p99 / best_oracle.ttft_p99", op: "<=", bound: 2.5},
	{says: "the goal beyond", figure: "steady-06: predictive.ttft_p99 / best_oracle.ttft_p99", op: "<=", bound: 2},
	{says: "load 0.9: p99 next to Prequal's", figure: "steady-09: predictive.ttft_p99 / prequal.ttft_p99", op: "<=", bound: 0.95},
	{says: "load 0.9: next to least-loaded, local", figure: "steady-09: predictive.ttft_p99 / rival_least_loaded.ttft_p99", op: "<=", bound: 0.3},
	{says: "load 0.9: next to the best clairvoyant", figure: "steady-09: predictive.ttft_p99 / best_oracle.ttft_p99", op: "<=", bound: 3.3},
	{says: "the goal beyond", figure: "steady-09: predictive.ttft_p99 / best_oracle.ttft_p99", op: "<=", bound: 2.5},
	{says: "one in ten slow: p99 next to Prequal's", figure: "one-in-ten-slow: predictive.ttft_p99 / prequal.ttft_p99", op: "<=", bound: 0.85},
	{says: "one in ten slow: next to least-loaded, local", figure: "one-in-ten-slow: predictive.ttft_p99 / rival_least_loaded.ttft_p99", op: "<=", bound: 0.3},
	{says: "pushed every 20 s, next to every second", figure: "stale: predictive.ttft_p99", against: "steady-06: predictive.ttft_p99", op: "<=", bound: 3},
	{says: "pushed every 60 s, next to every second", figure: "stale-60: predictive.ttft_p99", against: "steady-06: predictive.ttft_p99", op: "<=", bound: 3},
	{says: "weights 90:10 of equal speeds, little to do: share of the first, at least", figure: "shares: predictive.endpoint.gpu-a.share", op: ">=", bound: 0.85, unit: measure.Fraction},
	{says: "and at most", figure: "shares: predictive.endpoint.gpu-a.share", op: "<=", bound: 0.95, unit: measure.Fraction},
	{says: "fast failure, breakers off for all: errors", figure: "fast-failure-bare: predictive_bare.errors", op: "<=", bound: 0.002, unit: measure.Fraction},
	{says: "prefixes, rule score with slack 2: part of the possible hits", figure: "prefix-reuse: score_200.hit_part", op: ">=", bound: 0.9, unit: measure.Fraction},
	{says: "and its p99 next to that without affinity", figure: "prefix-reuse: score_200.ttft_p99 / predictive.ttft_p99", op: "<=", bound: 1},
	{says: "equal servers: p99 next to the best rival's", figure: "homogeneous: predictive.ttft_p99 / best_rival.ttft_p99", op: "<=", bound: 1.1},
	{says: "bands: cost next to the dearest model's", figure: "cost: bands.cost_per_1000 / dearest.cost_per_1000", op: "<=", bound: 0.4},
	{says: "bands: valid answers delivered, next to the dearest model's", figure: "cost: bands.goodput / dearest.goodput", op: ">=", bound: 0.99},
}

var signs = map[string]string{"<=": "≤", ">=": "≥"}

// row is an expectation's line; empty if its study was not played.
func (x expectation) row(b *book) (string, error) {
	e, err := b.of(nil, x.figure)
	if x.against != "" && err == nil {
		e, err = b.across(nil, x.figure, x.against)
	}
	if errors.Is(err, errNotPlayed) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("expectation %q: %w", x.says, err)
	}
	holds, surely := held(e, x.op, x.bound)
	said := map[bool]string{true: "met", false: "**missed**"}[holds]
	if !surely {
		said += ", by less than the interval"
	}
	return line([]string{x.says, signs[x.op] + " " + x.unit.Text(x.bound), e.Text, said}), nil
}
