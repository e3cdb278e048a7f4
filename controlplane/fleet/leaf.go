package fleet

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	maxLeaves = 1 << 16
	silence   = 30 * second // without news, a leaf's votes and load go
	forgotten = 60 * minute // then a leaf is nobody
	maxRound  = 1 << 40     // above it a vote's round is no round

	sickSpan    = minute
	sickSamples = 5 // below it a node does not fail on a provider
)

// leaf is one running library.
type leaf struct {
	name, locality string
	node           *node
	once           route.Once // its reports
	news           int64
	gone           int64 // since when its stream has ended; 0: it has not
	silent         bool  // its votes, load and node's life are taken back
	voted          []ballot
	loads          []load
	demand         map[string]*[breaker.Classes]int64 // when it last wanted what, by workload
	told           told
}

// ballot is a vote where it was cast.
type ballot struct {
	site     *site
	witness  *witness
	provider string
	soft     bool
}

// load is a leaf's part of a site's.
type load struct {
	site *site
	sums
}

// node is a witness everywhere; leaves on it speak with one voice.
type node struct {
	name      string
	seat      int // among the witnesses of the last site that was looked at; of most it is the same
	leaves    int // not silent
	providers map[string]*conduct
}

// conduct is how a node fares with one provider.
type conduct struct {
	window window.Window
	votes  int // hard ones that stand
}

// Gone says that a leaf's stream ended: it gets no permit, and soon is no witness.
func (f *Fleet) Gone(now int64, leaf string) {
	if l := f.leaves[leaf]; l != nil && l.gone == 0 {
		l.gone = now
	}
}

// leaf is who reports. Nil: there is no room for another.
func (f *Fleet) leaf(r *route.Report) *leaf {
	l := f.leaves[r.Leaf]
	if l != nil {
		return l
	}
	if len(f.leaves) >= maxLeaves {
		return nil
	}
	l = &leaf{name: r.Leaf, silent: true, demand: map[string]*[breaker.Classes]int64{}}
	f.leaves[r.Leaf] = l
	f.roster = append(f.roster, r.Leaf)
	return l
}

// inRoster is all leaves' names, sorted.
func (f *Fleet) inRoster() []string {
	if !slices.IsSorted(f.roster) {
		slices.Sort(f.roster)
	}
	return f.roster
}

// hear brings a leaf (back) to life, on the node and in the locality that it names.
func (f *Fleet) hear(now int64, l *leaf, r *route.Report) {
	name := r.Node
	if name == "" {
		name = r.Leaf
	}
	if l.node != nil && l.node.name != name {
		f.hush(l)
	}
	if l.silent {
		n := f.nodes[name]
		if n == nil {
			n = &node{name: name, providers: map[string]*conduct{}}
			f.nodes[name] = n
		}
		n.leaves++
		l.node, l.silent = n, false
	}
	l.news, l.gone, l.locality = now, 0, r.Locality
}

// hush takes back all that a leaf stands for.
func (f *Fleet) hush(l *leaf) {
	l.unvote()
	l.unload()
	if !l.silent {
		l.silent = true
		l.node.leaves--
	}
}

func (l *leaf) unvote() {
	for _, b := range l.voted {
		kept := slices.DeleteFunc(b.witness.votes, func(s standing) bool { return s.leaf == l })
		b.site.votes -= len(b.witness.votes) - len(kept)
		b.witness.votes = kept
		if !b.soft {
			l.node.conduct(b.provider).votes--
		}
	}
	l.voted = l.voted[:0]
}

func (l *leaf) unload() {
	for _, p := range l.loads {
		p.site.load.take(p.sums)
		p.site.endpoint.mark()
	}
	l.loads = l.loads[:0]
}

// sweepLeaves takes back what silent leaves stood for, and forgets the long silent. A leaf
// whose votes stand, or that has a load, reports each second: silent, it is lost. One that
// is only idle still uses its endpoints, and counts in their quorums.
func (f *Fleet) sweepLeaves(now int64) {
	for _, name := range f.inRoster() {
		l := f.leaves[name]
		quiet := now - max(l.news, l.gone)
		if quiet >= silence {
			l.unvote()
			l.unload()
		}
		if quiet >= silence && l.gone > 0 || quiet >= forgotten {
			f.hush(l)
			delete(f.leaves, name)
		}
	}
	f.roster = slices.DeleteFunc(f.roster, func(name string) bool { return f.leaves[name] == nil })
	for name, n := range f.nodes {
		if n.leaves == 0 && n.rested(now) {
			delete(f.nodes, name)
		}
	}
}

func (n *node) conduct(provider string) *conduct {
	c := n.providers[provider]
	if c == nil {
		c = &conduct{window: window.New(sickSpan)}
		n.providers[provider] = c
	}
	return c
}

// rested tells whether a node has nothing to be remembered for.
func (n *node) rested(now int64) bool {
	for _, c := range n.providers {
		if ok, failed := c.window.Counts(now); ok+failed > 0 {
			return false
		}
	}
	return true
}
