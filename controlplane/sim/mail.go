package sim

import "github.com/pointsman/pointsman/clientlib/route"

// letter is one message on its way, up from a client or down to it.
type letter struct {
	number int32
	kind   letterKind
	client int32
	report route.Report
	state  *state
	permit route.Permit
}

type letterKind uint8

const (
	letterReport letterKind = iota
	letterState
	letterGrant
)

// mail is letters, used again and again.
type mail struct {
	all  []*letter
	free []*letter
}

func (m *mail) take() *letter {
	if len(m.free) == 0 {
		l := &letter{number: int32(len(m.all))}
		m.all = append(m.all, l)
		return l
	}
	l := m.free[len(m.free)-1]
	m.free = m.free[:len(m.free)-1]
	return l
}

func (m *mail) give(l *letter) {
	l.state, l.permit = nil, route.Permit{}
	m.free = append(m.free, l)
}

// post sends a letter between a client and the control plane.
func (w *world) post(l *letter, c *client, k letterKind) {
	l.kind, l.client = k, c.number
	w.agenda.set(ofMail, l.number, w.now+c.delay())
}

// deliver hands a letter over. What comes up finds nobody while the control plane is gone.
func (w *world) deliver(number int32) {
	w.agenda.set(ofMail, number, forever)
	l := w.plane.mail.all[number]
	c := &w.clients[l.client]
	switch l.kind {
	case letterState:
		c.apply(l.state)
	case letterGrant:
		c.grant(l.permit)
	case letterReport:
		if !w.away() {
			w.hear(l.report)
		}
	}
	w.plane.mail.give(l)
}
