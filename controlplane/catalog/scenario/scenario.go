// Package scenario reads scenarios: HCL files beside a catalog that say what is asked of which
// endpoints, what goes wrong, who chooses, and what must come out. It decides what a scenario
// means, and reports everything that is wrong with one at once; it plays none. The command line
// calls it.
package scenario

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// The bounds of a scenario.
const (
	maxBytes     = 1 << 20
	maxClients   = traffic.ClientsMax
	maxEndpoints = 2_000
	maxPairs     = 1_000_000 // of a client and an endpoint: each run remembers some 2 KB of each
	maxShown     = 1_000_000 // of a bin and an endpoint
	maxSeeds     = 1_000
	maxTraffic   = 100
	maxFaults    = 1_000
	maxPolicies  = 100
	maxBins      = 10_000
	maxRate      = 1_000_000 // requests a second
	maxDuration  = 7 * 24 * time.Hour
	maxTokens    = traffic.LengthMax
)

// Options are what a scenario depends on besides its file.
type Options struct {
	Vars []string                                 // name=value; later ones win
	Open func(path string) (io.ReadCloser, error) // traces; nil: regular files
}

// Set is a scenario with all that is to be run of it.
type Set struct {
	Title, Text string
	Variables   map[string]string // as used, defaults too
	Scenario    *sim.Scenario
	Policies    []sim.Policy // in order of the file; names are unique
	Seeds       int          // runs of each policy, with the seeds 1 to Seeds
	Assertions  []string
	Rates       map[string]float64 // requests a second, by traffic's name
}

// Load reads a scenario, its catalog and what it needs to know of its traces. An error that is
// of the files' content is an *Error.
func Load(path string, o Options) (*Set, error) {
	if o.Open == nil {
		o.Open = openFile
	}
	r, err := open(path, o)
	if err != nil {
		return nil, err
	}
	r.read()
	if r.doc.Failed() {
		return nil, &Error{r.doc.Findings()}
	}
	return r.set, nil
}

// openFile opens what can be opened again: every run reads the traces anew, and would wait for a
// pipe for ever.
func openFile(path string) (io.ReadCloser, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: each run reads it anew", path)
	}
	return os.Open(path)
}
