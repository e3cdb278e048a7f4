package dialect

// embeddings reads a member of a request for embeddings. Nothing of it is cached by how
// it begins.
func (p *survey) embeddings(name []byte) {
	if string(name) != "input" {
		p.skip()
		return
	}
	p.prompt = p.tokenized()
}

// tokenized reads texts, or lists of tokens.
func (s *scanner) tokenized() (w weight) {
	first := s.next()
	from, token := s.i, false
	for range s.elements {
		c := s.next()
		token = c >= '0' && c <= '9'
		w.hold(s.tokenized())
	}
	if token { // no byte of such a list is text
		w.cut = s.i - from
	}
	if first >= '0' && first <= '9' {
		w.tokens = 1
	}
	return w.of(s.b[from:s.i])
}

// embedding reads a member of an answer with embeddings.
func (a *saying) embedding(name []byte) {
	switch string(name) {
	case "object":
		a.flat()
	case "data":
		a.whole = filled(a.skip())
		a.ended(Stopped)
	default:
		a.skip()
	}
}
