package dialect

import (
	"bytes"
	"slices"
)

// tokensPerMedium is what an image, a sound, a film or a file counts for: its bytes say
// nothing about its tokens.
const tokensPerMedium = 1000

// need is a set of capabilities.
type need uint8

// The capabilities that a request can need, sorted by their names.
const (
	needAudio need = 1 << iota
	needSchema
	needStream
	needTools
	needVideo
	needVision
	allNeeds
)

var needNames = [...]string{"audio", "json_schema", "stream", "tools", "video", "vision"}

// needLists has the names of every set.
var needLists = func() (lists [allNeeds][]string) {
	for set := range lists {
		for i, name := range needNames {
			if set>>i&1 == 1 {
				lists[set] = slices.Clip(append(lists[set], name))
			}
		}
	}
	return lists
}()

// weight is how much a part of a request is.
type weight struct {
	raw    []byte // as it is written; nil: null
	cut    int    // bytes of it that are no text
	tokens int64  // of what is no text
	needs  need
}

// weight reads a value of a prompt: a text, a message, a piece of one, or a list of those.
func (s *scanner) weight() (w weight) {
	first := s.next()
	from := s.i
	switch first {
	case '[':
		for range s.elements {
			w.hold(s.weight())
		}
	case '{':
		w = s.piece()
	default:
		s.skip()
	}
	return w.of(s.b[from:s.i])
}

// piece reads an object of a prompt. If it is a medium, none of its bytes is text.
func (s *scanner) piece() (w weight) {
	var content weight
	var needs need
	medium, plain, from := false, false, s.i
	for name := range s.members {
		switch string(name) {
		case "type":
			medium, needs = mediumOf(s.word())
		case "content", "output": // the output of a tool
			content = s.weight()
		case "source": // of a document
			kind := s.kind()
			plain = string(kind) == "text" || string(kind) == "content"
		default:
			s.skip()
		}
	}
	if medium && !plain {
		return weight{cut: s.i - from, tokens: tokensPerMedium, needs: needs}
	}
	w.hold(content)
	return w
}

// hold counts what a value has in it.
func (w *weight) hold(part weight) {
	w.cut += part.cut
	w.tokens += part.tokens
	w.needs |= part.needs
}

func (w weight) of(raw []byte) weight {
	if w.raw = raw; null(raw) {
		w.raw = nil
	}
	return w
}

// mediumOf says whether a piece of that kind is a medium, and what it needs. No capability
// stands for files.
func mediumOf(kind []byte) (medium bool, needs need) {
	switch {
	case bytes.Contains(kind, []byte("image")), bytes.Contains(kind, []byte("screenshot")):
		return true, needVision
	case bytes.Contains(kind, []byte("audio")):
		return true, needAudio
	case bytes.Contains(kind, []byte("video")):
		return true, needVideo
	}
	switch string(kind) {
	case "file", "input_file", "document":
		return true, 0
	}
	return false, 0
}

// tooling reads the tools that a request offers.
func (s *scanner) tooling() (w weight) {
	raw := s.skip()
	if filled(raw) {
		w.needs = needTools
	}
	return w.of(raw)
}

// formNeed is what an answer of that form needs.
func formNeed(kind []byte) need {
	if bytes.HasPrefix(kind, []byte("json")) {
		return needSchema
	}
	return 0
}

// formKind reads any value and gives the kind of the form that an object has under format.
func (s *scanner) formKind() (kind []byte) {
	for name := range s.members {
		if string(name) == "format" {
			kind = s.kind()
		} else {
			s.skip()
		}
	}
	return kind
}
