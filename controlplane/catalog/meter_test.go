package catalog

import (
	"fmt"
	"strings"
	"testing"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// withList is locals with a list l of n texts, and more.
func withList(n int, more string) *pb.Sources {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%q, ", fmt.Sprintf("%05d", i))
	}
	text := "locals {\n  l = [" + b.String() + "]\n  " + more + "\n}\n"
	return &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(text)}}}
}

// Each would take minutes or the whole memory.
func TestWhatTakesTooMuchToEvaluateIsRefusedByItsPlace(t *testing.T) {
	for name, src := range map[string]*pb.Sources{
		"loops that drop all": withList(1000, `x = [for a in local.l : [for b in local.l : [for c in local.l : a if false]]]`),
		"a long text":         withList(5000, "x = join(\"\", [for i in local.l : local.y])\n  y = join(\"\", local.l)"),
		"a template's loop":   withList(10_000, `x = "%{for a in local.l}${join("", local.l)}%{endfor}"`),
		"one type of many":    withList(20_000, `x = true ? local.l : concat(local.l, [1])`),
		"many arguments":      withList(20_000, `x = coalesce(local.l...)`),
		"objects made one":    withList(5000, `x = merge([for a in local.l : { "${a}" = 1 }]...)`),
		"numbers as text":     withList(1000, "x = [for a in local.l : [for b in local.l : \"${local.n}\"]]\n  n = 1e900"),
	} {
		r := Compile(src, Options{})
		got := findings(r.Findings, true)
		if !strings.HasPrefix(got, "a.hcl:3:7: error: with this the catalog takes too much to evaluate (loops inside") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAVariablesValueIsPaidForToo(t *testing.T) {
	src := &pb.Sources{
		Files:     []*pb.SourceFile{{Name: "a.hcl", Content: []byte(`variable "x" { type = list(any) }`)}},
		Variables: []*pb.Variable{{Name: "x", Value: "[" + strings.Repeat("1,", 30_000) + `"a"]`}},
	}
	if got := findings(Compile(src, Options{}).Findings, true); !strings.Contains(got, "takes too much to evaluate") {
		t.Error(got)
	}
}

func TestWhatALargeCatalogNeedsIsNotTooMuch(t *testing.T) {
	for name, src := range map[string]*pb.Sources{
		"a map of all":     withList(5000, `x = { for a in local.l : a => upper(a) }`),
		"a look into it":   withList(5000, "x = [for a in local.l : local.m[a]]\n  m = { for a in local.l : a => a }"),
		"every pair":       withList(150, `x = flatten([for a in local.l : [for b in local.l : "${a}-${b}"]])`),
		"distinct":         withList(10_000, `x = distinct(concat(local.l, local.l))`),
		"a set of choices": withList(500, `x = [for a in local.l : a if contains(["00001", "00002"], a)]`),
	} {
		if r := Compile(src, Options{}); r.Failed() {
			t.Errorf("%s: %s", name, findings(r.Findings, true))
		}
	}
}
