package dialect

import (
	"errors"
	"fmt"
)

// survey is one pass over a request. Of two equal members the last counts, as it does
// for endpoints.
type survey struct {
	scanner
	q       *Ask
	empty   bool
	brace   int // where the object ends
	model   span
	stream  span
	options span // of a stream
	limits  [2]span
	form    need // of the answer
	sound   need
	lead    weight // instructions: before the prompt
	prompt  weight
	tools   [2]weight
}

func (p *survey) of(at span) []byte { return p.b[at.from:at.to] }

func (p *survey) read() bool {
	if p.next() != '{' {
		return false
	}
	p.empty = true
	for name := range p.members {
		p.empty = false
		switch string(name) {
		case "model": // each is replaced: endpoints differ in which of two they take
			p.model = p.span()
			p.q.edits = append(p.q.edits, edit{from: p.model.from, to: p.model.to, model: true})
		case "stream":
			p.stream = p.span()
		default:
			p.special(name)
		}
	}
	p.brace = p.i - 1
	return p.end()
}

// special reads a member that not all APIs have.
func (p *survey) special(name []byte) {
	switch p.q.API {
	case ChatCompletions:
		p.chat(name)
	case Responses:
		p.responses(name)
	case Embeddings:
		p.embeddings(name)
	case Messages:
		p.messages(name)
	default:
		p.skip()
	}
}

// limitNames are where a request bounds its output. The second, newer one wins.
var limitNames = [apis][2]string{
	ChatCompletions: {"max_tokens", "max_completion_tokens"},
	Responses:       {"max_output_tokens"},
	Messages:        {"max_tokens"},
}

func (p *survey) judge() error {
	return errors.Join(
		p.want(p.model, `"`, "model: want a string"),
		p.want(p.stream, "tf", "stream: want true or false"),
		p.judgeLimit(0),
		p.judgeLimit(1),
		p.want(p.options, "{", "stream_options: want an object"),
	)
}

// want gives a fault of a value that is there and begins with none of these bytes.
func (p *survey) want(at span, first, fault string) error {
	raw := p.of(at)
	if null(raw) {
		return nil
	}
	for i := range len(first) {
		if raw[0] == first[i] {
			return nil
		}
	}
	return errors.New(fault)
}

func (p *survey) judgeLimit(i int) error {
	raw := p.of(p.limits[i])
	n, whole := readWhole(raw)
	switch {
	case null(raw):
		return nil
	case !whole:
		return fmt.Errorf("%s: want a whole number", limitNames[p.q.API][i])
	case n < 0:
		return fmt.Errorf("%s: want 0 or more, got %d", limitNames[p.q.API][i], n)
	}
	return nil
}

// fill says what a good request asks, and what of it Body changes.
func (p *survey) fill() {
	q := p.q
	q.Stream = string(p.of(p.stream)) == "true"
	q.Model, _ = readText(p.of(p.model))
	for _, at := range p.limits {
		if n, given := readWhole(p.of(at)); given {
			q.MaxOutput = n
		}
	}
	p.weigh()
	if p.model == (span{}) {
		q.edits = append(q.edits, added(p.brace, p.empty, `"model":`))
		q.edits[0].model = true
	}
	if q.API == ChatCompletions {
		p.demandUsage()
	}
}

func (p *survey) weigh() {
	q, needs := p.q, p.form|p.sound
	if p.q.Stream {
		needs |= needStream
	}
	for _, w := range [...]weight{p.lead, p.prompt, p.tools[0], p.tools[1]} {
		q.Text += int64(len(w.raw) - w.cut)
		q.Media += w.tokens
		needs |= w.needs
	}
	q.Needs = needLists[needs]
	q.begins = [2][]byte{p.lead.raw, p.prompt.raw}
}

// added is a member put at the end of an object.
func added(end int, empty bool, member string) edit {
	if !empty {
		member = "," + member
	}
	return edit{from: end, to: end, text: member}
}
