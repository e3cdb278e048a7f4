package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// report gathers findings, and knows where in the sources a path is: "workload.chat.tier.primary".
type report struct {
	list   []*pb.Finding
	seen   map[string]bool
	places map[string]hcl.Range
	failed map[string]bool // "model.gpt-41": something of it is wrong, what rests on it is not judged
}

func newReport() *report {
	return &report{seen: map[string]bool{}, places: map[string]hcl.Range{}, failed: map[string]bool{}}
}

// fail reports an error where path was written.
func (r *report) fail(path, hint, summary string, args ...any) {
	r.failAt(r.place(path), path, hint, fmt.Sprintf(summary, args...))
}

// failAt reports an error at a place of its own.
func (r *report) failAt(at hcl.Range, path, hint, summary string) {
	r.spoil(path)
	r.add(at, &pb.Finding{Severity: pb.Severity_SEVERITY_ERROR, Path: path, Hint: hint, Summary: summary})
}

func (r *report) warn(path, hint, summary string, args ...any) {
	r.warnAt(r.place(path), path, hint, fmt.Sprintf(summary, args...))
}

func (r *report) warnAt(at hcl.Range, path, hint, summary string) {
	r.add(at, &pb.Finding{Severity: pb.Severity_SEVERITY_WARNING, Path: path, Hint: hint, Summary: summary})
}

// spoil marks the block that path is in, without a finding: its cause has one already.
func (r *report) spoil(path string) { r.failed[root(path)] = true }

func (r *report) spoiled(kind, name string) bool { return r.failed[kind+"."+name] }

// maxFindings is more than anybody reads.
const maxFindings = 10_000

// add keeps one finding a place and summary: what for_each repeats is said once.
func (r *report) add(at hcl.Range, f *pb.Finding) {
	key := at.String() + f.Summary
	if r.seen[key] || len(r.list) > maxFindings {
		return
	}
	if len(r.list) == maxFindings { // and that is an error, whatever is left out
		at, f = hcl.Range{}, &pb.Finding{Severity: pb.Severity_SEVERITY_ERROR, Summary: fmt.Sprintf("more than %d findings: the rest is left out", maxFindings)}
	}
	r.seen[key] = true
	f.File = at.Filename
	f.Line, f.Column = int32(at.Start.Line), int32(at.Start.Column)
	f.EndLine, f.EndColumn = int32(at.End.Line), int32(at.End.Column)
	r.list = append(r.list, f)
}

// place is where path was written, or the nearest of what it is in.
func (r *report) place(path string) hcl.Range {
	for path != "" {
		if at, ok := r.places[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return hcl.Range{}
}

// sorted gives the findings in order of source; those without a place come first.
func (r *report) sorted() []*pb.Finding {
	slices.SortStableFunc(r.list, func(a, b *pb.Finding) int {
		return cmp.Or(
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), strings.Compare(a.Summary, b.Summary), strings.Compare(a.Path, b.Path))
	})
	return r.list
}

// diagnose turns what the HCL library says into a finding.
func (r *report) diagnose(path string, d *hcl.Diagnostic) {
	at := r.place(path)
	if d.Subject != nil {
		at = *d.Subject
	}
	r.failAt(at, path, redact(d.Detail), redact(lowerFirst(d.Summary)))
}

// root is the block at the top of a path: model.gpt-41.
func root(path string) string {
	parts := strings.SplitN(path, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// quote shows a value from the sources, short, and never one that may be a secret.
func quote(s string) string {
	const longest = 64
	if secretKind(s) != "" {
		return `"…"`
	}
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return strconv.Quote(s)
}

// meant is the hint for a name that is not known: the nearest one, or all when they are few.
func meant(name string, known []string) string {
	best, at := "", 3 // two edits at most
	for _, k := range known {
		if d := edits(name, k, at); d < at {
			best, at = k, d
		}
	}
	switch {
	case best != "" && at < len(best):
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return "none is declared"
	case len(known) > 20:
		return ""
	}
	return "one of: " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// edits is the Levenshtein distance of a and b, or enough when it is no less.
func edits(a, b string, enough int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= enough || len(a) > 64 || len(b) > 64 {
		return enough
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
