// Command fleet measures a hub with thousands of clients on loopback, against a bare gRPC
// server that broadcasts the same bytes to as many. Run it at the root of the module:
//
//	go run ./test/bench/fleet -clients 5000          a table, and which limit is passed
//	go run ./test/bench/fleet -clients 5000 -json    the same for programs
//
// The clients are a process of their own, and light: an HTTP/2 connection each, that acks
// what it takes. Both servers read these acks. What takes turns is the hub and the
// yardstick; a ratio is the median of five rounds.
//
//   - idle: the server's memory with all clients there, less what it was before, by client.
//   - trip, publish: from the change to its arrival at 99 of 100 clients, without the time
//     that a hub waits for more news (protocol.md, rule 11).
//   - encode: what it takes to make each client's message of the whole catalog, with what
//     they share and by protobuf alone: the messages that were sent, made again afterwards.
//   - reconnect: from the end of an outage of 5 s until all are back, by rule 12.
//   - writes: of a control plane with one embedded etcd, while nothing happens, and with
//     reports of 10,000 requests a second.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// options are what a run is told.
type options struct {
	clients      int
	tls, verbose bool
	skip         bool
}

func main() {
	var o options
	flag.IntVar(&o.clients, "clients", 5000, "clients, each on a connection of its own")
	flag.BoolVar(&o.tls, "tls", false, "encrypt")
	flag.BoolVar(&o.verbose, "v", false, "tell each round")
	flag.BoolVar(&o.skip, "no-plane", false, "leave out what needs a whole control plane")
	asJSON := flag.Bool("json", false, "print JSON")
	crowd := flag.Bool("crowd", false, "be the clients: what the command starts itself as")
	flag.Parse()
	if *crowd {
		exit(runCrowd(os.Stdin, os.Stdout))
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
		err = fmt.Errorf("above the limits")
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
