package engine

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pointsman/pointsman/clientlib/route"
)

func compare(a, b string) int { return strings.Compare(a, b) }

// page is one reading of what is looked for: samples by name. A name that is not there is not
// known; a prefix of another is another.
type page map[string][]sample

// sample is one line.
type sample struct {
	labels map[string]string
	series string // all labels, to find it again
	value  float64
}

// Bounds of one page.
const (
	mostSamples = 2000    // that are kept: a server tells as many of its engines and ranks
	mostLook    = 4 << 10 // bytes that are looked at of one that has none of them
)

// parse keeps the gauges and counters that some server is read by.
func parse(text []byte) (page, error) {
	kept, samples := ofInterest(text)
	switch {
	case samples == 0: // is it such a page at all?
		kept = text[:bytes.LastIndexByte(text[:min(len(text), mostLook)], '\n')+1]
		if len(text) <= mostLook {
			kept = text
		}
	case samples > mostSamples:
		return nil, fmt.Errorf("metrics: %d samples, at most %d", samples, mostSamples)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(kept))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	p := page{}
	for name, f := range families {
		if !wanted[name] {
			continue
		}
		for _, m := range f.Metric {
			if v, ok := valueOf(m); ok {
				p[name] = append(p[name], newSample(m.Label, v))
			}
		}
	}
	return p, nil
}

// ofInterest are the lines of a page that are wanted, and the samples among them: a page of other
// names takes a hundred times its own size in memory when it is parsed.
func ofInterest(text []byte) (kept []byte, samples int) {
	for line := range bytes.Lines(text) {
		name := bytes.TrimLeft(line, " \t")
		comment := bytes.HasPrefix(name, []byte("#"))
		if comment {
			_, name, _ = bytes.Cut(name, []byte("TYPE "))
			name = bytes.TrimLeft(name, " \t")
		}
		if end := bytes.IndexAny(name, " \t{\r\n"); end < 0 || !wanted[string(name[:end])] {
			continue
		}
		if kept = append(kept, line...); !comment {
			samples++
		}
	}
	return kept, samples
}

// valueOf leaves out what no count, share or sum can be.
func valueOf(m *dto.Metric) (float64, bool) {
	v := math.NaN()
	switch {
	case m.Gauge != nil:
		v = m.Gauge.GetValue()
	case m.Counter != nil:
		v = m.Counter.GetValue()
	case m.Untyped != nil:
		v = m.Untyped.GetValue()
	}
	return v, v >= 0 && v <= mostFigure
}

const mostFigure = 1 << 50

func newSample(labels []*dto.LabelPair, v float64) sample {
	s := sample{labels: make(map[string]string, len(labels)), value: v}
	for _, l := range labels {
		s.labels[l.GetName()] = l.GetValue()
	}
	s.series = join(s.labels)
	return s
}

func join(labels map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%q=%q,", k, labels[k])
	}
	return b.String()
}

// first are the samples of the first name that is there: servers rename what they tell.
func (p page) first(names ...string) []sample {
	for _, name := range names {
		if len(p[name]) > 0 {
			return p[name]
		}
	}
	return nil
}

// where keeps the samples with a label.
func where(all []sample, label, value string) []sample {
	return slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return s.labels[label] != value })
}

// sum adds; nothing is not known.
func sum(all []sample) float64 {
	if len(all) == 0 {
		return route.Absent
	}
	total := 0.0
	for _, s := range all {
		total += s.value
	}
	return total
}

// worst is the largest.
func worst(all []sample) float64 {
	most := float64(route.Absent)
	for _, s := range all {
		most = max(most, s.value)
	}
	return most
}

// share is a ratio; what is more than the whole is not known.
func share(v float64) float64 {
	if v > 1 {
		return route.Absent
	}
	return v
}

// growth is what counters grew by since the page before. One that is smaller began anew, after
// a restart; one that was not there says nothing yet.
func growth(now, was []sample) (total float64, known bool) {
	before := make(map[string]float64, len(was))
	for _, s := range was {
		before[s.series] = s.value
	}
	for _, s := range now {
		v, ok := before[s.series]
		switch {
		case !ok:
			continue
		case s.value < v:
			total += s.value
		default:
			total += s.value - v
		}
		known = true
	}
	return total, known
}
