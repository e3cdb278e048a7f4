// Command send measures what a Transport adds to a request: a bare http.Client and a routed one
// take turns at one endpoint on loopback, a process of its own that answers in 1 ms. Run it at
// the root of the module:
//
//	go run ./test/bench/send          a table, and which limit is passed
//	go run ./test/bench/send -json    the same for programs
//
// Three phases:
//
//   - offered: requests begin when they are due, whatever became of those before, and what each
//     took counts from when it was due. Rounds of whole answers and rounds of streams, bare and
//     routed in pairs whose order is chance; a figure is the median of its rounds. Half of the
//     bare requests against the other half is the noise: figures below it say nothing.
//   - alone: one request after the other on one processor, for allocations.
//   - events: long streams from memory, an event a read, for what one event costs.
//
// A run whose noise is above a limit, or on a machine that is no measure, is void.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// options are what a run is told.
type options struct {
	rate     int
	duration time.Duration
	rounds   int
	events   int
}

func main() {
	var o options
	flag.IntVar(&o.rate, "rate", 2000, "requests a second that are offered")
	flag.DurationVar(&o.duration, "duration", 20*time.Second, "how long they are, all rounds together")
	flag.IntVar(&o.rounds, "rounds", 10, "rounds, half of them of streams")
	flag.IntVar(&o.events, "events", 60, "events of a stream")
	asJSON := flag.Bool("json", false, "print JSON")
	serves := flag.Bool("serve", false, "be the endpoint: what the command starts itself as")
	flag.Parse()
	if *serves {
		exit(serve(os.Stdin, os.Stdout))
	}
	r, err := measure(o)
	if err != nil {
		exit(err)
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else {
		r.print(os.Stdout)
	}
	if err == nil && r.Verdict == fail {
		err = fmt.Errorf("above the limits: %v", r.Above)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "send:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// measure runs the phases.
func measure(o options) (*report, error) {
	if o.rate < 1 || o.rounds < 2 || o.events < 1 || o.duration < time.Second || o.duration > 10*time.Minute {
		return nil, fmt.Errorf("%+v: want a rate, 2 or more rounds, an event or more, and 1 s to 10 min", o)
	}
	r := newReport(o)
	e, err := startEndpoint()
	if err != nil {
		return nil, err
	}
	defer e.stop()
	if err := r.offered(e.url(time.Millisecond, o.events)); err != nil {
		return nil, fmt.Errorf("offered: %w", err)
	}
	if err := r.alone(e.url(0, o.events)); err != nil {
		return nil, fmt.Errorf("alone: %w", err)
	}
	if err := r.eachEvent(); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	r.judge()
	return r, nil
}
