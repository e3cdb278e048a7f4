package route

import (
	"math"

	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	mostSpeed  = 64 // times the pool's mean, and as many times below it
	usualSlots = 32 // of a model server of which nobody says how many it has
)

// foresight is what predictive knows of a pool's members by the snapshot, and what is usual
// among those that the fleet does not hold open.
type foresight struct {
	overlay  uint64
	manners  []manner // by place
	usual    manner   // of one with speed 1
	load     float64  // the fleet's in flight: L̄ of speed 1
	pending  float64  // and tokens of prompts that wait: P̄
	slowdown float64  // median; 1: nobody measured
	medianAt int64
}

// foresight is a pool's, made once for each overlay; its median is taken every second too.
func (r *Router) foresight(now int64, p *pool) *foresight {
	f := &p.foreseen
	if f.overlay != r.overlay {
		f.overlay, f.medianAt = r.overlay, now-medianLast
		r.foresee(f, p.places)
	}
	if now-f.medianAt >= medianLast {
		f.medianAt, f.slowdown = now, r.middleSlow(now, p)
	}
	return f
}

func (r *Router) foresee(f *foresight, places []int32) {
	if len(f.manners) != len(r.current) {
		f.manners = make([]manner, len(r.current))
	}
	mean, learned := r.meanSpeed(places)
	var speeds, n float64
	f.usual, f.load, f.pending = manner{}, 0, 0
	for _, place := range places {
		l, m := r.current[place], &f.manners[place]
		m.cold(l.endpoint, learned)
		f.note(l, m, l.speed()/mean)
		if l.heldBy(allClasses) == 0 {
			speeds, n = speeds+m.speed, n+1
			f.take(l, m)
		}
	}
	f.average(speeds, n)
	for _, place := range places {
		m := &f.manners[place]
		m.read, m.pace, m.quick = m.read/m.speed, m.pace/m.speed, float64(m.speed*served(m.ok, m.n))
	}
}

// cold is how the endpoint works at speed 1: alike, once speeds are learned, else as declared.
func (m *manner) cold(e *Endpoint, learned bool) {
	*m = manner{at: -silence, read: kappa, pace: tpot}
	if own := &e.Capacity; !learned {
		if own.PrefillTPS > 0 {
			m.read = second / float64(own.PrefillTPS)
		}
		if own.TPOT > 0 {
			m.pace = float64(own.TPOT)
		}
	}
	if !e.selfHosted() {
		m.read = 0
	}
	switch {
	case e.Concurrency > 0:
		m.slots = float64(e.Concurrency)
	case e.Capacity.Slots > 0:
		m.slots = float64(e.Capacity.Slots)
	case e.selfHosted():
		m.slots = usualSlots
	}
}

// note takes what the fleet says of the endpoint.
func (f *foresight) note(l *learned, m *manner, speed float64) {
	m.speed = min(max(speed, 1.0/mostSpeed), mostSpeed)
	if w := l.word; w != nil {
		m.at, m.queued, m.ok, m.n, m.samples = w.at, l.queued, w.ok, w.n, w.samples
	}
}

// take adds one to what is usual.
func (f *foresight) take(l *learned, m *manner) {
	u := &f.usual
	u.read, u.pace, u.slots = u.read+m.read, u.pace+m.pace, u.slots+m.slots
	if l.word != nil {
		f.load, f.pending = f.load+l.word.inFlight, f.pending+l.word.pending
	}
}

// average ends the sums: loads and slots are by speed. Without a member nothing is usual, and
// nothing is said of the others.
func (f *foresight) average(speeds, n float64) {
	if n == 0 {
		return
	}
	f.load, f.pending = f.load/speeds, f.pending/speeds
	f.usual.read, f.usual.pace, f.usual.slots = f.usual.read/n, f.usual.pace/n, f.usual.slots/speeds
}

// meanSpeed is that of members that the fleet does not hold open, and whether one is learned.
func (r *Router) meanSpeed(places []int32) (mean float64, learned bool) {
	sum, n := 0.0, 0.0
	for _, place := range places {
		l := r.current[place]
		learned = learned || l.word != nil && l.word.speed > 0
		if l.heldBy(allClasses) == 0 {
			sum, n = sum+l.speed(), n+1
		}
	}
	if n == 0 {
		return 1, learned
	}
	return sum / n, learned
}

// speed is the fleet's, or 1: what is not far from it is not told.
func (l *learned) speed() float64 {
	if l.word == nil || l.word.speed == 0 {
		return 1
	}
	return l.word.speed
}

// selfHosted tells whether prompts wait for each other at the endpoint: somebody knows its
// capacity, metrics or instances, or it speaks as a model server does.
func (e *Endpoint) selfHosted() bool {
	return e.Capacity != Capacity{} || e.Metrics != "" || e.Instances.some() || Declared(e.Name) != e.Name || e.Dialect == "vllm"
}

// middleSlow is the lower median of the members' slowdowns, here and in the fleet.
func (r *Router) middleSlow(now int64, p *pool) float64 {
	all := r.numbers[:0]
	for _, place := range p.places {
		l, v := r.current[place], r.latency(p.work, place)
		if l.heldBy(allClasses) != 0 {
			continue
		}
		weight := float64(localWeight * v.samples(now))
		sum := float64(weight * v.slowdown)
		if l.usual > 0 && now < l.heardAt+silence {
			told := float64(window.Decay(now-l.heardAt, fleetSlowHalf) * l.word.samples)
			weight, sum = weight+told, sum+float64(told*l.usual)
		}
		if weight > 0 {
			all = append(all, sum/weight)
		}
	}
	r.numbers = all
	if v := median(all); v > 0 && !math.IsNaN(v) {
		return v
	}
	return 1
}
