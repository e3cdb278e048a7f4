package catalog

import (
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// What is absent has one value, here. The page that a value comes from is named; catalog.md is the
// policy "interactive" of its sample.
const (
	defaultWindow       = 5 * time.Second  // catalog.md
	defaultSlowWindow   = 60 * time.Second // catalog.md
	defaultMinSamples   = 20               // catalog.md
	defaultConsecutive  = 5                // catalog.md; requirements.md, D1
	defaultFailureRatio = 0.5              // catalog.md
	defaultTTFTLimit    = 0                // catalog.md: absent: off
	defaultCooldown     = 5 * time.Second  // catalog.md
	defaultCooldownMax  = 2 * time.Minute  // catalog.md
	defaultProbes       = 3                // catalog.md
	defaultRamp         = 30 * time.Second // catalog.md
	defaultMaxEjected   = 0.5              // catalog.md

	defaultMax          = 3                // catalog.md
	defaultRetryRatio   = 0.1              // decision-core.md, a call
	defaultRetryReserve = 10               // decision-core.md, a call
	defaultSameEndpoint = 0                // catalog.md
	defaultConnect      = 2 * time.Second  // catalog.md
	defaultFirstToken   = 10 * time.Second // catalog.md
	defaultAnswer       = 3 * time.Minute  // catalog.md
	defaultStall        = 20 * time.Second // catalog.md
	defaultTotal        = 10 * time.Minute // catalog.md

	defaultSuccessDrop = 0.02            // catalog.md, workload "support-chat"
	defaultShedRise    = 0.02            // the same
	defaultTTFTP95     = 1.25            // the same
	defaultCost        = 1.20            // the same
	defaultGuardWindow = 1 * time.Minute // the same
	defaultGuardMin    = 200             // the same

	defaultStrategy     = "predictive" // docs/results.md: the best of them in most scenarios
	defaultAffinityOn   = "prefix"     // requirements.md, A5
	defaultAffinityRule = "score"      // requirements.md, A5; docs/results.md, prefixes: fewer late first tokens than by median at as many hits
	defaultSlackMedian  = 2.5          // requirements.md, A5
	defaultSlackScore   = 1.25         // requirements.md, A5

	defaultDeliver  = pb.Deliver_DELIVER_LIVE          // catalog.md
	defaultOnFilter = pb.OnFilter_ON_FILTER_RETURN     // catalog.md
	defaultRefill   = pb.Refill_REFILL_CONTINUOUS      // catalog.md
	defaultOnCutoff = pb.OnCutoff_ON_CUTOFF_SAFE       // catalog.md
	defaultPriority = pb.Priority_PRIORITY_INTERACTIVE // decision-core.md: the whole capacity for who asks for nothing else

	defaultWarn        = 0.8                               // catalog.md, tenant "acme"
	defaultPer         = pb.BudgetPeriod_BUDGET_PERIOD_DAY // the same
	defaultOnExhausted = pb.OnExhausted_ON_EXHAUSTED_SHED  // the same
)

func defaultBreaker() *pb.BreakerPolicy {
	return &pb.BreakerPolicy{
		WindowUs: defaultWindow.Microseconds(), SlowWindowUs: defaultSlowWindow.Microseconds(),
		MinSamples: defaultMinSamples, Consecutive: defaultConsecutive, FailureRatio: defaultFailureRatio, TtftLimitUs: defaultTTFTLimit,
		CooldownUs: defaultCooldown.Microseconds(), CooldownMaxUs: defaultCooldownMax.Microseconds(),
		Probes: defaultProbes, RampUs: defaultRamp.Microseconds(), MaxEjected: defaultMaxEjected,
	}
}

func defaultAttempts() *pb.AttemptsPolicy {
	return &pb.AttemptsPolicy{
		Max: defaultMax, RetryRatio: defaultRetryRatio, RetryReserve: defaultRetryReserve, SameEndpoint: defaultSameEndpoint,
		ConnectUs: defaultConnect.Microseconds(), FirstTokenUs: defaultFirstToken.Microseconds(), AnswerUs: defaultAnswer.Microseconds(),
		StallUs: defaultStall.Microseconds(), TotalUs: defaultTotal.Microseconds(),
	}
}

func defaultGuard() *pb.Guard {
	return &pb.Guard{
		SuccessDrop: defaultSuccessDrop, ShedRise: defaultShedRise, TtftP95: defaultTTFTP95, Cost: defaultCost,
		WindowUs: defaultGuardWindow.Microseconds(), MinSamples: defaultGuardMin,
	}
}

// defaultAffinity leaves the rule open, which goes with the strategy, and slack, which goes with the rule.
func defaultAffinity() *pb.Affinity { return &pb.Affinity{On: defaultAffinityOn} }

// defaultRule is median for a strategy without scores, whatever it is for others.
func defaultRule(strategy string) string {
	if scoreless(strategy) {
		return "median"
	}
	return defaultAffinityRule
}

// scoreless strategies are none of those that affinity by rule score goes with.
func scoreless(strategy string) bool {
	for s := route.P2C; s.String() != "unknown"; s++ {
		if s.String() == strategy {
			return !route.AffinityScore.With(s)
		}
	}
	return false
}

func defaultSlack(rule string) float64 {
	if rule == "score" {
		return defaultSlackScore
	}
	return defaultSlackMedian
}
