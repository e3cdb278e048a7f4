package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	forgotten = 600 * second // an endpoint that left, and an idle one, is forgotten or cold
	ringEvery = 250_000      // µs between two notes of the own load
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
	word *word

	key
	facts   *facts // of the last snapshot that had it
	place   int32  // in the snapshot's facts, while it is there
	cold    bool   // the next latency sample says nothing
	suspect bool   // in the router's list of those with trips
	lost    breaker.ClassSet
	leftAt  int64 // when it left the catalog; 0: it has not

	breaker   breaker.Breaker
	probeFrom int64 // Retry-After: no probe before
	ring      ring
	tallies   map[string]*tally
}

// refusals are the provider's, and for how long they stand.
type refusals struct {
	credential *hold // of that name, else its own
	quota      *hold // of its one quota, else its own
	own        hold  // when it has no quota that is known to be the one
	ownKey     hold  // when it has no credential
	outUntil   int64 // not there
}

// running is an endpoint's attempts in flight, here and elsewhere, and how long they take.
type running struct {
	inFlight int64
	most     int64   // concurrency; Absent: unlimited
	others   float64 // the fleet's in flight less the own ones of then, when the word came
	heardAt  int64   // when the word was true
	oldest   int32   // slots without a first token, oldest first; −1: none
	newest   int32
	ttft     average
	usedAt   int64 // the last pick
}

// hold keeps something shared out until a time.
type hold struct {
	until  int64
	streak int    // of times out without a success between
	seen   uint64 // by which overlay it was last in use
}

func (l *learned) uses(overlay uint64) { l.credential.seen, l.quota.seen = overlay, overlay }

// average weighs the newest sample by 0.2.
type average struct {
	value float64
	n     int64
	at    int64
}

func (a *average) add(now int64, v float64) {
	if a.n == 0 {
		a.value = v
	} else {
		a.value = float64(0.2*v) + float64(0.8*a.value)
	}
	a.n++
	a.at = now
}

// ring holds the own load of the last seconds, to compare with what the fleet saw then.
type ring struct {
	at   [16]int64
	own  [16]int64
	next int
}

// note keeps the load as it is now; of each quarter of a second the last one counts.
func (r *ring) note(now, own int64) {
	if last := (r.next + 15) % 16; r.at[last] > 0 && now-r.at[last] < ringEvery {
		r.own[last] = own
		return
	}
	r.at[r.next], r.own[r.next] = now, own
	r.next = (r.next + 1) % 16
}

// then is the own load at a time: the last note that is not younger, else the oldest kept.
func (r *ring) then(at int64) int64 {
	for i := 1; i <= 16; i++ {
		if k := (r.next + 16 - i) % 16; r.at[k] > 0 && r.at[k] <= at {
			return r.own[k]
		}
	}
	return r.own[r.next] // 0 until the ring is full
}

// hear takes the fleet's word on the endpoint.
func (l *learned) hear(w *word) {
	l.word, l.others, l.heardAt = w, 0, 0
	if w != nil {
		l.others, l.heardAt = max(0, w.inFlight-float64(l.ring.then(w.at))), w.at
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
	return len(l.facts.endpoint.Quotas) > 0 || lasts(now, l.own.until, 1, until) != 0
}
