package agent

import (
	"errors"

	"github.com/pointsman/pointsman/agent/metrics"
)

// Figures are how the agent does now, for metrics.
func (a *Agent) Figures() metrics.Figures {
	s := a.Status()
	f := metrics.Figures{
		Connected: s.Link.Connected, Heads: metrics.HeadAges(s.Link.Heads), Journal: a.journal.Size(),
		Hub: a.relay.hub.Figures(), Node: a.nodeFigures(),
	}
	for _, l := range s.Leaves {
		if !l.GetGone() {
			f.Leaves++
		}
	}
	return f
}

// nodeFigures count what this node sees by itself.
func (a *Agent) nodeFigures() metrics.Node {
	n := metrics.Node{
		Engines: len(a.witness.sight.scene().engines), Read: len(a.witness.reader.Loads()), Drains: len(a.relay.shelf.drains.list()),
	}
	n.Engines = max(n.Engines, n.Read) // the one was looked at before the other
	for _, r := range a.witness.reached() {
		if r.Reached {
			n.Reached++
		} else {
			n.Unreached++
		}
	}
	return n
}

// Ready says why the agent is not: nothing was heard of a head since it started. One that was
// ready stays so when its parent is away; one that is not serves its last good states.
func (a *Agent) Ready() error {
	if s := a.Status().Link; !s.Connected && len(s.Heads) == 0 {
		return errors.New("no parent was reached yet")
	}
	return nil
}
