package rival

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// own counts what each client has in flight at each place: all that a balancer without any
// help knows at once. Rules embed it for the callbacks too.
type own struct {
	places int
	flight []int32 // client × places + place
}

func newOwn(v *sim.View) own {
	return own{places: len(v.Names), flight: make([]int32, v.Clients*len(v.Names))}
}

// of is what one client has in flight, by place.
func (o *own) of(client int32) []int32 {
	return o.flight[int(client)*o.places : (int(client)+1)*o.places]
}

// Sent counts an attempt.
func (o *own) Sent(_ int64, client, place int32, _ *traffic.Arrival) { o.of(client)[place]++ }

// First changes nothing.
func (o *own) First(int64, int32, int32, int64) {}

// Ended counts an attempt no more.
func (o *own) Ended(_ int64, client, place int32, _ route.OutcomeKind) { o.of(client)[place]-- }

// silent learns nothing.
type silent struct{}

// Sent changes nothing.
func (silent) Sent(int64, int32, int32, *traffic.Arrival) {}

// First changes nothing.
func (silent) First(int64, int32, int32, int64) {}

// Ended changes nothing.
func (silent) Ended(int64, int32, int32, route.OutcomeKind) {}

// lanes give one state to each pair of client and workload: balancers keep one per service.
// Workloads are numbered as they are met.
type lanes[T any] struct {
	clients int
	number  map[string]int
	states  []*T
	fresh   func(lane int) *T
}

func newLanes[T any](clients int, fresh func(lane int) *T) lanes[T] {
	return lanes[T]{clients: clients, number: map[string]int{}, fresh: fresh}
}

func (l *lanes[T]) of(client int32, a *traffic.Arrival) *T {
	w, known := l.number[a.Workload]
	if !known {
		w = len(l.number)
		l.number[a.Workload] = w
		l.states = append(l.states, make([]*T, l.clients)...)
	}
	i := w*l.clients + int(client)
	if l.states[i] == nil {
		l.states[i] = l.fresh(i)
	}
	return l.states[i]
}

// draws hands out a seed's draws in order; none of them is the core's, which are 0 and up.
type draws struct{ seed, k uint32 }

func drawsOf(seed uint32) draws { return draws{seed: seed ^ 0x5BD1E995} }

func (d *draws) next() uint32 {
	d.k++
	return route.Draw(d.seed, d.k)
}

// index is one of n.
func (d *draws) index(n int) int { return route.Index(d.next(), n) }

// unit is in [0, 1).
func (d *draws) unit() float64 { return float64(d.next()) / (1 << 32) }

// pair is two different ones of n, or twice the only one.
func (d *draws) pair(n int) (int, int) {
	if n < 2 {
		return 0, 0
	}
	a, b := d.index(n), d.index(n-1)
	if b >= a {
		b++
	}
	return a, b
}

// sample moves k of list, drawn without replacement, to its front and returns them.
func (d *draws) sample(list []int32, k int) []int32 {
	k = min(k, len(list))
	for i := range k {
		j := i + d.index(len(list)-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:k]
}

// least finds the index with the least of load, drawing evenly among equal ones.
func least(eligible []int32, d *draws, load func(place int32) float64) int {
	best, equal, at := 0.0, 0, 0
	for i, place := range eligible {
		l := load(place)
		switch {
		case equal == 0 || l < best:
			best, equal, at = l, 1, i
		case l == best:
			if equal++; d.index(equal) == 0 {
				at = i
			}
		}
	}
	return at
}

// speeds are the servers' true ones.
func speeds(v *sim.View) []float64 {
	out := make([]float64, len(v.Servers))
	for i, s := range v.Servers {
		out[i] = s.Speed()
	}
	return out
}

// weights are true speeds if the setting says so, else what operators configured.
func weights(v *sim.View, is map[string]float64) []float64 {
	if is["speeds"] != 0 {
		return speeds(v)
	}
	return v.Shares
}
