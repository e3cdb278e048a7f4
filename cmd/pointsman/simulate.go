package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
	"github.com/pointsman/pointsman/controlplane/catalog/scenario"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/rival"
)

func newSimulate(e *env) *cobra.Command {
	var a simulate.Ask
	var page string
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "Try policies on a scenario before they run",
		Long: `Plays a scenario in virtual time, through the very code that chooses in production: every policy, with every seed, as many
at once as there are processors. The same file, seeds and version give the same figures. No control plane is asked.

A table says what came out: times to the first token since the scheduled arrival (TTFT), means over the seeds with their
95 % intervals; and what each policy is next to the best one that knows what nobody can, and to weighted round robin (wrr).
With -json it is everything, of each run too; -html writes a page with plots that needs nothing else.

An assertion is FIGURE OP VALUE: of every policy (ttft_p99 < 2s), of one (prequal.errors <= 0.2%), of a part (prequal.tenant.acme.ttft_p99
< 2s; also workload and endpoint), or of two (predictive.ttft_p99 / prequal.ttft_p99 <= 0.95). Where one does not hold, the
exit code is 5. The figures:

` + metricNames(),
		Example: `  pointsman simulate deploy/examples/scenarios/steady-06.hcl
  pointsman simulate deploy/examples/scenarios/steady-06.hcl -policy predictive,prequal -seeds 3 -assert 'ttft_p99 < 2s'
  pointsman simulate deploy/examples/scenarios/steady-06.hcl -sweep load=0.5,0.7,0.9 -html steady.html`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.File = args[0]
			if err := a.Check(); err != nil {
				return usagef(cmd, "%w", err)
			}
			return e.simulate(cmd.Context(), a, page)
		},
	}
	simulateFlags(cmd, &a, &page)
	e.completeSimulate(cmd)
	return cmd
}

func simulateFlags(cmd *cobra.Command, a *simulate.Ask, page *string) {
	f := cmd.Flags()
	f.StringArrayVar(&a.Vars, "var", nil, "set a variable of the scenario: `name=value`; may be given again")
	f.StringArrayVar(&a.Sweeps, "sweep", nil, "run it with each of these values of a variable: `name=a,b,c`; given again, with each of both")
	f.StringSliceVar(&a.Policies, "policy", nil, "`names` of the policies to run (default: all of the scenario)")
	f.IntVar(&a.Seeds, "seeds", 0, "how many runs of each policy (default: as the scenario says)")
	f.Uint64Var(&a.Seed, "seed", 1, "the first seed; the others follow it")
	f.StringArrayVar(&a.Assertions, "assert", nil, "an `assertion`, beside the scenario's; may be given again")
	f.IntVar(&a.Parallel, "parallel", 0, "runs at once (default: one a processor)")
	f.StringVar(page, "html", "", "`file` to write a page with plots to")
}

func (e *env) completeSimulate(cmd *cobra.Command) {
	e.completeFlag(cmd, "policy", completeOf(func(s *scenario.Set) (names []string) {
		for _, p := range s.Policies {
			names = append(names, p.Name)
		}
		return names
	}))
	for _, flag := range []string{"var", "sweep"} {
		e.completeFlag(cmd, flag, completeOf(variables))
	}
}

// metricNames are all that an assertion may be of, in lines.
func metricNames() string {
	var out strings.Builder
	for _, m := range measure.Metrics() {
		fmt.Fprintf(&out, "  %-16s%s\n", m.Name, m.Means)
	}
	out.WriteString("  errors_KIND, sheds_KIND, as in errors_timed_out: of one kind\n")
	return out.String()
}

func (e *env) simulate(ctx context.Context, a simulate.Ask, page string) error {
	p, err := a.Prepare()
	if err != nil {
		return scenarioError(err)
	}
	for _, text := range p.Skipped {
		fmt.Fprintf(e.stderr, "not checked, for not all of its policies are run: %s\n", oneLine(text))
	}
	if err := writable(page); err != nil { // not only found after an hour of runs
		return fmt.Errorf("write the page: %w", err)
	}
	p.Plan.Bounds = rival.Bounds
	results, err := e.play(ctx, p.Plan)
	if err != nil {
		return err
	}
	p.Report.Fill(p.Plan, results, p.Assertions)
	if err := errors.Join(e.printReport(&p.Report), writePage(page, &p.Report)); err != nil {
		return err
	}
	if broken, all := p.Report.Broken(); broken > 0 {
		return &failure{code: exitAsserted, err: fmt.Errorf("%d of %s not hold", broken, plural(all, "assertion")+does(all))}
	}
	return nil
}

func writePage(path string, r *simulate.Report) error {
	if path == "" {
		return nil
	}
	data, err := r.Page()
	if err != nil {
		return err
	}
	if err := writeFile(path, data); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func does(n int) string {
	if n == 1 {
		return " does"
	}
	return " do"
}

// play runs a plan; on a terminal a line says how far it has come.
func (e *env) play(ctx context.Context, p simulate.Plan) ([]*measure.Result, error) {
	if !isTerminal(e.stderr) {
		return simulate.Run(ctx, p)
	}
	line := simulate.Line{W: e.stderr, Since: time.Now()}
	p.Progress = line.Show
	results, err := simulate.Run(ctx, p)
	line.Clear()
	return results, err
}

// printReport prints JSON in one line: there is much of it.
func (e *env) printReport(r *simulate.Report) error {
	if !e.json {
		r.WriteText(e.stdout)
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return e.printLine(data)
}

// scenarioError shows findings as those of a catalog are.
func scenarioError(err error) error {
	if wrong, ok := errors.AsType[*scenario.Error](err); ok {
		return &failure{code: exitFailed, err: errors.New(countFindings(wrong.Findings) + " in the scenario"), findings: wrong.Findings}
	}
	return err
}

// completeScenarios lets the shell complete HCL files.
func completeScenarios(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeOf completes from the scenario that stands before.
func completeOf(values func(*scenario.Set) []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := scenario.Load(args[0], scenario.Options{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(s), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func variables(s *scenario.Set) (names []string) {
	for name, value := range s.Variables {
		names = append(names, name+"=\t"+oneLine(value))
	}
	return names
}
