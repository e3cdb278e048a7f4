package simulate

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// column is one of the table: a metric of each policy, or what it is next to another's.
type column struct {
	head, metric string
	spread       bool                    // with its interval
	always       bool                    // else only if there is some of it
	to           func(o *Outcome) string // the policy it is compared with
}

var columns = []column{
	{head: "ttft mean", metric: "ttft_mean", spread: true, always: true},
	{head: "p50", metric: "ttft_p50", always: true},
	{head: "p95", metric: "ttft_p95", always: true},
	{head: "p99", metric: "ttft_p99", spread: true, always: true},
	{head: "total p99", metric: "total_p99", always: true},
	{head: "goodput", metric: "goodput", always: true},
	{head: "errors", metric: "errors", always: true},
	{head: "shed", metric: "sheds", always: true},
	{head: "late", metric: "lates"},
	{head: "retries", metric: "retry_rate"},
	{head: "valid", metric: "validity"},
	{head: "cost/1000", metric: "cost_per_1000"},
	{head: "fairness", metric: "fairness"},
	{head: "slowdown", metric: "worst_slowdown"},
	{head: "hits", metric: "hit_rate"},
	{head: "avoided", metric: "avoided"},
	{head: "violations", metric: "violations", always: true},
	{head: "p99 / best", metric: "ttft_p99", to: func(o *Outcome) string { p, _ := o.best("ttft_p99"); return p }},
	{head: "p99 / wrr", metric: "ttft_p99", to: func(o *Outcome) string { return weighted }},
}

// shown are the columns that say something of an outcome.
func (o *Outcome) shown() (all []column) {
	for _, c := range columns {
		switch {
		case c.to != nil && !o.has(c.to(o)):
		case (c.metric == "fairness" || c.metric == "worst_slowdown") && !o.tenants():
		case c.metric == "validity" && !o.any("invalid"):
		case c.always || o.any(c.metric):
			all = append(all, c)
		}
	}
	return all
}

// cell is a column's text for a policy.
func (c column) cell(o *Outcome, policy string) string {
	if c.to != nil {
		return measure.Between(o.ratio(policy, c.to(o), c.metric))
	}
	m, err := measure.Find(c.metric)
	if err != nil {
		return ""
	}
	mean, half := o.mean(policy, c.metric)
	if c.spread {
		return m.Unit.With(mean, half)
	}
	return m.Unit.Text(mean)
}

// WriteText writes a table for people, of each point, with its assertions below.
func (r *Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", plain(r.File), plain(r.Title))
	for i := range r.Points {
		o := &r.Points[i]
		fmt.Fprintln(w)
		if label := r.label(o); label != "" {
			fmt.Fprintln(w, plain(label))
		}
		align(w, o.rows())
		o.writeLimits(w)
		if kinds := o.kindRows(); kinds != nil {
			for i := range kinds[0] {
				kinds[0][i] = strings.ToUpper(kinds[0][i])
			}
			fmt.Fprintln(w)
			align(w, kinds)
			fmt.Fprintln(w)
		}
		for _, v := range o.Verdicts {
			fmt.Fprintf(w, "%s  %s  (%s)\n", map[bool]string{true: "holds", false: "FAILS"}[v.Held], plain(v.Text), plain(v.Found))
		}
	}
}

func (o *Outcome) rows() [][]string {
	shown := o.shown()
	rows := [][]string{{"POLICY"}}
	for _, c := range shown {
		rows[0] = append(rows[0], strings.ToUpper(c.head))
	}
	for _, p := range o.Policies {
		row := []string{plain(p)}
		for _, c := range shown {
			row = append(row, c.cell(o, p))
		}
		rows = append(rows, row)
	}
	return rows
}

// writeLimits says what the figures are to be seen next to.
func (o *Outcome) writeLimits(w io.Writer) {
	var parts []string
	if best, ok := o.best("ttft_p99"); ok {
		parts = append(parts, "best is "+plain(best)+", which knows what nobody can")
	}
	if len(o.Policies) > 0 {
		if zero, _ := o.mean(o.Policies[0], "zero_ttft"); zero > 0 {
			parts = append(parts, "mean TTFT with nobody else there: "+measure.Time.Text(zero))
		}
		if pooled, _ := o.mean(o.Policies[0], "pooled_ttft"); pooled > 0 {
			parts = append(parts, "of one pooled server, a bound on the mean: "+measure.Time.Text(pooled))
		}
		if hits, _ := o.mean(o.Policies[0], "possible_hits"); hits > 0 && o.any("hit_rate") {
			parts = append(parts, "hits of one cache that forgets nothing: "+measure.Fraction.Text(hits))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintln(w, strings.Join(parts, "; "))
	}
}

// align writes rows with the first column to the left and figures to the right.
func align(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + fill)
			} else {
				line.WriteString("  " + fill + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// plain keeps a text that somebody wrote from breaking a table, or a terminal.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " ")
}
