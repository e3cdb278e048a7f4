package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	diffContext  = 3
	diffCellsMax = 4 << 20 // beyond this many pairs of lines a difference is shown as one replacement
)

// edit is one line of a difference: kept ' ', taken away '-', put in '+'.
type edit struct {
	sign byte
	line string
}

// unified shows how before becomes after, by lines.
func unified(name, before, after string) string {
	edits := lineEdits(lines(before), lines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	left, right := 1, 1
	for from := 0; from < len(edits); {
		to := hunkEnd(edits, from)
		if to > from {
			writeHunk(&b, edits[from:to], left, right)
		} else {
			to = from + 1
		}
		for ; from < to; from++ {
			left, right = advance(edits[from].sign, left, right)
		}
	}
	return b.String()
}

// lines keeps the ends of lines.
func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		return all[:len(all)-1]
	}
	return all
}

func advance(sign byte, left, right int) (int, int) {
	if sign != '+' {
		left++
	}
	if sign != '-' {
		right++
	}
	return left, right
}

// hunkEnd is where a hunk that begins at from ends; from itself if none begins there.
func hunkEnd(edits []edit, from int) int {
	end, kept := from, 0
	for i := from; i < len(edits) && kept <= 2*diffContext; i++ {
		switch {
		case edits[i].sign != ' ':
			end, kept = i+1, 0
		case end == from && i-from >= diffContext:
			return from
		default:
			kept++
		}
	}
	if end == from {
		return from
	}
	return min(end+diffContext, len(edits))
}

func writeHunk(b *strings.Builder, hunk []edit, left, right int) {
	leftEnd, rightEnd := left, right
	for _, e := range hunk {
		leftEnd, rightEnd = advance(e.sign, leftEnd, rightEnd)
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", left, leftEnd-left, right, rightEnd-right)
	for _, e := range hunk {
		b.WriteByte(e.sign)
		b.WriteString(strings.TrimSuffix(e.line, "\n"))
		b.WriteByte('\n')
		if !strings.HasSuffix(e.line, "\n") {
			b.WriteString("\\ no newline at the end\n")
		}
	}
}

// lineEdits is a shortest edit, by a table of longest common subsequences between what both share at their ends.
func lineEdits(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, middle(a, b), tail)
}

func middle(a, b []string) []edit {
	common := commonTable(a, b)
	var out []edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case common != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common == nil || common[i+1][j] >= common[i][j+1]):
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return out
}

// commonTable has at [i][j] how many lines a[i:] and b[j:] have in common, in order; nil if it were too large.
func commonTable(a, b []string) [][]int32 {
	if len(a)*len(b) > diffCellsMax {
		return nil
	}
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}
