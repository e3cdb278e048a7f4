package traffic

import "strconv"

// talks is bodies of sessions. A client goes on with any of its live ones, or begins another in
// the place of any: how many turns one has is geometric then, with the mean Turns.
type talks struct {
	*spoken
	begins float64 // part of the requests that begin a session
	live   int
	max    int64
	count  uint64
	first  int32
	of     [][]talk // by client
	chance stream
}

// talk is a session.
type talk struct {
	name string
	key  int    // −1: none
	said uint64 // what its blocks are made from
	long int64  // tokens so far
}

func newTalks(s *spoken, g *Generator, seed uint64) *talks {
	t := &talks{spoken: s, begins: 1 / g.Sessions.Turns, live: g.Sessions.Live, max: g.Sessions.Max, first: int32(g.Crowd.First)}
	if t.live == 0 {
		t.live = liveDefault
	}
	if t.max == 0 {
		t.max = sessionMax
	}
	t.of = make([][]talk, g.Crowd.size())
	t.chance = drawn(seed, g.Name, forSessions)
	return t
}

func (t *talks) next(a *Arrival, l *labels) error {
	mine := &t.of[a.Client-t.first]
	at := t.turn(mine)
	s := &(*mine)[at]
	l.size(a, s.long+t.input.draw(&t.inputs), t.output.draw(&t.outputs))
	a.Key, a.Blocks = s.name, t.write(a.Input, s.key, s.said)
	if s.long = a.Input + a.Output; s.long >= t.max {
		(*mine)[at] = (*mine)[len(*mine)-1]
		*mine = (*mine)[:len(*mine)-1]
	}
	return nil
}

// turn is which session goes on.
func (t *talks) turn(mine *[]talk) int {
	begins, any := t.chance.unit() < t.begins, t.chance.unit()
	switch n := len(*mine); {
	case n > 0 && !begins:
		return int(any * float64(n))
	case n < t.live:
		*mine = append(*mine, t.begin())
		return n
	default:
		at := int(any * float64(n))
		(*mine)[at] = t.begin()
		return at
	}
}

func (t *talks) begin() talk {
	t.count++
	s := talk{name: t.name + "/s" + strconv.FormatUint(t.count, 10), key: -1, said: t.prompts.next()}
	if t.keys != nil {
		s.key, s.long = t.keys.at(t.choices.next()), t.tokens
	}
	return s
}
