package simulate

import (
	"fmt"
	"io"
	"time"
)

// Line keeps one line of a terminal up to date with a plan's progress.
type Line struct {
	W     io.Writer
	Since time.Time
}

const eraseLine = "\r\x1b[K"

// Show writes how far it has come, and how long it may take yet.
func (l *Line) Show(p Progress) {
	left := ""
	spent := time.Since(l.Since)
	if p.Part > 0.01 && spent > time.Second {
		rest := time.Duration(float64(spent) * (1 - p.Part) / p.Part)
		left = ", " + max(rest.Round(time.Second), time.Second).String() + " left"
	}
	fmt.Fprintf(l.W, "%s%d of %d runs, %.0f %%%s", eraseLine, p.Done, p.Runs, 100*p.Part, left)
}

// Clear takes the line away.
func (l *Line) Clear() { fmt.Fprint(l.W, eraseLine) }
