package traffic

// Generator makes traffic up: each client asks at gaps that are drawn from a Gamma
// distribution (a renewal process that began long before the run), for lengths that are drawn
// from log-normal ones, or read from a trace.
type Generator struct {
	Name     string // whose streams of chance it has: no two sources of a run have the same
	Crowd    Crowd
	Rate     float64 // requests a second, of all clients together
	CV       float64 // of a client's gaps: standard deviation ÷ mean; 0: 1, Poisson arrivals
	From     int64   // µs since the run began
	Until    int64   // 0: without end
	Input    Length  // of what is new in a prompt
	Output   Length
	Bodies   *Trace // lengths, blocks and keys come from there, row by row and round again, if it is there
	Keys     Keys
	Sessions Sessions
	Labels   Labels
}

// Open begins.
func (g *Generator) Open(seed uint64) (Source, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	b, err := g.bodies(seed)
	if err != nil {
		return nil, err
	}
	s := &generated{bodies: b, labels: newLabels(&g.Labels, seed, g.Name), first: int32(g.Crowd.First), until: endOfTime}
	if g.Until > 0 {
		s.until = float64(g.Until)
	}
	s.begin(g, seed)
	return s, nil
}

// endOfTime is when gaps are no longer added up, in µs: thousands of years.
const endOfTime = 1e17

// generated is a generator as it is played: a heap of its clients, by when each asks next.
type generated struct {
	bodies bodies
	labels labels
	first  int32
	until  float64
	gamma  gamma
	heap   []asker
}

// asker is a client that will ask. Each has a stream of its own, so that gaps at another rate
// are the same gaps, longer or shorter.
type asker struct {
	at     float64 // µs
	mean   float64 // gap, µs
	client int32
	chance stream
}

// begin lets each client be somewhere within a gap: a time within it is that of Gamma's
// distribution weighted by length, which is one of a shape that is larger by 1.
func (s *generated) begin(g *Generator, seed uint64) {
	cv := g.CV
	if cv == 0 {
		cv = 1
	}
	shape := 1 / (cv * cv)
	s.gamma = newGamma(shape)
	around, longer := newGamma(shape+1), (shape+1)/shape
	base := drawn(seed, g.Name, forGaps)
	for i, part := range zipf(g.Crowd.size(), g.Crowd.Zipf) {
		a := asker{mean: 1e6 / (part * g.Rate), client: int32(i), chance: stream{base.next()}}
		a.at = float64(g.From) + a.chance.unit()*around.draw(&a.chance)*longer*a.mean
		s.heap = append(s.heap, a)
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

func (s *generated) Next(a *Arrival) (bool, error) {
	top := &s.heap[0]
	if top.at >= s.until {
		return false, s.Close()
	}
	s.labels.next(a)
	a.At, a.Client = int64(top.at), s.first+top.client
	if err := s.bodies.next(a, &s.labels); err != nil {
		return false, err
	}
	top.at += s.gamma.draw(&top.chance) * top.mean
	s.sink(0)
	return true, nil
}

func (s *generated) Close() error { return s.bodies.close() }

// sink puts the asker at i where it belongs below.
func (s *generated) sink(i int) {
	moved := s.heap[i]
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			break
		}
		if right := child + 1; right < len(s.heap) && s.heap[right].before(&s.heap[child]) {
			child = right
		}
		if !s.heap[child].before(&moved) {
			break
		}
		s.heap[i] = s.heap[child]
		i = child
	}
	s.heap[i] = moved
}

func (a *asker) before(b *asker) bool {
	return a.at < b.at || a.at == b.at && a.client < b.client
}
