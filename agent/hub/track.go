package hub

import (
	"slices"
	"time"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// pace is how long news waits for more: until it has been quiet, but at most so long.
type pace struct{ quiet, most int64 }

// protocol.md, rule 11.
var (
	catalogPace = pace{us(100 * time.Millisecond), us(time.Second)}
	fleetPace   = pace{us(50 * time.Millisecond), us(250 * time.Millisecond)}
)

func us(d time.Duration) int64 { return d.Microseconds() }

// change says that a row became other at a version: written, dated anew, or removed.
type change struct {
	key   wire.Key
	at    *pb.Version
	dated bool // only its date is news
}

// point is a state as a child names it. Without a digest it may be any of that version.
type point struct {
	version *pb.Version
	digest  string
}

func pointOf(s *wire.State) point { return point{s.Version(), string(s.Digest())} }

// may says whether the point may be s.
func (p point) may(s *wire.State) bool {
	return p.version != nil && wire.Compare(s.Track(), p.version, s.Version()) == 0 &&
		(p.digest == "" || p.digest == string(s.Digest()))
}

// track is one track of one view: its newest state, and what changed on the way there.
type track struct {
	kind  pb.Track
	pace  pace
	state *wire.State       // nil: none yet
	base  point             // the log tells all that changed since
	log   []change          // oldest first
	anew  map[wire.Key]bool // rows of the newest state that were dated anew since it came
	cache [2]*delta         // whole, and since the version asked last

	next        *wire.State // waits for its pace
	first, last int64       // when news began to wait, and was added to
	urgent      bool
}

func newTrack(kind pb.Track, p pace) *track { return &track{kind: kind, pace: p} }

func (t *track) order(a, b *pb.Version) int { return wire.Compare(t.kind, a, b) }

// offer takes a state to install when due, unless a newer one is there.
func (t *track) offer(now int64, s *wire.State, urgent bool) {
	newest := t.state
	if t.next != nil {
		newest = t.next
	}
	if t.order(s.Version(), newest.Version()) < 0 {
		return
	}
	if t.next == nil {
		t.first = now
	}
	t.next, t.last, t.urgent = s, now, t.urgent || urgent
}

// due is when the waiting state is to be installed.
func (t *track) due() int64 {
	if t.urgent || t.state == nil {
		return t.first
	}
	return min(t.first+t.pace.most, t.last+t.pace.quiet)
}

// install makes s the newest state; changes are what differs from the one before. False:
// it is the same again.
func (t *track) install(s *wire.State, changes []change) bool {
	if t.next == s {
		t.next, t.urgent = nil, false
	}
	again := t.order(t.state.Version(), s.Version()) == 0
	if again && len(changes) == 0 {
		return false
	}
	switch {
	case t.state == nil, again && string(t.state.Digest()) != string(s.Digest()):
		t.base, t.log, t.anew = pointOf(s), nil, nil // versions cannot tell the two apart
	case again:
		t.anew = redated(t.anew, changes)
	default:
		t.log = append(t.log, changes...)
		for k := range t.anew {
			t.log = append(t.log, change{key: k, at: s.Version(), dated: true})
		}
		t.anew = nil
		t.trim(2*s.Len() + 128)
	}
	t.state, t.cache = s, [2]*delta{}
	return true
}

// redated adds rows whose dates alone are news: whoever holds the version lacks them.
func redated(anew map[wire.Key]bool, changes []change) map[wire.Key]bool {
	if anew == nil {
		anew = map[wire.Key]bool{}
	}
	for _, c := range changes {
		anew[c.key] = true
	}
	return anew
}

// trim forgets the oldest half of a log that is longer than most. Older states are then
// answered with the whole.
func (t *track) trim(most int) {
	if len(t.log) <= most {
		return
	}
	i := len(t.log) / 2
	for i < len(t.log) && t.order(t.log[i-1].at, t.log[i].at) == 0 {
		i++
	}
	t.base = point{version: t.log[i-1].at}
	t.log = slices.Clone(t.log[i:])
}

// differences are the changes from old to s, at s's version.
func differences(old, s *wire.State) []change {
	var out []change
	for k, e := range s.All() {
		was, ok := old.Lookup(k)
		if !ok || was.Hash != e.Hash {
			out = append(out, change{key: k, at: s.Version()})
		} else if was.At != e.At {
			out = append(out, change{key: k, at: s.Version(), dated: true})
		}
	}
	for k := range old.All() {
		if _, ok := s.Lookup(k); !ok {
			out = append(out, change{key: k, at: s.Version()})
		}
	}
	return out
}
