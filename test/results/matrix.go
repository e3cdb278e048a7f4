package main

import (
	"math"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

var marks = [...]string{ties: "=", wins: "▼", loses: "▲"}

// matrix has for every study how many times each rival's figure the judged policy's is.
func (p *page) matrix() error {
	head, rivals := []string{"scenario", "figure of", "figure"}, p.rivals()
	for _, r := range rivals {
		head = append(head, strings.TrimPrefix(r, "rival_"))
	}
	head = append(head, "best clairvoyant")
	rows := []string{line(head), line(append([]string{"---", "---", "---"}, slices.Repeat([]string{"--:"}, len(head)-3)...))}
	for _, s := range p.book.all {
		if s.sweep != "" || s.kinds["prequal"+s.suffix] != other {
			continue
		}
		cells, err := s.matrixRow(rivals)
		if err != nil {
			return err
		}
		rows = append(rows, line(cells))
	}
	p.paragraph("%s", strings.Join(rows, "\n"))
	return nil
}

// rivals are those of the first study: the others have some of them.
func (p *page) rivals() []string { return p.book.all[0].all(other) }

func (p *played) matrixRow(rivals []string) ([]string, error) {
	o := &p.report.Points[0]
	cells := []string{p.name, p.judged(), p.key()}
	for _, r := range append(slices.Clone(rivals), "") {
		name := r + p.suffix
		if r == "" {
			name, _ = p.best(o, oracle, p.key())
		}
		if !slices.Contains(o.Policies, name) {
			cells = append(cells, "")
			continue
		}
		e, err := estimate(o, p.judged()+"."+p.key()+" / "+name+"."+p.key())
		if err != nil {
			return nil, err
		}
		v, err := versus(o, p.judged(), name, p.key())
		if err != nil {
			return nil, err
		}
		text := measure.Plain.Text(e.Value)
		if math.IsInf(e.Value, 1) {
			text = "∞"
		}
		cells = append(cells, text+" "+marks[v])
	}
	return cells, nil
}
