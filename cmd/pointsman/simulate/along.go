package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// Curves are figures along the variable that was swept; none unless it is one, of numbers.
func (r *Report) Curves() (all []Figure) {
	at := make([]float64, len(r.Points))
	for i := range r.Points {
		v, err := number(r.Points[i].Variables[r.Sweep])
		if err != nil {
			return nil
		}
		at[i] = v
	}
	if len(at) < 2 {
		return nil
	}
	for _, m := range []string{"ttft_p99", "ttft_mean", "goodput", "errors", "cost_per_1000", "hit_rate", "worst_slowdown"} {
		if slices.ContainsFunc(r.Points, func(o Outcome) bool { return o.any(m) }) && (m != "worst_slowdown" || r.Points[0].tenants()) {
			all = append(all, r.along(m, at))
		}
	}
	return all
}

// number reads a value of a variable: a number, or a time as HCL writes it.
func number(text string) (float64, error) {
	text = strings.Trim(text, `"`)
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, nil
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err
}

func (r *Report) along(metric string, at []float64) Figure {
	m, _ := measure.Find(metric)
	p := curves{title: metric + " along " + r.Sweep, xLabel: r.Sweep, yLabel: metric}
	var all []float64
	first := &r.Points[0]
	inks := first.inks()
	for _, policy := range first.Policies {
		l := curve{ink: inks[policy], name: policy, note: policy}
		for i := range r.Points {
			mean, half := r.Points[i].mean(policy, metric)
			l.points = append(l.points, point{at[i], mean})
			l.low, l.high = append(l.low, mean-half), append(l.high, mean+half)
			all = append(all, mean)
			l.note += fmt.Sprintf("; %s: %s", r.Points[i].Variables[r.Sweep], m.Unit.With(mean, half))
		}
		p.lines = append(p.lines, l)
	}
	p.x = func(from, to float64) axis {
		a := axis{low: slices.Min(at), high: slices.Max(at), from: from + 24, to: to - 24}
		if a.low > 0 && a.high/a.low > 20 {
			a.log = true
		}
		for i, v := range at {
			a.ticks = append(a.ticks, tick{v, r.Points[i].Variables[r.Sweep]})
		}
		slices.SortFunc(a.ticks, func(a, b tick) int { return cmp.Compare(a.at, b.at) })
		return sparse(a)
	}
	p.y = func(from, to float64) axis { return evenAxis(append(all, 0), m.Unit, from, to) }
	if m.Unit == measure.Time {
		p.yLabel += ", log scale"
		p.y = func(from, to float64) axis { return logAxis(all, m.Unit, from, to) }
	}
	return Figure{Name: "sweep-" + metric, Title: metric + " along " + r.Sweep, SVG: p.svg(), Note: "The means of the seeds, with their 95 % intervals."}
}
