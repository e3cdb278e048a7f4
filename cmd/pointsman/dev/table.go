package dev

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	tableEvery = 500 * time.Millisecond
	tableSpan  = 3 * time.Second // that shares and times are taken over
	tableTries = 4096            // kept for it at least
)

// show redraws the table in place until ctx ends.
func show(ctx context.Context, out io.Writer, w *world, c *caller, t *tally) {
	fmt.Fprint(out, "\x1b[2J")
	for sleep(ctx, tableEvery) {
		fmt.Fprint(out, "\x1b[H"+strings.ReplaceAll(table(w, c, t, time.Now()), "\n", "\x1b[K\n")+"\x1b[J")
	}
}

// table is the picture of one moment.
func table(w *world, c *caller, t *tally, now time.Time) string {
	var b strings.Builder
	v := c.client.Version()
	r := t.progress()
	fmt.Fprintf(&b, "pointsman dev  %s  revision %d  generation %d  control plane %s\n",
		now.Sub(t.begin).Round(time.Second), v.Revision, v.Generation, w.control.Addr())
	fmt.Fprintf(&b, "requests %d  served %d  shed %d  failed %d  retried %d\n\n", r.Requests, r.Served, r.Shed, r.Failed, r.Retried)
	tries, times, total := t.since(now.Add(-tableSpan))
	tw := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "ENDPOINT\tSHARE\t\tIN FLIGHT\tFIRST TOKEN\tBREAKER\tFAULT")
	breakers := map[string]string{}
	for _, e := range c.client.Endpoints() {
		breakers[e.Name] = e.Fleet
	}
	for _, e := range w.fakes {
		name := e.Name()
		share := float64(tries[name]) / float64(max(1, total))
		fault := ""
		if f, faulty := t.fault(name, now); faulty {
			fault = f.Kind.String()
		}
		first := "-"
		if len(times[name]) > 0 {
			first = fmt.Sprintf("%.0f ms", quantiles(times[name]).P50)
		}
		fmt.Fprintf(tw, "%s\t%3.0f %%\t%-10s\t%d\t%s\t%s\t%s\n", name, 100*share, strings.Repeat("█", int(10*share+0.5)),
			e.Counts().InFlight, first, breakers[name], fault)
	}
	tw.Flush()
	fmt.Fprintf(&b, "\nIn another terminal: %[1]s status, %[1]s explain chat, %[1]s endpoint drain gpu-a -reason trying\n", program())
	fmt.Fprintf(&b, "and %s decision tail -follow -agent unix://%s\nInterrupt to stop.\n", program(), w.socket())
	return b.String()
}

// program is how this program is called again: `go run` leaves none behind.
func program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/pointsman"
	}
	return os.Args[0]
}

// progress is what was counted so far.
func (t *tally) progress() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result
}

// since counts attempts by endpoint, and their times to first token in ms.
func (t *tally) since(from time.Time) (tries map[string]int, times map[string][]float64, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tries, times = map[string]int{}, map[string][]float64{}
	for _, a := range t.recent {
		if a.start.Before(from) {
			continue
		}
		total++
		tries[a.endpoint]++
		if a.ttft > 0 {
			times[a.endpoint] = append(times[a.endpoint], ms(a.ttft))
		}
	}
	return tries, times, total
}
