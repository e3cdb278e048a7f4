package traffic

import (
	"math"
	"strconv"
)

// Length is a log-normal distribution of tokens.
type Length struct {
	Median float64
	Sigma  float64 // of the logarithm; 0: all are the median
	Max    int64   // longer ones count as so long; 0: LengthMax
}

// LengthMax is the longest prompt or answer there is, in tokens.
const LengthMax = 10_000_000

func (l *Length) max() int64 {
	if l.Max == 0 {
		return LengthMax
	}
	return l.Max
}

func (l *Length) draw(r *stream) int64 {
	x := l.Median * math.Exp(l.Sigma*r.normal())
	return max(1, int64(min(x, float64(l.max()))+0.5))
}

// Keys are prompts' beginnings that requests share: one is drawn for each, and Input is what
// comes after it. A request's key for affinity is its beginning.
type Keys struct {
	Count  int // 0: nothing is shared
	Tokens int64
	Zipf   float64
}

// Sessions are conversations: a turn's prompt is all that was said before, and what is new. A
// request's key for affinity is its session. Time to think is what the client's gaps leave.
type Sessions struct {
	Turns float64 // in the mean (geometric); 0: none
	Live  int     // of one client at a time; 0: liveDefault
	Max   int64   // tokens: a session that has so many ends; 0: sessionMax
}

// Defaults of Sessions.
const (
	liveDefault = 8
	sessionMax  = 100_000
)

// bodies says what a request has in it.
type bodies interface {
	next(a *Arrival, l *labels) error
	close() error
}

func (g *Generator) bodies(seed uint64) (bodies, error) {
	if g.Bodies != nil {
		again := *g.Bodies
		again.Window.Loop = true
		p, err := openPrompts(&again, drawn(seed, g.Name, forTicks))
		if err != nil {
			return nil, err
		}
		return &borrowed{prompts: p}, nil
	}
	s := &spoken{input: g.Input, output: g.Output, tokens: g.Keys.Tokens, name: g.Name}
	s.inputs, s.outputs = drawn(seed, g.Name, forInputs), drawn(seed, g.Name, forOutputs)
	s.prompts = drawn(seed, g.Name, forPrompts)
	s.salt = mix(hash(g.Name))
	if g.Keys.Count > 0 {
		s.keys, s.names = newTable(zipf(g.Keys.Count, g.Keys.Zipf)), make([]string, g.Keys.Count)
		s.choices = drawn(seed, g.Name, forKeys)
	}
	if g.Sessions.Turns > 0 {
		return newTalks(s, g, seed), nil
	}
	return s, nil
}

// borrowed is a trace's bodies.
type borrowed struct {
	prompts *prompts
	row     row
}

func (b *borrowed) next(a *Arrival, l *labels) error {
	key, err := b.prompts.next(&b.row)
	if err != nil {
		return err
	}
	l.size(a, b.row.input, b.row.output)
	a.Blocks, a.Key = b.row.blocks, key
	return nil
}

func (b *borrowed) close() error { return b.prompts.laps.Close() }

// spoken is bodies of drawn lengths, perhaps after a beginning that others have too. Without
// one there are no blocks: nothing of a prompt would be seen again.
type spoken struct {
	input, output   Length
	inputs, outputs stream

	keys    *table // nil: nothing is shared
	tokens  int64  // of each
	names   []string
	choices stream

	name    string
	salt    uint64
	prompts stream // whose draws are prompts' own blocks
	blocks  []uint64
}

func (s *spoken) next(a *Arrival, l *labels) error {
	input := s.input.draw(&s.inputs)
	if s.keys == nil {
		l.size(a, input, s.output.draw(&s.outputs))
		return nil
	}
	key := s.keys.at(s.choices.next())
	l.size(a, s.tokens+input, s.output.draw(&s.outputs))
	a.Key, a.Blocks = s.named(key), s.write(a.Input, key, s.prompts.next())
	return nil
}

func (s *spoken) close() error { return nil }

// named makes a key's name once.
func (s *spoken) named(key int) string {
	if s.names[key] == "" {
		s.names[key] = s.name + "/" + strconv.Itoa(key)
	}
	return s.names[key]
}

// write is a prompt's blocks: those that are its beginning's, those of what was said, and a
// last one that has no more tokens and is nobody else's. Key −1: no beginning.
func (s *spoken) write(tokens int64, key int, said uint64) []uint64 {
	n, begin := blocksOf(tokens), int64(0)
	if key >= 0 {
		begin = s.tokens / BlockTokens
	}
	s.blocks = s.blocks[:0]
	for i := range n {
		from := said
		if i < begin {
			from = s.salt + uint64(key)*0x9E3779B97F4A7C15
		} else if (i+1)*BlockTokens > tokens {
			from = s.prompts.next()
		}
		s.blocks = append(s.blocks, mix(from+uint64(i)*0xD1B54A32D192ED03))
	}
	return s.blocks
}
