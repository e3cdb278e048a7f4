package dialect

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth bounds how deep objects and lists may nest. encoding/json takes 10,000, no
// request or answer of these APIs comes near this.
const maxDepth = 512

// scanner walks over JSON text and builds nothing from it. It takes what encoding/json
// takes, maxDepth excepted. Once the text is found bad it stays so, and all walks end.
type scanner struct {
	b     []byte
	i     int
	depth int
	fresh bool // an object or a list was entered, nothing of it was read
	bad   bool
}

// next is the first byte of what comes; zero: nothing does.
func (s *scanner) next() byte {
	if s.i < len(s.b) && s.b[s.i] > ' ' && !s.bad {
		return s.b[s.i]
	}
	return s.space()
}

func (s *scanner) space() byte {
	for s.i < len(s.b) && !s.bad {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// end says whether all was good and nothing is left.
func (s *scanner) end() bool { return s.next() == 0 && s.i == len(s.b) && !s.bad }

// object enters an object, list a list. What is none stays to be read.
func (s *scanner) object() bool { return s.enter('{') }
func (s *scanner) list() bool   { return s.enter('[') }

func (s *scanner) enter(open byte) bool {
	if s.next() != open {
		return false
	}
	s.i++
	s.depth++
	s.fresh, s.bad = true, s.depth > maxDepth
	return !s.bad
}

// member is the name of the object's next member, whose value has to be read then; false:
// it was the last.
func (s *scanner) member() (name []byte, more bool) {
	if !s.more('}') {
		return nil, false
	}
	name, escaped := s.text()
	if s.next() != ':' {
		s.bad = true
		return nil, false
	}
	s.i++
	if escaped {
		name = appendText(nil, name) // hardly anybody writes them so
	}
	return name, true
}

// element says whether the list has another value, which has to be read then.
func (s *scanner) element() bool { return s.more(']') }

func (s *scanner) more(end byte) bool {
	c, fresh := s.next(), s.fresh
	s.fresh = false
	switch {
	case s.bad:
		return false
	case c == end:
		s.i++
		s.depth--
		return false
	case fresh:
		return true
	case c != ',':
		s.bad = true
		return false
	}
	s.i++
	return true
}

// members reads any value, and gives the names of an object's members. Each value has to
// be read where its name is given.
func (s *scanner) members(yield func(name []byte) bool) {
	if !s.object() {
		s.skip()
		return
	}
	for name, more := s.member(); more && yield(name); {
		name, more = s.member()
	}
}

// elements reads any value, and calls for each of a list's to be read.
func (s *scanner) elements(yield func() bool) {
	if !s.list() {
		s.skip()
		return
	}
	for s.element() && yield() {
	}
}

// skip reads any value and gives it as it is written; nil: it is bad.
func (s *scanner) skip() []byte {
	c := s.next()
	from := s.i
	switch c {
	case '{':
		for more := s.object(); more; {
			if _, more = s.member(); more {
				s.skip()
			}
		}
	case '[':
		for more := s.list(); more; {
			if more = s.element(); more {
				s.skip()
			}
		}
	case '"':
		s.text()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
	if s.bad {
		return nil
	}
	return s.b[from:s.i]
}

// span is where a value stands; zero: there is none.
type span struct{ from, to int }

func (s *scanner) span() span {
	s.next()
	from := s.i
	s.skip()
	return span{from, s.i}
}

// word reads any value and gives a string's text; nil: it is none.
func (s *scanner) word() []byte {
	if s.next() != '"' {
		s.skip()
		return nil
	}
	text, escaped := s.text()
	if escaped {
		return appendText(nil, text)
	}
	return text
}

// kind reads any value and gives the word that an object has under type.
func (s *scanner) kind() (kind []byte) {
	for name := range s.members {
		if string(name) == "type" {
			kind = s.word()
		} else {
			s.skip()
		}
	}
	return kind
}

// text reads a string and gives what stands between its quotes.
func (s *scanner) text() (raw []byte, escaped bool) {
	if s.next() != '"' {
		s.bad = true
		return nil, false
	}
	s.i++
	from := s.i
	for s.i += plain(s.b[s.i:]); s.i < len(s.b); s.i += plain(s.b[s.i:]) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[from : s.i-1], escaped
		case c != '\\' || !s.escape():
			s.bad = true
			return nil, false
		}
		escaped = true
	}
	s.bad = true
	return nil, false
}

// plain counts the bytes before the next that ends, escapes or spoils a string, eight at
// a time while it can.
func plain(b []byte) (n int) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, slash := x^ones*'"', x^ones*'\\'
		odd := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
	}
	for ; n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\'; n++ {
	}
	return n
}

// escape reads one, from its backslash.
func (s *scanner) escape() bool {
	if s.i+1 >= len(s.b) {
		return false
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return true
	case 'u':
		if _, ok := hex4(s.b[s.i+2:]); ok {
			s.i += 6
			return true
		}
	}
	return false
}

func (s *scanner) literal(text string) {
	if len(s.b)-s.i < len(text) || string(s.b[s.i:s.i+len(text)]) != text {
		s.bad = true
		return
	}
	s.i += len(text)
}

func (s *scanner) number() {
	s.take('-')
	good := s.take('0') || s.digits()
	if s.take('.') {
		good = s.digits() && good
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		good = s.digits() && good
	}
	s.bad = s.bad || !good
}

func (s *scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > from
}

// take reads a byte, if it comes.
func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}
