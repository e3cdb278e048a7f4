package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// book is all that was played. Figures are looked up in it by text:
//
//	predictive.ttft_p99 / prequal.ttft_p99                       of the study whose words these are
//	steady-09: predictive.ttft_p99 / best_oracle.ttft_p99        of another
//	load@load=0.9: predictive.errors                             of one at a point of its sweep
//
// best_oracle, best_rival and best_own stand for the policy of that kind that is best by the metric behind them.
type book struct{ all []*played }

// place is where a figure is looked up.
type place struct {
	*played
	outcome *simulate.Outcome
	figure  string
}

func (b *book) find(here *played, text string) (at place, err error) {
	at.played, at.figure = here, text
	point := ""
	if before, figure, ok := strings.Cut(text, ": "); ok {
		var name string
		name, point, _ = strings.Cut(strings.TrimSpace(before), "@")
		i := slices.IndexFunc(b.all, func(p *played) bool { return p.name == name })
		if i < 0 {
			return at, fmt.Errorf("%q: %w", text, missing(name))
		}
		at.played, at.figure = b.all[i], figure
	}
	if at.played == nil {
		return at, fmt.Errorf("%q names no study: want STUDY: FIGURE", text)
	}
	if at.outcome, err = at.point(point); err != nil {
		return at, fmt.Errorf("%q: %w", text, err)
	}
	at.figure, err = at.named(at.figure)
	return at, err
}

var errNotPlayed = errors.New("this study was not played")

func missing(study string) error {
	if slices.Contains(names(studies), study) {
		return errNotPlayed
	}
	return measure.Unknown("study", study, names(studies))
}

// point is the outcome at a point, name=value; the first without one.
func (p *played) point(at string) (*simulate.Outcome, error) {
	if at == "" {
		return &p.report.Points[0], nil
	}
	name, value, _ := strings.Cut(at, "=")
	for i := range p.report.Points {
		if o := &p.report.Points[i]; strings.Trim(o.Variables[name], `"`) == value {
			return o, nil
		}
	}
	return nil, fmt.Errorf("study %s has no point %s", p.name, at)
}

var bestShape = regexp.MustCompile(`\bbest_(own|rival|oracle)\.((?:(?:tenant|workload|endpoint)\.[A-Za-z0-9_-]+\.)?[a-z0-9_]+)`)

var kindNames = map[string]kind{"own": own, "rival": other, "oracle": oracle}

// named puts policies' names where the best are asked for.
func (p place) named(figure string) (string, error) {
	var err error
	out := bestShape.ReplaceAllStringFunc(figure, func(text string) string {
		parts := bestShape.FindStringSubmatch(text)
		best, bestErr := p.best(p.outcome, kindNames[parts[1]], parts[2])
		err = errors.Join(err, bestErr)
		return best + "." + parts[2]
	})
	return out, err
}

// best is the policy of a kind that is best by a metric.
func (p *played) best(o *simulate.Outcome, k kind, metric string) (policy string, err error) {
	least := math.Inf(1)
	for _, name := range p.all(k) {
		e, err := estimate(o, name+"."+metric)
		if err != nil {
			return "", err
		}
		if v := e.Value * better(metric); !math.IsNaN(v) && (policy == "" || v < least) {
			policy, least = name, v
		}
	}
	if policy == "" {
		return "", fmt.Errorf("study %s has none to be the best by %s", p.name, metric)
	}
	return policy, nil
}

var moreIsBetter = []string{"goodput", "goodput_tokens", "fairness", "hit_rate", "validity", "served", "share"}

// better is 1 where less of a metric is better, else -1.
func better(metric string) float64 {
	if slices.Contains(moreIsBetter, metric[strings.LastIndex(metric, ".")+1:]) {
		return -1
	}
	return 1
}

func estimate(o *simulate.Outcome, figure string) (measure.Estimate, error) {
	f, err := measure.ParseFigure(figure)
	if err != nil {
		return measure.Estimate{}, err
	}
	return f.Estimate(o.Results)
}

func values(o *simulate.Outcome, figure string) ([]float64, error) {
	f, err := measure.ParseFigure(figure)
	if err != nil {
		return nil, err
	}
	return f.Values(o.Results)
}

// of is a figure with its interval.
func (b *book) of(here *played, text string) (measure.Estimate, error) {
	at, err := b.find(here, text)
	if err != nil {
		return measure.Estimate{}, err
	}
	return estimate(at.outcome, at.figure)
}

// across is how many times another figure one is, each looked up by itself, on common seeds.
func (b *book) across(here *played, over, under string) (e measure.Estimate, err error) {
	var both [2][]float64
	for i, text := range []string{over, under} {
		at, err := b.find(here, text)
		if err != nil {
			return e, err
		}
		if both[i], err = values(at.outcome, at.figure); err != nil {
			return e, err
		}
	}
	e.Value, e.Low, e.High = measure.Paired(both[0], both[1])
	e.Text = measure.Between(e.Value, e.Low, e.High)
	return e, nil
}
