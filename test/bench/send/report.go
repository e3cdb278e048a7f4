package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"text/tabwriter"
	"time"
)

// What a run may end in.
const (
	pass = "pass"
	fail = "fail"
	void = "void"
)

// report is what a run found. The figures at its top are the worse of both forms.
type report struct {
	options options

	Rate      int     `json:"rate"`
	Seconds   float64 `json:"seconds"`
	Rounds    int     `json:"rounds"`
	Events    int     `json:"events"`
	Yardstick float64 `json:"yardstick_ns"`

	Added50  float64 `json:"added_us_p50"`
	Added99  float64 `json:"added_us_p99"`
	Ratio50  float64 `json:"ratio_p50"`
	Allocs   float64 `json:"added_allocs"`
	PerEvent float64 `json:"added_ns_per_event"`

	Alone          float64 `json:"added_alone_us_p50"` // one request after the other, whole
	AllocsWhole    float64 `json:"added_allocs_whole"`
	AllocsStreamed float64 `json:"added_allocs_streamed"`
	Whole          figures `json:"whole"`
	Streamed       figures `json:"streamed"`

	Limits  map[string]float64 `json:"limits"`
	Above   []string           `json:"above,omitempty"` // which limits are passed
	Void    []string           `json:"void,omitempty"`  // why nothing can be said
	Verdict string             `json:"verdict"`
}

func newReport(o options) *report {
	return &report{options: o, Rate: o.rate, Seconds: o.duration.Seconds(), Rounds: o.rounds, Events: o.events, Yardstick: rounded(yardstick())}
}

// mostLate is how late half of the requests may begin, µs, where the rate is one that the
// machine can offer.
const mostLate = 500

// judge holds the figures to the limits.
func (r *report) judge() {
	r.Added50, r.Added99 = max(r.Whole.Added50, r.Streamed.Added50), max(r.Whole.Added99, r.Streamed.Added99)
	r.Ratio50, r.Allocs = max(r.Whole.Ratio50, r.Streamed.Ratio50), max(r.AllocsWhole, r.AllocsStreamed)
	r.Limits = map[string]float64{}
	for _, l := range []struct {
		name         string
		found, limit float64
		noise        float64
	}{
		{"added_us_p50", r.Added50, 25, max(r.Whole.Noise50, r.Streamed.Noise50)},
		{"added_us_p99", r.Added99, 150, max(r.Whole.Noise99, r.Streamed.Noise99)},
		{"ratio_p50", r.Ratio50, 1.10, 0},
		{"added_allocs", r.Allocs, 30, 0},
		{"added_ns_per_event", r.PerEvent, 1000, 0},
	} {
		r.Limits[l.name] = l.limit
		if l.found > l.limit {
			r.Above = append(r.Above, l.name)
		}
		if l.noise > l.limit {
			r.Void = append(r.Void, fmt.Sprintf("%s: noise of %.0f", l.name, l.noise))
		}
	}
	if late := max(r.Whole.Late50, r.Streamed.Late50); late > mostLate {
		r.Void = append(r.Void, fmt.Sprintf("requests began %.0f µs late", late))
	}
	if r.Yardstick < 5 || r.Yardstick > 40 {
		r.Void = append(r.Void, fmt.Sprintf("yardstick of %.1f ns", r.Yardstick))
	}
	switch {
	case len(r.Void) > 0:
		r.Verdict = void
	case len(r.Above) > 0:
		r.Verdict = fail
	default:
		r.Verdict = pass
	}
}

func (r *report) print(to io.Writer) {
	t := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%d requests a second for %.0f s in %d rounds, streams of %d events, yardstick %.1f ns\n", r.Rate, r.Seconds, r.Rounds, r.Events, r.Yardstick)
	fmt.Fprintln(t, "µs\tbare p50\tbare p99\tadded p50\tadded p99\tratio p50\tnoise p50\tnoise p99\tlate p50\tadded allocs")
	for _, row := range []struct {
		form   form
		f      figures
		allocs float64
	}{{whole, r.Whole, r.AllocsWhole}, {streamed, r.Streamed, r.AllocsStreamed}} {
		f := row.f
		fmt.Fprintf(t, "%v\t%.0f\t%.0f\t%.1f\t%.1f\t%.3f\t%.1f\t%.1f\t%.0f\t%.1f\n", row.form, f.Bare50, f.Bare99, f.Added50, f.Added99, f.Ratio50, f.Noise50, f.Noise99, f.Late50, row.allocs)
	}
	t.Flush()
	fmt.Fprintf(to, "added an event: %.0f ns; until a stream's last bytes: %.1f µs; one request after the other: %.1f µs\n", r.PerEvent, r.Streamed.Total50, r.Alone)
	fmt.Fprintln(to, r.Verdict)
	for _, name := range r.Above {
		fmt.Fprintf(to, "  above the limit: %s, %g\n", name, r.Limits[name])
	}
	for _, why := range r.Void {
		fmt.Fprintf(to, "  no measure: %s\n", why)
	}
}

// part is the part q of what samples took, in µs.
func part(of []sample, q float64, took func(sample) time.Duration) float64 {
	all := make([]time.Duration, len(of))
	for i, s := range of {
		all[i] = took(s)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return rounded(float64(all[int(q*float64(len(all)))].Nanoseconds()) / 1000)
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// middle is the median of each figure over rounds.
func middle(rounds []figures) figures {
	var m figures
	to := reflect.ValueOf(&m).Elem()
	for i := range to.NumField() {
		var all []float64
		for _, f := range rounds {
			all = append(all, reflect.ValueOf(f).Field(i).Float())
		}
		to.Field(i).SetFloat(rounded(median(all)))
	}
	return m
}

func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// yardstick is how many nanoseconds this machine needs for a bare choice of two among a
// hundred counters.
func yardstick() float64 {
	const picks = 1_000_000
	g := rand.New(rand.NewPCG(1, 2))
	var counters [100]int64
	best := time.Duration(math.MaxInt64)
	for range 10 {
		began := time.Now()
		for range picks {
			a, b := &counters[g.IntN(len(counters))], &counters[g.IntN(len(counters))]
			if *b < *a {
				a = b
			}
			*a++
		}
		best = min(best, time.Since(began))
	}
	return float64(best.Nanoseconds()) / picks
}
