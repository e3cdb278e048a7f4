package simulate

import (
	"maps"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// kinds are the metrics of the errors and sheds that there were, by kind.
func (o *Outcome) kinds() (metrics []string) {
	seen := map[string]bool{}
	for _, r := range o.Results {
		for kind := range r.All.Failures {
			seen["errors_"+kind] = true
		}
		for kind := range r.All.Sheds {
			seen["sheds_"+kind] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// kindRows are a table of them, with a heading; none if there were none.
func (o *Outcome) kindRows() (rows [][]string) {
	kinds := o.kinds()
	if len(kinds) == 0 {
		return nil
	}
	head := []string{"policy"}
	for _, k := range kinds {
		what, kind, _ := strings.Cut(k, "_")
		head = append(head, strings.TrimSuffix(what, "s")+" "+kind)
	}
	rows = append(rows, head)
	for _, p := range o.Policies {
		row := []string{plain(p)}
		for _, k := range kinds {
			mean, _ := o.mean(p, k)
			row = append(row, measure.Fraction.Text(mean))
		}
		rows = append(rows, row)
	}
	return rows
}
