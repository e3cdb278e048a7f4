package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// words are a text that somebody wrote, with what it says of the runs taken from them:
//
//	{{of "predictive.ttft_p99"}}                      a figure with its interval
//	{{value "predictive.ttft_p99"}}                   without it
//	{{across "stale@push=60s: …" "stale@push=1s: …"}} how many times another one it is
//	{{verdict "predictive" "prequal" "ttft_p99"}}     beats, ties with, or loses to
//	{{best "rival" "ttft_p99"}}                       the name of the best of a kind: own, rival or oracle
//	{{claim "predictive.ttft_p99 / wrr.ttft_p99 < 1"}}  nothing, if it holds of the whole interval
//	{{range list "a" "b"}} … {{end}}                   over some names
//	{{tie "predictive" "prequal" "ttft_p99"}}         nothing, if they tie
//
// What does not hold is marked, and is an error: somebody has to write other words.
type words struct {
	book   *book
	here   *played // nil: no study's
	broken []string
}

// render is the text; empty, without an error, if there is no such file.
func (w *words) render(files fs.FS, name string) (string, error) {
	raw, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	t, err := template.New(name).Funcs(w.functions()).Parse(string(raw))
	if err != nil {
		return "", fmt.Errorf("words: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, nil); err != nil {
		return "", fmt.Errorf("words: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

func (w *words) functions() template.FuncMap {
	return template.FuncMap{
		"of": func(text string) (string, error) {
			e, err := w.book.of(w.here, text)
			return unplayed(e.Text, err)
		},
		"value":   func(text string) (string, error) { return unplayed(w.value(text)) },
		"across":  func(over, under string) (string, error) { return unplayed(w.across(over, under)) },
		"verdict": w.verdict,
		"best": func(k, metric string) (string, error) {
			at, err := w.book.find(w.here, "best_"+k+"."+metric)
			name, _, _ := strings.Cut(at.figure, ".")
			return name, err
		},
		"claim": w.claim,
		"list":  func(names ...string) []string { return names },
		"tie": func(a, b, metric string) (string, error) {
			v, err := w.versus(a, b, metric)
			if err != nil || v == ties {
				return "", err
			}
			return w.untrue(fmt.Sprintf("%s ties with %s by %s", a, b, metric), v.String()), nil
		},
	}
}

// unplayed lets the words of some studies name others that were not played with them.
func unplayed(text string, err error) (string, error) {
	if errors.Is(err, errNotPlayed) {
		return "(not played)", nil
	}
	return text, err
}

func (w *words) value(text string) (string, error) {
	at, err := w.book.find(w.here, text)
	if err != nil {
		return "", err
	}
	f, err := measure.ParseFigure(at.figure)
	if err != nil {
		return "", err
	}
	e, err := f.Estimate(at.outcome.Results)
	return f.Unit().Text(e.Value), err
}

func (w *words) across(over, under string) (string, error) {
	e, err := w.book.across(w.here, over, under)
	return e.Text, err
}

func (w *words) versus(a, b, metric string) (verdict, error) {
	at, err := w.book.find(w.here, a+"."+metric+" / "+b+"."+metric)
	if err != nil {
		return ties, err
	}
	over, under, _ := strings.Cut(at.figure, " / ")
	return versus(at.outcome, strings.TrimSuffix(over, "."+metric), strings.TrimSuffix(under, "."+metric), metric)
}

func (w *words) verdict(a, b, metric string) (string, error) {
	v, err := w.versus(a, b, metric)
	return v.String(), err
}

// claim holds a text of the form FIGURE OP VALUE against the runs.
func (w *words) claim(text string) (string, error) {
	at, err := w.book.find(w.here, text)
	if err != nil {
		return "", err
	}
	a, err := measure.ParseAssertion(at.figure)
	if err != nil {
		return "", err
	}
	if ok, found := a.Surely(at.outcome.Results); !ok {
		return w.untrue(text, found), nil
	}
	return "", nil
}

// untrue marks what does not hold.
func (w *words) untrue(claim, found string) string {
	where := "the page"
	if w.here != nil {
		where = w.here.name
	}
	w.broken = append(w.broken, fmt.Sprintf("%s: %s (%s)", where, claim, found))
	return fmt.Sprintf("**[does not hold: %s (%s)]** ", claim, found)
}
