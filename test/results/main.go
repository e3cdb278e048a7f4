// Command results plays every scenario of deploy/examples/scenarios with every policy, and writes what came out to
// docs/results.md and its plots to docs/results: the same bytes for the same code. What the page says in words is in
// the folder words: each figure there is taken from the runs, and each claim is held against them. A claim that does
// not hold is marked on the page, and ends the program with an error. Run it at the root of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
)

// Where things are, from the root of the module.
const (
	scenarios = "deploy/examples/scenarios"
	wordsDir  = "test/results/words"
	pageFile  = "docs/results.md"
	plotsDir  = "docs/results"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "`names` of the studies to play: their sections go to stdout, and no file is written")
	flag.IntVar(&o.seeds, "seeds", 0, "how many runs of each policy (default: as the studies say)")
	flag.Var(&o.vars, "var", "set a variable of every scenario: `name=value`; may be given again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx, os.DirFS(wordsDir))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// options are for trying things out: the page is made without any.
type options struct {
	only  string
	seeds int
	vars  list
	play  simulate.Player // nil: sim.Play
}

type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

func (o *options) chosen() ([]study, error) {
	if o.only == "" {
		return studies, nil
	}
	var some []study
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(studies, func(s study) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no study %q: there are %s", name, strings.Join(names(studies), ", "))
		}
		some = append(some, studies[i])
	}
	return some, nil
}

func names(all []study) (out []string) {
	for _, s := range all {
		out = append(out, s.name)
	}
	return out
}

// write puts the page and its plots to their files, and takes away plots that are none any more.
func (p *page) write() error {
	if err := os.MkdirAll(plotsDir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(plotsDir, "*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, kept := p.plots[filepath.Base(path)]; !kept {
			err = errors.Join(err, os.Remove(path))
		}
	}
	for name, figure := range p.plots {
		err = errors.Join(err, os.WriteFile(filepath.Join(plotsDir, name), simulate.Figure.Standalone(figure), 0o644))
	}
	return errors.Join(err, os.WriteFile(pageFile, []byte(p.text()), 0o644))
}
