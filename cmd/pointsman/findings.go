package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// report prints findings on stderr, as file:line:column: error: summary (hint).
func (e *env) report(findings []*pb.Finding) {
	for _, f := range findings {
		fmt.Fprintln(e.stderr, place(e.dir, f)+severity(f)+": "+f.Summary+hint(f))
	}
}

// refused is a catalog with errors.
func refused(findings []*pb.Finding) error {
	return &failure{code: exitFailed, err: errors.New(countFindings(findings) + " in the catalog"), findings: findings}
}

func place(dir string, f *pb.Finding) string {
	switch {
	case f.File != "" && f.Line > 0:
		return fmt.Sprintf("%s:%d:%d: ", filepath.Join(dir, f.File), f.Line, f.Column)
	case f.File != "":
		return filepath.Join(dir, f.File) + ": "
	case f.Path != "":
		return f.Path + ": "
	}
	return ""
}

func severity(f *pb.Finding) string {
	if f.Severity == pb.Severity_SEVERITY_WARNING {
		return "warning"
	}
	return "error"
}

func hint(f *pb.Finding) string {
	if f.Hint == "" {
		return ""
	}
	return " (" + f.Hint + ")"
}

func countFindings(findings []*pb.Finding) string {
	counts := map[string]int{}
	for _, f := range findings {
		counts[severity(f)]++
	}
	var parts []string
	for _, s := range []string{"error", "warning"} {
		if counts[s] > 0 {
			parts = append(parts, plural(counts[s], s))
		}
	}
	return strings.Join(parts, " and ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
