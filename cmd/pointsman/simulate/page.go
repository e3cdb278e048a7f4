package simulate

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

//go:embed page.css
var style string

//go:embed page.html
var pageText string

// Names come from files: the template escapes them, and pictures escape their own.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg": func(s string) template.HTML { return template.HTML(s) },
}).Parse(pageText))

// Standalone is a figure as a file of its own, for light and dark.
func (f Figure) Standalone() []byte {
	head, rest, _ := strings.Cut(f.SVG, ">")
	return []byte(head + "><style>" + style + "</style>" + `<rect width="100%" height="100%" style="fill:var(--paper)"/>` + rest + "\n")
}

type pageData struct {
	Heading, Summary, Sweep, Foot string
	Paragraphs                    []string
	Style                         template.CSS
	Verdicts                      []Verdict
	Curves                        []Figure
	Points                        []pagePoint
	Many                          bool
}

type pagePoint struct {
	Label, Limits             string
	Head                      []string
	Rows                      []pageRow
	Figures, Breakers, Shares []Figure
	Heat                      bool
	Kinds                     [][]string // of errors and sheds; the first row is the heading
	Variables                 []setting
}

type pageRow struct {
	Class string
	Cells []pageCell
}

type pageCell struct{ Text, Class, Sort string }

type setting struct{ Name, Value string }

// Page is one page of HTML that needs nothing else: no network, and no script to be read.
func (r *Report) Page() ([]byte, error) {
	d := pageData{Heading: r.Title, Sweep: r.Sweep, Style: template.CSS(style), Curves: r.Curves(), Many: len(r.Points) > 1}
	if d.Heading == "" {
		d.Heading = r.File
	}
	for text := range strings.SplitSeq(r.Text, "\n\n") {
		if text = strings.TrimSpace(text); text != "" {
			d.Paragraphs = append(d.Paragraphs, text)
		}
	}
	for i := range r.Points {
		o := &r.Points[i]
		for _, v := range o.Verdicts {
			if d.Many {
				v.Found = r.label(o) + ": " + v.Found
			}
			d.Verdicts = append(d.Verdicts, v)
		}
		d.Points = append(d.Points, r.point(o))
	}
	d.Summary, d.Foot = r.summary(), r.foot()
	var out bytes.Buffer
	if err := page.Execute(&out, d); err != nil {
		return nil, fmt.Errorf("bug: the page: %w", err)
	}
	return out.Bytes(), nil
}

// point is what the page has of an outcome; of one among many only what is of its own.
func (r *Report) point(o *Outcome) pagePoint {
	p := pagePoint{Label: r.label(o), Head: []string{"policy"}, Figures: o.Figures()}
	shown := o.shown()
	for _, c := range shown {
		p.Head = append(p.Head, c.head)
	}
	inks := o.inks()
	for _, policy := range o.Policies {
		p.Rows = append(p.Rows, pageRow{inks[policy].class, o.cells(shown, policy)})
	}
	var limits bytes.Buffer
	o.writeLimits(&limits)
	if p.Limits = strings.TrimSpace(limits.String()); len(r.Seeds) > 1 {
		p.Limits = "Means of the seeds, ± half of the 95 % interval; ratios are paired by seed, with theirs. " + upper(p.Limits)
	}
	p.Kinds = o.kindRows()
	for _, name := range slices.Sorted(maps.Keys(o.Variables)) {
		p.Variables = append(p.Variables, setting{name, o.Variables[name]})
	}
	if len(r.Points) == 1 {
		p.Breakers, p.Shares = o.Breakers(), o.Shares()
		p.Heat = len(o.Results) > 0 && len(o.Results[0].By.Endpoints) > fewest
	}
	return p
}

func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// cells are a policy's row. The best of a column, oracles aside, stands out.
func (o *Outcome) cells(shown []column, policy string) []pageCell {
	cells := []pageCell{{Text: plain(policy)}}
	for _, c := range shown {
		cell := pageCell{Text: c.cell(o, policy)}
		v := c.value(o, policy)
		cell.Sort = sortable(v)
		if !math.IsNaN(v) {
			switch {
			case c.metric == "violations" && v > 0:
				cell.Class = "bad"
			case !oracle(policy) && c.lead(o, policy, v):
				cell.Class = "best"
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// sortable is a value as the page's script subtracts it: what never came and what is not known come
// last.
func sortable(v float64) string {
	switch {
	case math.IsNaN(v):
		return "1.5e308"
	case math.IsInf(v, 1):
		return "1e308"
	}
	return strconv.FormatFloat(v, 'g', 8, 64)
}

func (c column) value(o *Outcome, policy string) float64 {
	if c.to != nil {
		v, _, _ := o.ratio(policy, c.to(o), c.metric)
		return v
	}
	v, _ := o.mean(policy, c.metric)
	return v
}

var moreIsBetter = []string{"goodput", "fairness", "hit_rate", "validity"}

// lead tells whether nobody's value is better, by more than can be seen, and somebody's is
// worse.
func (c column) lead(o *Outcome, policy string, v float64) bool {
	sign := 1.0
	if slices.Contains(moreIsBetter, c.metric) {
		sign = -1
	}
	worse := false
	for _, p := range o.Policies {
		if oracle(p) || p == policy {
			continue
		}
		behind, visible := sign*(c.value(o, p)-v), math.Abs(v)/2000
		if behind < -visible {
			return false
		}
		worse = worse || behind > visible
	}
	return worse
}

// summary says what was run.
func (r *Report) summary() string {
	if len(r.Points) == 0 || len(r.Points[0].Results) == 0 {
		return "Nothing was run."
	}
	o := &r.Points[0]
	first := o.Results[0]
	calls, _ := o.mean(o.Policies[0], "calls")
	text := fmt.Sprintf("%s with %s; in each about %s calls to %s in %s", count(len(o.Policies), "policy", "policies"), count(len(r.Seeds), "seed", "seeds"),
		measure.Count.Text(math.Round(calls)), count(len(first.By.Endpoints), "endpoint", "endpoints"), clockText(float64(first.Duration-first.Warmup)/1e6))
	if broken, all := r.Broken(); all > 0 {
		text += fmt.Sprintf("; %d of %s hold", all-broken, count(all, "assertion", "assertions"))
	}
	return text + "."
}

func (r *Report) foot() string {
	return "pointsman simulate " + r.File + ": played in virtual time by the code that chooses in production. The same file, seeds and version give the same figures."
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
