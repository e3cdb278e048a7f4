package traffic

import "io"

// Merge puts sources together by time; of arrivals at one time the earlier source's comes first.
func Merge(sources ...Source) Source {
	m := &merged{from: make([]head, len(sources)), last: -1}
	for i, s := range sources {
		m.from[i].source = s
	}
	return m
}

type merged struct {
	from  []head
	last  int // whose arrival was given: it is read on only when its slices may go
	begun bool
}

// head is a source and what it gives next.
type head struct {
	source Source
	next   Arrival
	some   bool
}

func (m *merged) Next(a *Arrival) (bool, error) {
	for i := range m.from {
		if h := &m.from[i]; !m.begun || i == m.last {
			var err error
			if h.some, err = h.source.Next(&h.next); err != nil {
				return false, err
			}
		}
	}
	m.begun, m.last = true, -1
	for i := range m.from {
		if h := &m.from[i]; h.some && (m.last < 0 || h.next.At < m.from[m.last].next.At) {
			m.last = i
		}
	}
	if m.last < 0 {
		return false, nil
	}
	*a = m.from[m.last].next
	return true, nil
}

// Close closes those that have files open.
func (m *merged) Close() error {
	var first error
	for i := range m.from {
		if c, ok := m.from[i].source.(io.Closer); ok {
			if err := c.Close(); first == nil {
				first = err
			}
		}
	}
	return first
}
