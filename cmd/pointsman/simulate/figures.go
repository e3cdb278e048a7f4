package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// Figure is a picture with its title and what is to be known to read it.
type Figure struct {
	Name, Title, Note string
	SVG               string // for the page; Standalone gives a file
}

// inks gives each policy its colour: the first of ours is blue, oracles are dashed, the next
// five have colours of their own, and the rest is grey.
func (o *Outcome) inks() map[string]ink {
	inks, next := map[string]ink{}, 0
	for i, p := range o.Policies {
		class := "rest"
		if oracle(p) {
			class = "oracle"
		} else if next < colours {
			class = "k" + strconv.Itoa(next)
			next++
		}
		inks[p] = ink{class, i}
	}
	return inks
}

const colours = 6

// note is what is shown over a policy's line.
func (o *Outcome) note(policy string) string {
	mean, half := o.mean(policy, "ttft_mean")
	p99, spread := o.mean(policy, "ttft_p99")
	return fmt.Sprintf("%s: mean %s, p99 %s", policy, measure.Time.With(mean, half), measure.Time.With(p99, spread))
}

// Figures are all pictures of an outcome that have something to show.
func (o *Outcome) Figures() (all []Figure) {
	all = append(all, o.ranking("ttft_p99", "p99 time to first token"), o.quantiles(), o.overTime())
	if o.any("cost_per_1000") {
		all = append(all, o.costs())
	}
	if o.any("hit_rate") {
		all = append(all, o.hits())
	}
	if o.tenants() {
		all = append(all, o.fairness())
	}
	return all
}

// ranking has the policies in order of a metric, the lowest on top.
func (o *Outcome) ranking(metric, words string) Figure {
	p := rows{title: words + " by policy", unit: measure.Time, label: words + ", log scale"}
	inks := o.inks()
	for _, policy := range o.Policies {
		mean, half := o.mean(policy, metric)
		l := row{ink: inks[policy], name: policy, dots: []float64{mean}, low: mean - half, high: mean + half, text: measure.Time.With(mean, half)}
		if l.low <= 0 {
			l.low = mean / 10
		}
		p.lines = append(p.lines, l)
	}
	slices.SortStableFunc(p.lines, func(a, b row) int { return cmp.Compare(place(a.dots[0]), place(b.dots[0])) })
	return Figure{Name: metric, Title: "Who waits how long", SVG: p.svg(),
		Note: "The " + words + ", since the scheduled arrival: the mean of the seeds, with its 95 % interval. In italics: who knows what nobody can."}
}

// place has who served nobody come last.
func place(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// quantiles are the latency curves.
func (o *Outcome) quantiles() Figure {
	p := curves{title: "Quantiles of the time to first token, by policy", xLabel: "part of the calls served that waited no longer", yLabel: "time to first token, log scale"}
	var all []float64
	inks := o.inks()
	for _, policy := range o.Policies {
		var merged measure.Times
		for _, r := range o.Of(policy) {
			merged.Merge(&r.All.TTFT)
		}
		l := curve{ink: inks[policy], name: policy, note: o.note(policy)}
		for x := 0.1; x <= 3.0001 && merged.Count() > 0; x += 0.05 {
			v := merged.Quantile(1 - math.Pow(10, -x))
			l.points = append(l.points, point{x, v})
			all = append(all, v)
		}
		p.lines = append(p.lines, l)
	}
	p.x = func(from, to float64) axis {
		return axis{low: 0.1, high: 3, from: from, to: to, ticks: []tick{{math.Log10(2), "50 %"}, {1, "90 %"}, {math.Log10(20), "95 %"}, {2, "99 %"}, {3, "99.9 %"}}}
	}
	p.y = func(from, to float64) axis { return logAxis(all, measure.Time, from, to) }
	return Figure{Name: "quantiles", Title: "Latency", SVG: p.svg(), Note: "Of all seeds together. Lower is better; the further to the right, the rarer."}
}

// overTime is the p99 of each part of the run.
func (o *Outcome) overTime() Figure {
	p := curves{title: "p99 time to first token over time, by policy", xLabel: "when the calls came", yLabel: "p99 time to first token, log scale"}
	duration := o.duration()
	var all []float64
	inks := o.inks()
	for _, policy := range o.Policies {
		l := curve{ink: inks[policy], name: policy, note: o.note(policy), points: o.p99s(policy, duration)}
		for _, v := range l.points {
			all = append(all, v.y)
		}
		p.lines = append(p.lines, l)
	}
	if len(o.Results) > 0 {
		r := o.Results[0]
		if r.Warmup > 0 {
			p.shades = append(p.shades, shade{0, float64(r.Warmup), "warm-up"})
		}
		for _, f := range r.Faults {
			p.shades = append(p.shades, shade{float64(f.From), float64(f.To), f.Name})
		}
	}
	p.x = func(from, to float64) axis { return timeAxis(duration, from, to) }
	p.y = func(from, to float64) axis { return logAxis(all, measure.Time, from, to) }
	return Figure{Name: "over-time", Title: "Over time", SVG: p.svg(), Note: "The mean of the seeds. Grey: what is not measured, and faults."}
}

func (o *Outcome) duration() (most int64) {
	for _, r := range o.Results {
		most = max(most, r.Duration)
	}
	return most
}

// p99s are of the parts of the duration in which calls were served.
func (o *Outcome) p99s(policy string, duration int64) (points []point) {
	results := o.Of(policy)
	for b := 0; len(results) > 0 && b < len(results[0].Bins) && results[0].Bins[b].From < duration; b++ {
		sum, n := 0.0, 0.0
		for _, r := range results {
			if b < len(r.Bins) && r.Bins[b].Served > 0 {
				sum += float64(r.Bins[b].P99)
				n++
			}
		}
		v := math.NaN()
		if n > 0 {
			v = sum / n
		}
		half := float64(results[0].Bins[min(1, len(results[0].Bins)-1)].From) / 2
		points = append(points, point{float64(results[0].Bins[b].From) + half, v})
	}
	return points
}

// costs are money against time.
func (o *Outcome) costs() Figure {
	return Figure{Name: "cost", Title: "Cost against latency", Note: "Down and to the left is better.",
		SVG: o.against("cost_per_1000", "Cost", "cost of 1,000 calls served")}
}

// hits are caches against time.
func (o *Outcome) hits() Figure {
	return Figure{Name: "hits", Title: "Hits against latency", Note: "Down and to the right is better.",
		SVG: o.against("hit_rate", "Hits", "tokens that caches had, of the prompts served")}
}

// against has each policy at a metric and at its p99.
func (o *Outcome) against(metric, what, xLabel string) string {
	p := scatter{title: what + " against p99 time to first token, by policy", xLabel: xLabel, yLabel: "p99 time to first token, log scale"}
	var xs, ys []float64
	m, _ := measure.Find(metric)
	inks := o.inks()
	for _, policy := range o.Policies {
		x, spread := o.mean(policy, metric)
		p99, _ := o.mean(policy, "ttft_p99")
		xs, ys = append(xs, x), append(ys, p99)
		p.spots = append(p.spots, spot{inks[policy], policy, point{x, p99}, o.note(policy) + ", " + xLabel + " " + m.Unit.With(x, spread)})
	}
	p.x = func(from, to float64) axis { return evenAxis(xs, m.Unit, from, to) }
	p.y = func(from, to float64) axis { return logAxis(ys, measure.Time, from, to) }
	return p.svg()
}

// fairness has a dot for each tenant's slowdown.
func (o *Outcome) fairness() Figure {
	p := rows{title: "Slowdown of each tenant, by policy", unit: measure.Plain, label: "slowdown, log scale"}
	inks := o.inks()
	for _, policy := range o.Policies {
		names, slow := o.slowdowns(policy)
		if len(slow) == 0 {
			continue
		}
		l := row{ink: inks[policy], name: policy, dots: slow, low: slices.Min(slow), high: slices.Max(slow)}
		l.text = shorten(names[slices.Index(slow, l.high)], 14) + " " + measure.Plain.Text(l.high)
		p.lines = append(p.lines, l)
	}
	return Figure{Name: "fairness", Title: "Between tenants", SVG: p.svg(),
		Note: "A dot is a tenant: how many times longer its calls wait for their first tokens than they would alone (or, where that is not known, than all calls do), calls not served counted as endless. Close together is fair. Right: the slowest."}
}

func (o *Outcome) slowdowns(policy string) (names []string, slow []float64) {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, r := range o.Of(policy) {
		for i := range r.By.Tenants {
			t := &r.By.Tenants[i]
			if counts[t.Name] == 0 {
				names = append(names, t.Name)
			}
			sums[t.Name] += r.Slowdown(&t.Measures)
			counts[t.Name]++
		}
	}
	slices.Sort(names)
	for _, name := range names {
		slow = append(slow, sums[name]/counts[name])
	}
	return names, slow
}
