package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/story"
)

// A question is a command, in its first line, and the input to it. The command base gives
// blocks that the questions after it stand on; they are the file base.hcl.
func TestStories(t *testing.T) {
	story.Run(t, "testdata/*.story", func(*testing.T) func(string) string {
		s := &stage{}
		return func(question string) string {
			command, input, _ := strings.Cut(question, "\n")
			return s.run(strings.Fields(command), input)
		}
	})
}

type stage struct{ base string }

func (s *stage) run(command []string, input string) string {
	switch command[0] {
	case "base":
		s.base = input
		return ""
	case "validate", "errors":
		r := s.compile(input, command[1:])
		return findings(r.Findings, command[0] == "errors")
	case "show":
		return show(s.compile(input, nil), command[1:])
	case "diff":
		before, after, _ := strings.Cut(input, "====\n")
		return changes(Diff(s.compile(before, nil).Resources, s.compile(after, nil).Resources))
	case "compose":
		return s.compose(input, command[1:])
	case "format":
		out, list := Format("a.hcl", []byte(input))
		return string(out) + findings(list, false)
	}
	return "no such command\n"
}

// compile takes now=DATE and var.name=value.
func (s *stage) compile(input string, options []string) *Result {
	src := &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(input)}}}
	if s.base != "" {
		src.Files = append(src.Files, &pb.SourceFile{Name: "base.hcl", Content: []byte(s.base)})
	}
	var o Options
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		if name == "now" {
			o.Now, _ = time.Parse(time.DateOnly, value)
			continue
		}
		src.Variables = append(src.Variables, &pb.Variable{Name: strings.TrimPrefix(name, "var."), Value: value})
	}
	return Compile(src, o)
}

func (s *stage) compose(input string, pinned []string) string {
	parts := strings.Split(input, "====\n")
	base := s.compile(parts[0], nil)
	pins := map[string][]*pb.Resource{}
	for i, name := range pinned {
		r := s.compile(parts[min(i+1, len(parts)-1)], nil)
		if r.Failed() {
			return findings(r.Findings, true)
		}
		pins[name] = r.Resources
	}
	composed, err := Compose(base.Resources, pins)
	var refused *ComposeError
	if errors.As(err, &refused) {
		return refused.Error() + "\n" + changes(refused.Changes) + findings(refused.Findings, false)
	}
	return changes(Diff(base.Resources, composed))
}

func findings(list []*pb.Finding, errorsOnly bool) string {
	var b strings.Builder
	for _, f := range list {
		if errorsOnly && f.Severity != pb.Severity_SEVERITY_ERROR {
			continue
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s", f.File, f.Line, f.Column, enumName("SEVERITY_", f.Severity.String()), f.Summary)
		if f.Hint != "" {
			fmt.Fprintf(&b, " (%s)", strings.ReplaceAll(f.Hint, "\n", " "))
		}
		if f.Path != "" {
			fmt.Fprintf(&b, " @%s", f.Path)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// show gives the lines of one resource, or those that begin with one of the given words.
func show(r *Result, words []string) string {
	if r.Failed() {
		return findings(r.Findings, true)
	}
	var b strings.Builder
	for _, res := range r.Resources {
		if kindName(res.Kind)+"."+res.Name != words[0] {
			continue
		}
		for _, l := range Describe(res) {
			if len(words) == 1 || hasAnyPrefix(l.Attribute, words[1:]) {
				fmt.Fprintf(&b, "%s = %s\n", l.Attribute, l.Value)
			}
		}
	}
	return b.String()
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func changes(list []*pb.Change) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s %s %s", enumName("CHANGE_KIND_", c.Change.String()), kindName(c.Kind), c.Name)
		if c.Attribute != "" {
			fmt.Fprintf(&b, " %s: %s -> %s", c.Attribute, c.Before, c.After)
		}
		b.WriteString("\n")
	}
	return b.String()
}
