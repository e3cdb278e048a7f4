package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

const (
	second      = 1_000_000
	silence     = 30 * second  // protocol.md, rule 1: a row without news is neutral then
	speedHeld   = 600 * second // a speed holds for longer: it is the endpoint's own, and a process that is cut off still draws by it
	rampFloor   = 0.1
	halfGate    = 20 // fleet successes before a ramp passes 0.5 (control-plane.md, Ramp)
	fullGate    = 50 // and before it ends
	beforeFull  = 0.9
	halfShare   = 0.5
	knownFrom   = 3 // samples that a slowdown is known from (decision-core.md, g)
	allClasses  = breaker.ClassSet(1<<breaker.Classes - 1)
	anyClass    = breaker.ClassSet(1 << breaker.Any)
	streamClass = breaker.ClassSet(1 << breaker.Stream)
	toolsClass  = breaker.ClassSet(1 << breaker.Tools)
	longClass   = breaker.ClassSet(1 << breaker.Long)
)

// word is what the fleet says of one endpoint, for this process's locality.
type word struct {
	at       int64
	speed    float64 // 0: not learned
	inFlight float64 // of all localities
	tokens   float64 // outstanding in those
	pending  float64 // tokens of prompts that wait in those
	slowdown float64 // time to first token by what the input explains; 0: not known
	samples  float64 // of it, fading
	ok, n    float64 // attempts of this locality that were served, and all, fading
	held     breaker.ClassSet
	soft     breaker.ClassSet // of those held, by latency
	ramping  breaker.ClassSet
	round    [breaker.Classes]uint64
	until    [breaker.Classes]int64
	ramp     [breaker.Classes]ramp
}

type ramp struct {
	from, lasts int64
	successes   uint64
}

// compileWord leaves out what another locality's network is to blame for.
func compileWord(e *FleetEndpoint, locality string) word {
	w := word{at: e.At, speed: e.Speed}
	for i := range e.Loads {
		f := &e.Loads[i]
		w.inFlight += float64(f.InFlight)
		w.tokens += float64(f.OutstandingTokens)
		w.pending += float64(f.PendingPromptTokens)
		if f.Locality != locality {
			continue
		}
		w.ok, w.n = w.ok+min(f.Successes, f.Samples), w.n+f.Samples
		if f.SlowdownSamples >= knownFrom && f.Slowdown > 0 {
			w.slowdown, w.samples = f.Slowdown, f.SlowdownSamples
		}
	}
	for i := range e.Breakers {
		b := &e.Breakers[i]
		if b.Class < breaker.Classes && (b.Locality == "" || b.Locality == locality) {
			w.take(b)
		}
	}
	return w
}

// take merges: where two words differ, the one that refuses more holds.
func (w *word) take(b *FleetBreaker) {
	bit := breaker.ClassSet(1) << b.Class
	w.round[b.Class] = max(w.round[b.Class], b.Round)
	switch b.State {
	case FleetOpen, FleetHalfOpen:
		if !b.Soft {
			w.soft &^= bit
		} else if w.held&bit == 0 {
			w.soft |= bit
		}
		w.held |= bit
		w.until[b.Class] = max(w.until[b.Class], b.OpenUntil)
	case FleetRamp:
		if w.ramping&bit == 0 || b.RampFrom > w.ramp[b.Class].from {
			w.ramp[b.Class] = ramp{b.RampFrom, b.RampFor, b.RampSuccesses}
		}
		w.ramping |= bit
	}
}

// fresh tells whether what was learned still counts.
func (w *word) fresh(now int64) bool { return w != nil && now < w.at+silence }

// moves tells whether a word says of breakers or of speed what the one before did not, or counts
// for less long.
func (w *word) moves(was *word) bool {
	return w == nil || w.at < was.at || was.held|was.ramping|w.held|w.ramping != 0 || w.speed != was.speed || w.round != was.round
}

// lost tells whether the fleet fell silent over a class that it holds.
func (w *word) lost(now int64, c breaker.Class) bool {
	return !w.fresh(now) && now >= w.until[c]
}

// factor scales the share of an endpoint whose breaker closed a short while ago.
func (w *word) factor(now int64, classes breaker.ClassSet) float64 {
	if w == nil || w.ramping&classes == 0 {
		return 1
	}
	least := 1.0
	for c := range breaker.Classes {
		if w.ramping&classes&(1<<c) != 0 {
			least = min(least, w.ramp[c].factor(now))
		}
	}
	return least
}

// end is when the share has grown, whatever the successes.
func (r *ramp) end() int64 { return r.from + 2*r.lasts + 1 }

func (r *ramp) factor(now int64) float64 {
	age := max(now-r.from, 0)
	if age/2 >= r.lasts {
		return 1 // all the successes there were in twice the time
	}
	f := rampFloor + float64((1-rampFloor)*min(float64(age)/float64(r.lasts), 1))
	if r.successes < halfGate {
		return min(f, halfShare)
	}
	if r.successes < fullGate {
		return min(f, beforeFull)
	}
	return f
}
