package faults

import (
	"fmt"
	"slices"
	"time"
)

// table is what came of all faults, for people: go test shows it in this folder.
type table struct {
	rows   []*row
	failed map[int]bool // by number
}

type row struct {
	fault *fault
	told  [policies]string
}

// tell adds a scene: what the caller got at how many requests.
func (t *table) tell(f *fault, s *scene) {
	if len(t.rows) == 0 || t.rows[len(t.rows)-1].fault != f {
		t.rows = append(t.rows, &row{fault: f})
	}
	right, slowest := 0, time.Duration(0)
	for i := range s.results {
		r := &s.results[i]
		slowest = max(slowest, r.took)
		if r.right() {
			right++
		}
	}
	t.rows[len(t.rows)-1].told[s.policy] = fmt.Sprintf("%d/%d  %d+%d  %.1fs", right, len(s.results), s.count("a").Requests, s.count("b").Requests, slowest.Seconds())
}

func (t *table) judge(f *fault, passed bool) {
	if t.failed == nil {
		t.failed = map[int]bool{}
	}
	t.failed[f.number] = t.failed[f.number] || !passed
}

func (t *table) print() {
	fmt.Printf("right answers, requests at a and b, slowest call\n\n%-37s%-23s%-23s%s\n", "", live, whole, unstreamed)
	passed := 0
	for _, r := range t.rows {
		fmt.Printf("%2d %-34s%-23s%-23s%s\n", r.fault.number, r.fault.name, r.told[live], r.told[whole], r.told[unstreamed])
	}
	var failed []int
	for number, bad := range t.failed {
		if bad {
			failed = append(failed, number)
		} else {
			passed++
		}
	}
	fmt.Printf("\n%d of %d", passed, len(t.failed))
	if slices.Sort(failed); len(failed) > 0 {
		fmt.Printf("; failed: %d", failed)
	}
	fmt.Println()
}
