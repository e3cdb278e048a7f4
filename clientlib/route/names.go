package route

import "maps"

// set is a set of interned names.
type set [2]uint64

const (
	maxNames = 127 // of one kind in one catalog
	unknown  = 127 // a name that the catalog does not have: in no endpoint's set
)

func (s *set) add(bit uint8) { s[bit/64] |= 1 << (bit % 64) }

// in tells whether all of s is in t.
func (s set) in(t set) bool { return s[0]&^t[0] == 0 && s[1]&^t[1] == 0 }

// meets tells whether s and t have one in common.
func (s set) meets(t set) bool { return s[0]&t[0] != 0 || s[1]&t[1] != 0 }

func (s set) or(t set) set { return set{s[0] | t[0], s[1] | t[1]} }

func (s set) and(t set) set { return set{s[0] & t[0], s[1] & t[1]} }

// names gives each name of one kind a bit, in order of appearance.
type names map[string]uint8

// add tells whether there was room.
func (n names) add(all []string) bool {
	for _, name := range all {
		if _, ok := n[name]; ok {
			continue
		}
		if len(n) == maxNames {
			return false
		}
		n[name] = uint8(len(n))
	}
	return true
}

// bit is a name's, or that of unknown ones.
func (n names) bit(name string) uint8 {
	if bit, ok := n[name]; ok {
		return bit
	}
	return unknown
}

// set fails closed: a name that nobody has is one that nobody has.
func (n names) set(all []string) set {
	var s set
	for _, name := range all {
		s.add(n.bit(name))
	}
	return s
}

// vocabulary is what a catalog's endpoints may have.
type vocabulary struct{ capabilities, apis, compliance names }

func (v *vocabulary) equal(o *vocabulary) bool {
	return maps.Equal(v.capabilities, o.capabilities) && maps.Equal(v.apis, o.apis) && maps.Equal(v.compliance, o.compliance)
}

// The capabilities that the core itself knows.
const (
	capStream = "stream"
	capTools  = "tools"
	streamBit = 0 // they are named first
	toolsBit  = 1
)

// words reads a vocabulary. Its error names the kind of which there are too many.
func words(c *Catalog, faults *faults) *vocabulary {
	v := &vocabulary{names{}, names{}, names{}}
	v.capabilities.add([]string{capStream, capTools})
	fits := true
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		fits = v.capabilities.add(e.Capabilities) && v.apis.add(e.APIs) && v.compliance.add(e.Compliance) && fits
	}
	if !fits {
		faults.add("endpoints: more than %d different capabilities, apis or compliance tags", maxNames)
	}
	return v
}
