package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/rival"
)

// played is a study with what came out.
type played struct {
	study
	report *simulate.Report
	kinds  map[string]kind // of policies, by name
}

// kind is what a policy is.
type kind uint8

const (
	own    kind = iota // a strategy of ours
	other              // a rival
	oracle             // one that knows what nobody can
)

func kindOf(p sim.Policy) kind {
	switch {
	case p.Rival == nil:
		return own
	case slices.ContainsFunc(rival.Oracles(), func(name string) bool { return strings.HasPrefix(p.Name, name) }):
		return oracle
	}
	return other
}

// prepare reads a study's scenario, and leaves of its policies those of the study.
func (s study) prepare(o *options) (*simulate.Prepared, map[string]kind, error) {
	a := simulate.Ask{File: scenarios + "/" + s.scenario() + ".hcl", Vars: slices.Concat(s.vars, o.vars), Seeds: s.seeds}
	if o.seeds > 0 {
		a.Seeds = o.seeds
	}
	if s.sweep != "" {
		a.Sweeps = []string{s.sweep}
	}
	p, err := a.Prepare()
	if err != nil {
		return nil, nil, fmt.Errorf("study %s: %w", s.name, err)
	}
	kinds := map[string]kind{}
	for i := range p.Plan.Points {
		point := &p.Plan.Points[i]
		point.Policies = slices.DeleteFunc(slices.Clone(point.Policies), func(p sim.Policy) bool { return !s.takes(p.Name) })
		for _, policy := range point.Policies {
			kinds[policy.Name] = kindOf(policy)
		}
	}
	return p, kinds, nil
}

// play runs a study.
func (s study) play(ctx context.Context, o *options, progress io.Writer) (*played, error) {
	p, kinds, err := s.prepare(o)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if p.Plan.Play = o.play; o.play == nil {
		p.Plan.Play, p.Plan.Bounds = playSlim, rival.Bounds
	}
	if progress != nil {
		line := simulate.Line{W: progress, Since: began}
		p.Plan.Progress = line.Show
		defer line.Clear()
	}
	results, err := simulate.Run(ctx, p.Plan)
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", s.name, err)
	}
	p.Report.Fill(p.Plan, results, nil)
	return &played{s, &p.Report, kinds}, nil
}

// playSlim drops what the page does not use and takes most memory: the times at each endpoint.
func playSlim(s *sim.Scenario, p sim.Policy, seed uint64, watch func(int64) bool) (*measure.Result, error) {
	r, err := sim.Play(s, p, seed, watch)
	if err != nil {
		return nil, err
	}
	for i := range r.By.Endpoints {
		m := &r.By.Endpoints[i].Measures
		m.TTFT, m.Total, m.Queue, m.Each = measure.Times{}, measure.Times{}, measure.Times{}, measure.Times{}
	}
	return r, nil
}

// all are the policies of a kind that begin with what the study's do.
func (p *played) all(k kind) (names []string) {
	for _, name := range p.report.Points[0].Policies {
		if p.kinds[name] == k {
			names = append(names, name)
		}
	}
	return names
}
