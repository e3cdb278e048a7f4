package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Assertion is what must hold of the results of some policies and seeds, such as
//
//	ttft_p99 < 2s                                  (of every policy)
//	predictive.ttft_p99 / prequal.ttft_p99 <= 0.95
//	predictive.tenant.acme.ttft_p99 < bands.tenant.acme.ttft_p99
//
// A name that holds anything but letters, digits, - and _ is written in double quotes.
type Assertion struct {
	text  string
	left  quantity
	op    string
	right quantity // of one number, or of another quantity
}

// quantity is a term, a quotient of two, or a number.
type quantity struct {
	over, under *term
	number      float64
}

// term is one figure of one policy.
type term struct {
	policy string // empty: of every one
	part   Part
	metric Metric
}

func (a Assertion) String() string { return a.text }

// Policies are those that it names.
func (a Assertion) Policies() (names []string) {
	for _, t := range a.terms() {
		if t.policy != "" && !slices.Contains(names, t.policy) {
			names = append(names, t.policy)
		}
	}
	return names
}

// Parts are the workloads, tenants and endpoints that it names.
func (a Assertion) Parts() (parts []Part) {
	for _, t := range a.terms() {
		if t.part.Kind != "" && !slices.Contains(parts, t.part) {
			parts = append(parts, t.part)
		}
	}
	return parts
}

func (a Assertion) terms() (all []*term) {
	for _, t := range []*term{a.left.over, a.left.under, a.right.over, a.right.under} {
		if t != nil {
			all = append(all, t)
		}
	}
	return all
}

// Check tells whether it holds, and what was found. The figure of a policy is the mean of its
// seeds; a quotient of two is that of Paired. A policy or part that is not there fails it, and
// so does a figure that is no number.
func (a Assertion) Check(results []*Result) (ok bool, found string) {
	if len(results) == 0 {
		return false, "there are no results"
	}
	if a.everyone() {
		return a.checkAll(results)
	}
	return a.checkOne(results, "")
}

// everyone tells whether some term is of every policy.
func (a Assertion) everyone() bool {
	return slices.ContainsFunc(a.terms(), func(t *term) bool { return t.policy == "" })
}

func (a Assertion) checkAll(results []*Result) (ok bool, found string) {
	var wrong, right []string
	different := map[string]bool{}
	for _, p := range policies(results) {
		held, what := a.checkOne(results, p)
		different[what] = true
		if what = p + ": " + what; held {
			right = append(right, what)
		} else {
			wrong = append(wrong, what)
		}
	}
	switch {
	case len(wrong) > 0:
		return false, strings.Join(wrong, "; ")
	case len(different) == 1:
		_, what, _ := strings.Cut(right[0], ": ")
		return true, fmt.Sprintf("%s, for all %d", what, len(right))
	}
	return true, strings.Join(right, "; ")
}

func (a Assertion) checkOne(results []*Result, policy string) (ok bool, found string) {
	left, said, err := a.left.value(results, policy)
	if err != nil {
		return false, err.Error()
	}
	right, compared, err := a.right.value(results, policy)
	if err != nil {
		return false, err.Error()
	}
	if a.right.over != nil {
		said += ", and " + compared
	}
	if math.IsNaN(left) || math.IsNaN(right) {
		said += ": nothing to judge by"
	}
	return holds(left, a.op, right), said
}

func holds(left float64, op string, right float64) bool {
	switch op {
	case "<":
		return left < right
	case "<=":
		return left <= right
	case ">":
		return left > right
	case ">=":
		return left >= right
	case "==":
		return left == right
	}
	return left != right && !math.IsNaN(left) && !math.IsNaN(right)
}

// value is the quantity, and in words with its interval.
func (q quantity) value(results []*Result, policy string) (v float64, said string, err error) {
	if q.over == nil {
		return q.number, "", nil
	}
	over, err := q.over.values(results, policy)
	if err != nil {
		return 0, "", err
	}
	if q.under == nil {
		mean, half := Mean(over)
		return mean, q.over.metric.Unit.With(mean, half), nil
	}
	under, err := q.under.values(results, policy)
	if err != nil {
		return 0, "", err
	}
	ratio, low, high := Paired(over, under)
	return ratio, Between(ratio, low, high), nil
}

// Between is a ratio with its interval, if there is one.
func Between(ratio, low, high float64) string {
	from, to := Plain.Text(low), Plain.Text(high)
	if math.IsNaN(low) || math.IsNaN(high) || from == to {
		return Plain.Text(ratio)
	}
	return fmt.Sprintf("%s (%s to %s)", Plain.Text(ratio), from, to)
}

// values are those of the policy's seeds.
func (t *term) values(results []*Result, policy string) (all []float64, err error) {
	if t.policy != "" {
		policy = t.policy
	}
	for _, r := range results {
		if r.Policy != policy {
			continue
		}
		v, ok := t.metric.Of(r, t.part)
		if !ok {
			return nil, fmt.Errorf("%s had no calls of %s %q", policy, t.part.Kind, t.part.Name)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no policy %q was played%s", policy, nearest(policy, policies(results)))
	}
	return all, nil
}

// policies are in the order in which they come.
func policies(results []*Result) (names []string) {
	for _, r := range results {
		if !slices.Contains(names, r.Policy) {
			names = append(names, r.Policy)
		}
	}
	return names
}
