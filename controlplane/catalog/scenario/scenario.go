// Package scenario reads scenarios: HCL files beside a catalog that say what is asked of which
// endpoints, what goes wrong, who chooses, and what must come out. It decides what a scenario
// means, and reports everything that is wrong with one at once; it plays none. The command line
// calls it.
package scenario

import (
	"io"
	"os"
	"time"

	"github.com/pointsman/pointsman/controlplane/sim"
)

// The bounds of a scenario.
const (
	maxBytes     = 1 << 20
	maxClients   = 10_000
	maxEndpoints = 2_000
	maxSeeds     = 1_000
	maxTraffic   = 100
	maxFaults    = 1_000
	maxPolicies  = 100
	maxBins      = 10_000
	maxRate      = 1_000_000 // requests a second
	maxDuration  = 7 * 24 * time.Hour
	maxTokens    = 10_000_000
)

// Options are what a scenario depends on besides its file.
type Options struct {
	Vars []string                                 // name=value; later ones win
	Open func(path string) (io.ReadCloser, error) // traces; nil: os.Open
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
		o.Open = func(path string) (io.ReadCloser, error) { return os.Open(path) }
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
