// Package traffic is what callers ask for: read from traces, or generated. It decides when
// which request comes and what it would take to answer; never who answers. It is pure: bytes
// and seeds come in, arrivals go out one by one, so that a trace of any length takes little
// memory. The same seed gives the same arrivals, whatever else is drawn in a run: each source
// has streams of chance of its own, by its name, one for each purpose.
package traffic

// Arrival is one request as it comes. Times are µs; At is since the run began.
type Arrival struct {
	At     int64
	Client int32 // which router is asked
	Request

	Input     int64    // tokens
	Output    int64    // tokens that the answer has: no policy sees them
	MaxOutput int64    // tokens; 0: not said
	Blocks    []uint64 // the prompt's blocks from its beginning; equal ids are equal tokens; none: nothing of it is known
	Key       string   // for affinity; empty: none

	Deadline int64  // the caller's patience since At; 0: it has no end
	Cancel   int64  // the caller leaves so long after At; 0: it does not
	Chance   uint32 // of this request, the same for every policy: what its answer is drawn from
}

// Request is what an arrival says of itself, and what its endpoint must be able to do.
type Request struct {
	Workload string
	Tenant   string // empty: the default one
	Needs    []string
	Stream   bool
}

// BlockTokens is how much of a prompt one block is (traces/README.md: Mooncake's).
const BlockTokens = 512

// Source yields arrivals in order of time. The slices of one are good until the next. One that
// is an io.Closer has files open until it ends: close it if you leave it before.
type Source interface {
	// Next fills in the next arrival; false: there is none. An error names the place.
	Next(a *Arrival) (bool, error)
}
