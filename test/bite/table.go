package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	table  = "test/scenarios.tsv"
	header = "scenario\trule\ttest\tfile\told\tnew"
	cannot = "n/a: "
)

// required are the faults seen elsewhere that decisions, states, streams and catalogs can have
// (A to F, routers'), those of control planes (CP; a letter after the number is another side of
// the same fault), intruders (N), and those of strategies and of the simulator that judges them (S).
var required = strings.Fields(`
	A1 A2 A3 A5 A6 A7 A9 A10 A11 A13 A14 A15 A17 A18 A19 A21 A22 A23 A25 A26 A27 A29 A30 A31 A33
	B1 B2 B4 B5 B6 B8 B9 B10 B12 B13 B14 B16 B17 B18 B20 B21 B22 B24 B25 B26 B28 B29 B30 B32 B33
	B34 B36 B37 B38 B40 B41 B42 B44 B45 B46 B48 B49
	C1 C3 C4 C5
	D1 D2 D3 D5 D6 D7 D9 D10 D11 D13 D14 D15 D17 D18 D19 D21 D22 D23 D25
	E1 E2 E5 E9 E10 E12 E13 E14 E16 E17 E18 E20
	F1 F2 F4 F5 F6 F8 F9 F10 F12 F13
	CP1 CP2 CP3 CP5 CP6 CP7 CP7b CP9 CP10 CP11 CP13 CP14 CP15 CP17 CP18 CP18b CP19 CP21 CP22
	CP22b CP23 CP25 CP25b CP26 CP27 CP29 CP29b CP30 CP31 CP33 CP33b CP34 CP35 CP37 CP37b CP37c
	CP38 CP39 CP41 CP41b CP42 CP43 CP45 CP46 CP47 CP47b CP49 CP49b CP50 CP50b CP50c CP51 CP51b
	CP51c CP53 CP54 CP55 CP57 CP58 CP59 CP59b CP61 CP62 CP62b CP62c CP63 CP63b CP65 CP65b CP65c
	CP66 CP66b CP67 CP69 CP69b CP70 CP71 CP71b CP71c
	N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N13 N14 N15
	S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12`)

// row is one fault: the rule that makes it impossible, the test of that rule, and a break
// that the test must notice.
type row struct {
	scenario, rule string
	test           string // package and name; or why none can apply
	pkg, name      string
	file, old, new string
}

func read(root string) ([]row, error) {
	text, err := os.ReadFile(filepath.Join(root, table))
	if err != nil {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if first != header {
		return nil, fmt.Errorf("%s: begins with %q, want %q", table, first, header)
	}
	var rows []row
	for line := range strings.Lines(rest) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("%s: %q has %d columns, want 6", table, f[0], len(f))
		}
		r := row{scenario: f[0], rule: f[1], test: f[2], file: f[3], old: f[4], new: f[5]}
		if r.applies() {
			r.pkg, r.name, _ = strings.Cut(r.test, " ")
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (r row) applies() bool { return !strings.HasPrefix(r.test, cannot) }

func breakable(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.applies() })
}

// pattern is what runs the test, or one story of it, and nothing else.
func (r row) pattern() string {
	parts := strings.Split(r.name, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

// check says what is wrong with the rows without running anything.
func check(root string, rows []row) error {
	var all []error
	count := map[string]int{}
	for _, r := range rows {
		count[r.scenario]++
		if err := r.check(root); err != nil {
			all = append(all, fmt.Errorf("%s: %w", r.scenario, err))
		}
	}
	for _, id := range required {
		if count[id] != 1 {
			all = append(all, fmt.Errorf("%s: %d rows, want 1", id, count[id]))
		}
		delete(count, id)
	}
	for id := range count {
		all = append(all, fmt.Errorf("%s: is no fault", id))
	}
	return errors.Join(all...)
}

func (r row) check(root string) error {
	switch {
	case r.rule == "":
		return errors.New("has no rule")
	case !r.applies() && (len(r.test) == len(cannot) || r.file+r.old+r.new != ""):
		return errors.New("what cannot apply has a reason and no break")
	case !r.applies():
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, r.file))
	if err != nil {
		return err
	}
	return errors.Join(r.unique(string(text)), r.exists(root))
}

func (r row) unique(text string) error {
	if n := strings.Count(text, r.old); r.old == "" || n != 1 {
		return fmt.Errorf("%s: %q is there %d times, want 1", r.file, r.old, n)
	}
	if r.old == r.new {
		return errors.New("the break changes nothing")
	}
	return nil
}

// exists looks for the test's function and, when it tells stories, for the story.
func (r row) exists(root string) error {
	function, part, _ := strings.Cut(r.name, "/")
	files, err := filepath.Glob(filepath.Join(root, r.pkg, "*_test.go"))
	if err != nil || !slices.ContainsFunc(files, has("func "+function+"(")) {
		return fmt.Errorf("%s has no %s", r.pkg, function)
	}
	if function != "TestStories" {
		return nil
	}
	for _, folder := range []string{"testdata", "testdata/stories"} {
		if found, _ := filepath.Glob(filepath.Join(root, r.pkg, folder, part+".*")); len(found) == 1 {
			return nil
		}
	}
	return r.told(root, part)
}

// told looks for the story among the vectors. It has many rules, and must name the fault.
func (r row) told(root, story string) error {
	text, err := os.ReadFile(filepath.Join(root, "test/vectors/stories", story+".txt"))
	switch {
	case err != nil:
		return fmt.Errorf("%s has no story %s: %w", r.pkg, story, err)
	case !regexp.MustCompile(`(?m)^# .*\b` + r.scenario + `\b`).Match(text):
		return fmt.Errorf("no comment of the story %s names it", story)
	}
	return nil
}

// has tells whether a file holds a text.
func has(text string) func(file string) bool {
	return func(file string) bool {
		b, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(b), text)
	}
}
