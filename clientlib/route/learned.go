package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	forgotten = 600 * second // an endpoint that left, and an idle one, is forgotten or cold
	loadHalf  = 3_500_000    // decision-core.md, φ
)

// key is what learned state belongs to.
type key struct {
	name     string
	identity uint64
}

// learned is what this process knows of one endpoint. It outlives snapshots, and attempts
// give back to the one that they captured.
type learned struct {
	running // what a pick reads of a candidate comes first: two cache lines
	refusals
	success    success
	output     int64             // max_output_tokens; 0: none
	window     int64             // context_window; 0: none
	byPriority [priorities]int64 // in flight
	elsewhere  float64           // outstanding tokens of the others, when the word came
	word       *word

	key
	number  uint32 // of its own
	facts   *facts // of the last snapshot that had it
	place   int32  // in the snapshot's facts, while it is there
	suspect bool   // in the router's list of those with trips
	lost    breaker.ClassSet

	breaker   breaker.Breaker // what a pick reads of it is one cache line
	leftAt    int64           // when it left the catalog; 0: it has not
	probeFrom int64           // Retry-After: no probe before
	queued    float64         // tokens of others' prompts that waited, when the word came
	spread    *spread         // nil: no strategy asks for it
	strain    strain
	ring      ring
	tallies   map[string]*tally
}

// refusals are the provider's, and for how long they stand.
type refusals struct {
	credential *hold // of that name, else its own
	quotas     []*quota
	own        *quota // among them unless it has one
	ownKey     hold   // when it has no credential
	outUntil   int64  // not there
}

// hold keeps something shared out until a time.
type hold struct {
	until int64
	seen  uint64 // by which overlay it was last in use
}

func (l *learned) uses(overlay uint64) {
	l.credential.seen = overlay
	for _, q := range l.quotas {
		q.seen = overlay
	}
}

// hear takes the fleet's word on the endpoint.
func (l *learned) hear(w *word) {
	l.word, l.others, l.elsewhere, l.queued, l.heardAt, l.usual = w, 0, 0, 0, 0, 0
	if w == nil {
		return
	}
	own := l.then(w.at)
	l.others, l.heardAt, l.usual = max(0, w.inFlight-float64(own.inFlight)), w.at, w.slowdown
	l.queued = max(0, w.pending-float64(own.pending))
	if w.inFlight > 0 {
		l.elsewhere = float64(w.tokens*l.others) / w.inFlight
	}
}

// load is the fleet's requests in flight as far as they are known: L̂.
func (l *learned) load(now int64) float64 {
	if l.others == 0 || now >= l.heardAt+silence {
		return float64(l.inFlight)
	}
	return float64(l.inFlight) + float64(window.Decay(now-l.heardAt, loadHalf)*l.others)
}

// limited tells whether something of it may be used up.
func (l *learned) limited(now int64, until *int64) bool {
	return len(l.facts.endpoint.Quotas) > 0 || lasts(now, l.own.common.EasedAt(), 1, until) != 0
}
