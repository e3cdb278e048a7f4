package route

import (
	"math"

	"github.com/pointsman/pointsman/clientlib/route/window"
)

// The numbers of predictive (decision-core.md, Choosing; where they differ: docs/decisions/039-what-makes-first-tokens-late.md).
const (
	pendingHalf   = 700_000     // µs, φ of prompts that wait
	fleetSlowHalf = 10 * second // of the fleet's slowdown
	streamTokens  = 20          // of a streamed answer: its first ones are waited for
	batching      = 0.64        // β: how much slower a full batch is
	nearlyFull    = 0.8         // from this part of its slots on, one more may wait for one,
	slotWait      = 3           // the longer, since a full batch is slower and the mean answer longer than the median
	localWeight   = 2           // of a slowdown's samples made here
	slowPrior     = 3           // samples that the pool's median counts for
	okPrior       = 5           // attempts that went well, before any was seen
	leastOK       = 0.02
	leastSlow     = 0.5
	mostSlow      = 3
)

// burden is what a request asks of any endpoint, in tokens.
type burden struct {
	uncached float64 // of the prompt
	answer   float64 // of the answer that are waited for: K
	typical  float64 // of the workload's answers, median
}

// predict is the inputs of predictive: how long a place takes for the call with what waits and
// runs there, what of that is taken back since nobody knows it any more, and how well it does.
func (r *Router) predict(now int64, p *pool, place int32, c *Call, cached int64, in *Inputs) {
	f, l := r.foresight(now, p), r.current[place]
	m := &f.manners[place]
	load, pending, know := m.loads(now, l, f)
	b := burden{float64(max(c.request.Input-cached, 0)), streamTokens, p.work.output.typical()}
	if !c.request.Stream {
		b.answer = float64(r.need.answer)
	}
	in.Load, in.Tokens, in.Time = load, pending, m.span(load, pending, &b)
	in.Temper = f.temper(m, &b, know)
	in.Health = r.health(now, p, place, f)
}

// manner is how an endpoint works, and what the fleet says of it, as the snapshot has it.
type manner struct {
	at      int64   // when the fleet's word was true; −silence: never, or of nobody
	speed   float64 // next to the pool's mean
	read    float64 // µs a token of the prompt
	pace    float64 // µs a token of the answer, alone
	slots   float64 // answers at a time; 0: not known
	queued  float64 // tokens of others' prompts that waited
	ok, n   float64 // of the fleet's attempts, how many were served
	samples float64 // of its slowdown
	quick   float64 // its speed, the less of it counts the more of the fleet's attempts fail
}

// span is S, in µs: the prompts before it and its own, then its answer, the slower the more
// run beside it, and a wait for a slot when hardly one is left.
func (m *manner) span(load, pending float64, b *burden) float64 {
	prompt, answer := float64((pending+b.uncached)*m.read), float64(b.answer*m.pace)
	if m.slots == 0 {
		return prompt + answer
	}
	answer = float64(answer * (1 + float64(batching*load)/m.slots))
	over := float64(slotWait*max(0, load+1-float64(nearlyFull*m.slots))) / m.slots
	return prompt + answer + float64(float64(over*m.pace)*b.typical)
}

// loads are L̂ and P̂, and how much of L̂ is known of the endpoint itself, 0 to 1: what others
// have there is taken to be the pool's the more, the older the word on it is.
func (m *manner) loads(now int64, l *learned, f *foresight) (load, pending, know float64) {
	age, soon := now-m.at, 0.0
	if age < silence {
		know, soon = window.Decay(age, loadHalf), window.Decay(age, pendingHalf)
	}
	load = mix(float64(l.inFlight), know, l.others, m.speed, f.load)
	pending = mix(float64(l.pending), soon, m.queued, m.speed, f.pending)
	return load, pending, know
}

// mix is a load: the own, what is known of the others', and for the rest what is usual.
func mix(own, know, others, speed, usual float64) float64 {
	return own + float64(know*others) + float64(float64((1-know)*speed)*usual)
}

// temper makes a score relative as the loads that it rests on age: draws are by share already,
// and one that is only supposed to be as loaded as others must not win by its speed again.
func (f *foresight) temper(m *manner, b *burden, know float64) float64 {
	k := int(float64(8*(1-know)) + 0.5)
	if k == 0 {
		return 1
	}
	neutral := m.span(float64(m.speed*f.load), float64(m.speed*f.pending), b)
	if neutral == 0 {
		return 1
	}
	return eighths(f.usual.span(f.load, f.pending, b)/neutral, k)
}

// eighths is x to the power of k/8, 0 ≤ k ≤ 8.
func eighths(x float64, k int) float64 {
	if k == 8 {
		return x
	}
	y, root := 1.0, x
	for bit := 4; bit > 0; bit /= 2 {
		if root = math.Sqrt(root); k&bit != 0 {
			y = float64(y * root)
		}
	}
	return y
}

// health is what slowdown and failures multiply a time with.
func (r *Router) health(now int64, p *pool, place int32, f *foresight) float64 {
	l, m := r.current[place], &f.manners[place]
	v, age := r.latency(p.work, place), now-m.at
	ok, n := l.success.counts(now)
	own := float64(localWeight * v.samples(now))
	sum, weight := float64(own*v.slowdown), own
	if age < silence {
		d := window.Decay(age, successHalf)
		ok, n = ok+float64(d*m.ok), n+float64(d*m.n)
		told := float64(window.Decay(age, fleetSlowHalf) * m.samples)
		sum, weight = sum+float64(told*l.usual), weight+told
	}
	slow := (sum + float64(slowPrior*f.slowdown)) / (weight + slowPrior)
	if l.oldest >= 0 {
		slow = max(slow, float64(now-l.since)/float64(l.expected))
	}
	return fitness(slow, f.slowdown, ok, n)
}

// fitness multiplies a time: g, by how slow it is next to what is usual, over how likely an
// attempt there is served, cubed.
func fitness(slow, usual, ok, n float64) float64 {
	return min(max(math.Sqrt(slow/usual), leastSlow), mostSlow) / max(leastOK, served(ok, n))
}

// served is how likely an attempt is, cubed.
func served(ok, n float64) float64 {
	part := (ok + okPrior) / (n + okPrior)
	return float64(float64(part*part) * part)
}
