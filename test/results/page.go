package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
)

// page is what is written.
type page struct {
	strings.Builder
	book   *book
	files  fs.FS // of the words
	plots  map[string]simulate.Figure
	broken []string
}

func (p *page) text() string { return strings.TrimRight(p.String(), "\n") + "\n" }

func (p *page) paragraph(format string, args ...any) {
	if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
		p.WriteString(text + "\n\n")
	}
}

// run plays the studies, and writes the page, or some sections of it to stdout.
func (o *options) run(ctx context.Context, files fs.FS) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	p := &page{book: &book{}, files: files, plots: map[string]simulate.Figure{}}
	began := time.Now()
	for i, s := range chosen {
		since := time.Now()
		played, err := s.play(ctx, o, terminal())
		if err != nil {
			return err
		}
		p.book.all = append(p.book.all, played)
		fmt.Fprintf(os.Stderr, "%d of %d: %s in %s, %s in all\n", i+1, len(chosen), s.name,
			time.Since(since).Round(time.Second), time.Since(began).Round(time.Second))
	}
	return p.finish(o.only == "")
}

// terminal is where progress goes; nil: there is none.
func terminal() io.Writer {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return os.Stderr
	}
	return nil
}

func (p *page) finish(whole bool) error {
	if err := p.fill(whole); err != nil {
		return err
	}
	var err error
	if whole {
		err = p.write()
	} else {
		fmt.Print(p.text())
	}
	if len(p.broken) > 0 {
		err = errors.Join(err, fmt.Errorf("what the words claim does not hold, write others:\n  %s", strings.Join(p.broken, "\n  ")))
	}
	return err
}

// fill writes all of the page.
func (p *page) fill(whole bool) error {
	begin := p.expected
	if whole {
		begin = p.head
	}
	if err := begin(); err != nil {
		return err
	}
	for _, s := range p.book.all {
		if err := p.section(s); err != nil {
			return fmt.Errorf("study %s: %w", s.name, err)
		}
	}
	return nil
}

func (p *page) words(here *played, name string) error {
	w := &words{book: p.book, here: here}
	text, err := w.render(p.files, name)
	if err != nil {
		return err
	}
	p.broken = append(p.broken, w.broken...)
	p.paragraph("%s", text)
	return nil
}

// pageParts are the texts that belong to no study.
var pageParts = []string{"head", "expected", "matrix", "tried", "end"}

func (p *page) head() error {
	p.paragraph("# What the simulator found")
	p.paragraph("<!-- Written by `make sim`: change test/results, not this page. -->")
	if err := p.words(nil, "head.md"); err != nil {
		return err
	}
	p.paragraph("%s", versions())
	p.paragraph("## Expected, and found")
	if err := p.expected(); err != nil {
		return err
	}
	if err := p.words(nil, "expected.md"); err != nil {
		return err
	}
	p.paragraph("## Who wins where")
	if err := p.matrix(); err != nil {
		return err
	}
	if err := p.words(nil, "matrix.md"); err != nil {
		return err
	}
	return p.words(nil, "tried.md")
}

// versions says which of each strategy ran.
func versions() string {
	by := map[uint8][]string{}
	most := uint8(0)
	for s := route.P2C; s.String() != "unknown"; s++ {
		by[s.Version()] = append(by[s.Version()], s.String())
		most = max(most, s.Version())
	}
	var parts []string
	for v := range most + 1 {
		if len(by[v]) > 0 {
			slices.Sort(by[v])
			parts = append(parts, fmt.Sprintf("version %d of %s", v, strings.Join(by[v], ", ")))
		}
	}
	return "Strategies that ran: " + strings.Join(parts, "; ") + "."
}

func (p *page) expected() error {
	rows := []string{line([]string{"expected", "bound", "found (95 % interval)", ""}), "| --- | --: | --: | --- |"}
	for _, x := range expectations {
		row, err := x.row(p.book)
		if err != nil {
			return err
		}
		if row != "" {
			rows = append(rows, row)
		}
	}
	p.paragraph("%s", strings.Join(rows, "\n"))
	return nil
}

// section is a study's.
func (p *page) section(s *played) error {
	title := s.title
	if title == "" {
		title = s.report.Title
	}
	p.paragraph("## %s", title)
	if s.file == "" {
		p.paragraph("%s", s.report.Text)
	}
	if err := p.words(s, s.name+".md"); err != nil {
		return err
	}
	if err := p.answer(s); err != nil {
		return err
	}
	return p.draw(s)
}

// answer is the verdicts, the table and the command.
func (p *page) answer(s *played) error {
	o := &s.report.Points[0]
	if s.sweep != "" {
		text, err := s.along()
		if err != nil {
			return err
		}
		p.paragraph("%s", text)
		p.paragraph("`%s`", s.command())
		return nil
	}
	var said []string
	for _, metric := range s.figures() {
		text, err := s.sentence(o, metric)
		if err != nil {
			return err
		}
		said = append(said, text)
	}
	p.paragraph("%s", strings.Join(said, " "))
	for _, part := range []func(*simulate.Outcome) (string, error){s.table, s.limits} {
		text, err := part(o)
		if err != nil {
			return err
		}
		p.paragraph("%s", text)
	}
	p.paragraph("`%s`", s.command())
	return nil
}

// draw puts the study's plots beside the page.
func (p *page) draw(s *played) error {
	all := s.report.Curves()
	if s.sweep == "" {
		all = s.pictures()
	}
	for _, name := range s.drawn() {
		i := slices.IndexFunc(all, func(f simulate.Figure) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("no plot %s", name)
		}
		file := s.name + "-" + name + ".svg"
		p.plots[file] = all[i]
		p.paragraph("![%s](results/%s)", all[i].Title, file)
	}
	return nil
}

// pictures are those of the study: of all policies where each has a line of its own, else of some, which can be told apart.
func (p *played) pictures() []simulate.Figure {
	o := p.report.Points[0]
	all := o.Figures()
	o.Policies = slices.DeleteFunc(slices.Clone(o.Policies), func(name string) bool {
		return name != p.judged() && !slices.Contains(few, strings.TrimSuffix(name, p.suffix))
	})
	if len(o.Policies) < fewest {
		return all
	}
	for _, f := range o.Figures() {
		if i := slices.IndexFunc(all, func(a simulate.Figure) bool { return a.Name == f.Name }); i >= 0 && slices.Contains(crowded, f.Name) {
			all[i] = f
		}
	}
	return all
}

const fewest = 5

// crowded are the figures whose lines cross.
var crowded = []string{"quantiles", "over-time"}
