package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// What a figure may end in.
const (
	pass = "pass"
	fail = "fail"
	void = "void" // the yardstick itself is out of range: nothing can be said
)

// Out of range: a yardstick that took so long, or was so uneven, measures the machine.
const (
	yardMost   = 2000.0 // ms
	yardSpread = 3.0
)

// figure is one line of the report.
type figure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
	Least   bool    `json:"least,omitempty"` // the limit is from below
	Verdict string  `json:"verdict"`
	Why     string  `json:"why,omitempty"`
}

// report is what a run found.
type report struct {
	Clients int  `json:"clients"`
	TLS     bool `json:"tls"`
	measured
	Figures []figure `json:"figures"`
	Verdict string   `json:"verdict"`
}

type measured struct {
	Idle      float64    `json:"idle_kib_per_client"`
	TripP99   float64    `json:"trip_ratio_p99"`
	Trip      comparison `json:"trip"`
	PubP99    float64    `json:"publish_ratio_p99"`
	Publish   comparison `json:"publish"`
	Gain      float64    `json:"encode_once_gain"`
	Bytes     float64    `json:"bytes_per_client"`
	Change    float64    `json:"change_bytes"`
	Reconnect float64    `json:"reconnect_all_s"`
	Again     float64    `json:"resent_bytes_per_client"`     // hello's answers and all
	Writes    *etcd      `json:"etcd_writes_per_s,omitempty"` // nil: not measured
}

func newReport(o options) *report { return &report{Clients: o.clients, TLS: o.tls} }

// judge holds the figures to the limits.
func (r *report) judge() {
	r.TripP99, r.PubP99 = r.Trip.Ratio, r.Publish.Ratio
	idle := 45.0
	if r.TLS {
		idle = 65
	}
	r.most("idle_kib_per_client", r.Idle, idle)
	r.compared("trip_ratio_p99", r.Trip)
	r.compared("publish_ratio_p99", r.Publish)
	r.most("encode_once_gain", r.Gain, 3)
	r.least()
	r.most("bytes_per_client", r.Bytes, 3*r.Change)
	r.most("reconnect_all_s", r.Reconnect, 30)
	r.most("reconnect_bytes_per_client", r.Again, 600) // a heartbeat, two empty updates of 200 at most, HTTP/2's own
	if r.Writes != nil {
		r.most("etcd_writes_per_s_idle", r.Writes.Idle, 1)
		r.most("etcd_writes_per_s_busy", r.Writes.Busy, 2)
	}
	r.Verdict = pass
	for i := range r.Figures {
		switch v := r.Figures[i].Verdict; {
		case v == fail:
			r.Verdict = fail
		case v == void && r.Verdict == pass:
			r.Verdict = void
		}
	}
}

func (r *report) most(name string, value, limit float64) {
	f := figure{Name: name, Value: value, Limit: limit, Verdict: pass}
	if !(value <= limit) {
		f.Verdict = fail
	}
	r.Figures = append(r.Figures, f)
}

// least turns the last figure's limit round.
func (r *report) least() {
	f := &r.Figures[len(r.Figures)-1]
	f.Least, f.Verdict = true, pass
	if !(f.Value >= f.Limit) {
		f.Verdict = fail
	}
}

func (r *report) compared(name string, c comparison) {
	r.most(name, c.Ratio, 1.5)
	f := &r.Figures[len(r.Figures)-1]
	f.Why = fmt.Sprintf("hub %.1f ms, bare %.1f ms", c.Ours, c.Yardstick)
	if c.Yardstick > yardMost || c.Spread > yardSpread || math.IsNaN(c.Ratio) {
		f.Verdict, f.Why = void, f.Why+fmt.Sprintf(", its slowest round %.1f times its middle one", c.Spread)
	}
}

func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d clients, TLS %v\n", r.Clients, r.TLS)
	for _, f := range r.Figures {
		sign := "≤"
		if f.Least {
			sign = "≥"
		}
		fmt.Fprintf(t, "%s\t%.2f\t%s %.2f\t%s\t%s\n", f.Name, f.Value, sign, f.Limit, f.Verdict, f.Why)
	}
	_ = t.Flush() // what cannot be printed is not the run's fault
	fmt.Fprintln(w, r.Verdict)
}
