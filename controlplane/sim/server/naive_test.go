package server

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naive is an engine that looks at everything at every moment: what one is, word by word.
type naive struct {
	spec    Own
	faults  []Fault
	now     float64
	queue   []*task
	filling *task
	active  []*task
	kept    []uint64 // newest first
}

type task struct {
	*Job
	at, left, first, end float64
	blocks               []uint64
	cached               int64
}

func (n *naive) speed() float64 {
	s := n.spec.Speed
	for i := range n.faults {
		if f := &n.faults[i]; float64(f.From) <= n.now && n.now < float64(f.To) {
			s *= f.Factor
		}
	}
	return s
}

func (n *naive) fill() float64 { return n.spec.PrefillTPS / second * n.speed() }

func (n *naive) pace() float64 {
	p := n.speed() / (n.spec.Step + n.spec.StepEach*float64(len(n.active)))
	if n.filling != nil {
		p *= n.spec.PrefillPace
	}
	return p
}

// until lets time pass, event by event.
func (n *naive) until(end float64) {
	for n.now < end {
		n.begin()
		dt := end - n.now
		for _, f := range n.faults {
			for _, at := range []int64{f.From, f.To} {
				if d := float64(at) - n.now; d > 0 {
					dt = min(dt, d)
				}
			}
		}
		if n.filling != nil {
			dt = min(dt, n.filling.left/n.fill())
		}
		for _, t := range n.active {
			dt = min(dt, t.left/n.pace())
		}
		if math.IsInf(dt, 1) {
			return
		}
		n.pass(dt)
	}
	n.begin()
}

func (n *naive) pass(dt float64) {
	fill, pace := n.fill(), n.pace()
	n.now += dt
	if t := n.filling; t != nil {
		t.left -= dt * fill
	}
	for _, t := range n.active {
		t.left -= dt * pace
	}
	const least = 1e-9
	n.active = slices.DeleteFunc(n.active, func(t *task) bool {
		if t.left > least {
			return false
		}
		t.end = n.now
		return true
	})
	if t := n.filling; t != nil && t.left <= least {
		n.keep(t.blocks)
		t.first, t.left = n.now, float64(max(t.Output-1, 0))
		n.filling = nil
		if t.left > 0 {
			n.active = append(n.active, t)
		} else {
			t.end = n.now
		}
	}
}

func (n *naive) begin() {
	for n.filling == nil && len(n.queue) > 0 && len(n.active) < n.spec.Slots && n.used()+n.queue[0].Input+n.queue[0].Output <= n.spec.KVTokens {
		t := n.queue[0]
		n.queue = n.queue[1:]
		t.cached = n.hits(t)
		t.left = float64(t.Input - t.cached)
		n.filling = t
		if t.left == 0 {
			n.pass(0)
		}
	}
}

func (n *naive) used() (sum int64) {
	for _, t := range n.active {
		sum += t.Input + t.Output
	}
	return sum
}

func (n *naive) hits(t *task) int64 {
	k := 0
	for k < len(t.blocks) && slices.Contains(n.kept, t.blocks[k]) && int64(k+1)*blockTokens < t.Input {
		k++
	}
	return int64(k) * blockTokens
}

func (n *naive) keep(blocks []uint64) {
	room := int(n.spec.CacheTokens / blockTokens)
	for _, b := range slices.Backward(blocks[:min(room, len(blocks))]) {
		n.kept = slices.DeleteFunc(n.kept, func(x uint64) bool { return x == b })
		n.kept = append([]uint64{b}, n.kept...)
	}
	n.kept = n.kept[:min(room, len(n.kept))]
}

func (n *naive) take(j *Job) *task {
	whole := min(int(j.Input/blockTokens), len(j.Blocks))
	t := &task{Job: j, at: n.now, first: -1, end: -1, blocks: j.Blocks[:whole]}
	n.queue = append(n.queue, t)
	return t
}

func (n *naive) drop(t *task) {
	is := func(o *task) bool { return o == t }
	n.queue = slices.DeleteFunc(n.queue, is)
	n.active = slices.DeleteFunc(n.active, is)
	if n.filling == t {
		done := int((float64(t.Input) - t.left + 1e-6) / blockTokens)
		n.keep(t.blocks[:min(done, len(t.blocks))])
		n.filling = nil
	}
}

// someOwn is an engine of any kind, and someJob a request to it: often a busy one.
func someOwn(r *rand.Rand) *Own {
	return &Own{
		PrefillTPS: 1000 + float64(r.IntN(20000)), Speed: 0.5 + r.Float64()*2, Slots: 1 + r.IntN(6), Step: 1000 + float64(r.IntN(20000)),
		StepEach: 1 + float64(r.IntN(3000)), PrefillPace: 0.3 + 0.7*r.Float64(), KVTokens: 4000 + int64(r.IntN(20000)), CacheTokens: int64(r.IntN(12) * blockTokens),
	}
}

func someJob(r *rand.Rand, id int32) *Job {
	j := &Job{ID: id, Input: int64(r.IntN(3000)), Output: int64(r.IntN(60)), Stream: true, Chance: r.Uint32()}
	key := uint64(r.IntN(5)) * 100
	for i := range (j.Input + blockTokens - 1) / blockTokens {
		if r.IntN(8) == 0 {
			key = 1000 + r.Uint64N(1000)
		}
		j.Blocks = append(j.Blocks, key+uint64(i))
	}
	return j
}

func TestAnEngineIsWhatANaiveOneIs(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		spec := someOwn(r)
		if seed%2 == 0 { // who drops leaves no traces, but for what had to go for it
			spec.CacheTokens = 1 << 30
		}
		var faults []Fault
		for range r.IntN(3) {
			from := r.Int64N(10 * second)
			faults = append(faults, Fault{Kind: Slow, From: from, To: from + 1 + r.Int64N(5*second), Factor: 0.4 + r.Float64()})
		}
		compare(t, seed, r, &naive{spec: spec.resolved(), faults: faults}, New(&Model{Own: spec}, seed, faults))
	}
}

// compare has both take the same jobs, and some callers leave.
func compare(t *testing.T, seed uint64, r *rand.Rand, n *naive, s *Server) {
	t.Helper()
	var tasks []*task
	var got []News
	now, gap := int64(0), 1+r.Int64N(second/2)
	for id := range int32(60) {
		now += r.Int64N(gap)
		n.until(float64(now))
		got = s.Advance(now, got)
		j := someJob(r, id)
		tasks = append(tasks, n.take(j))
		s.Take(now, j)
		n.begin()
		if victim := tasks[r.IntN(len(tasks))]; seed%4 == 0 && r.IntN(4) == 0 {
			if phase := victim.phase; (phase == gone) == (victim.end >= 0) && (phase == answering) == (victim.first >= 0 && victim.end < 0) {
				n.drop(victim)
				s.Drop(now, victim.Job)
			}
		}
	}
	n.until(math.Inf(1))
	got = finish(s, got)
	var first, end [60]int64
	for _, e := range got {
		if e.First {
			first[e.Job.ID] = e.At
		} else {
			end[e.Job.ID] = e.At
		}
	}
	for i, k := range tasks {
		near := func(got int64, want float64) bool {
			return want < 0 && got == 0 || math.Abs(float64(got)-want) <= 200 // a µs for each event, some more where the pace falls in it
		}
		if !near(first[i], k.first) || !near(end[i], k.end) || k.first >= 0 && k.Cached != k.cached {
			t.Fatalf("seed %d, job %d of %d in, %d out: first %d, end %d, cached %d; the naive one: %.1f, %.1f, %d",
				seed, i, k.Input, k.Output, first[i], end[i], k.Cached, k.first, k.end, k.cached)
		}
	}
	if s.InFlight() != 0 {
		t.Fatalf("seed %d: in flight %d at the end", seed, s.InFlight())
	}
}

func TestPredictIsWhatThenHappens(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := New(&Model{Own: someOwn(r)}, seed, nil)
		now, gap := int64(0), 1+r.Int64N(second/4)
		for id := range int32(r.IntN(40)) {
			now += r.Int64N(gap)
			s.Advance(now, nil)
			s.Take(now, someJob(r, id))
		}
		now += r.Int64N(gap)
		s.Advance(now, nil)
		j := someJob(r, 99)
		only := s.PredictFirst(now, j)
		first, total := s.Predict(now, j)
		s.Take(now, j)
		for _, n := range finish(s, nil) {
			if n.Job != j {
				continue
			}
			if n.First && (n.At-now != first || n.At-now != only) {
				t.Fatalf("seed %d: first token after %d, predicted %d and %d", seed, n.At-now, first, only)
			}
			if !n.First && n.At-now != total {
				t.Fatalf("seed %d: end after %d, predicted %d", seed, n.At-now, total)
			}
		}
		if j.phase != gone || first == Never {
			t.Fatalf("seed %d: predicted %d, and it is in phase %d", seed, first, j.phase)
		}
	}
}
