package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var signs = map[pb.ChangeKind]string{
	pb.ChangeKind_CHANGE_KIND_ADDED:   "+",
	pb.ChangeKind_CHANGE_KIND_CHANGED: "~",
	pb.ChangeKind_CHANGE_KIND_REMOVED: "-",
}

// printChanges lists changes by resource, with each attribute's effective values.
func printChanges(w io.Writer, changes []*pb.Change) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	last := ""
	for _, c := range changes {
		resource := kindName(c.Kind) + " " + c.Name
		if c.Attribute == "" {
			fmt.Fprintf(t, "%s %s\n", signs[c.Change], resource)
		} else {
			if resource != last {
				fmt.Fprintf(t, "~ %s\n", resource)
			}
			fmt.Fprintf(t, "    %s %s\t%s\n", signs[c.Change], c.Attribute, values(c))
		}
		last = resource
	}
	t.Flush()
}

func values(c *pb.Change) string {
	switch c.Change {
	case pb.ChangeKind_CHANGE_KIND_ADDED:
		return c.After
	case pb.ChangeKind_CHANGE_KIND_REMOVED:
		return c.Before
	}
	return c.Before + " → " + c.After
}

// countChanges counts resources, not attributes.
func countChanges(changes []*pb.Change) string {
	seen, counts := map[string]bool{}, map[string]int{}
	for _, c := range changes {
		sign, resource := signs[c.Change], kindName(c.Kind)+" "+c.Name
		if c.Attribute != "" {
			sign = "~"
		}
		if !seen[resource] {
			seen[resource] = true
			counts[sign]++
		}
	}
	if len(seen) == 0 {
		return "no changes"
	}
	var parts []string
	for _, p := range []struct{ sign, verb string }{{"+", "to add"}, {"~", "to change"}, {"-", "to remove"}} {
		if counts[p.sign] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[p.sign], p.verb))
		}
	}
	return strings.Join(parts, ", ")
}
