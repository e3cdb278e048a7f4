package dialect

import (
	"cmp"
	"errors"
	"slices"
)

// maxPrefix bounds what tells prompts apart by how they begin.
const maxPrefix = 4 << 10

// Ask is a request as far as routing has to know it.
type Ask struct {
	API       API
	Model     string   // empty: not given
	Stream    bool     // the answer is wanted as a stream
	Usage     bool     // and with it the usage event that chat completions have on demand
	Needs     []string // capabilities, sorted; shared by all requests, not to be changed
	Text      int64    // bytes of the prompt, tools included, without its media
	Media     int64    // tokens of what is no text: guessed of images and the like, counted of what came as tokens
	MaxOutput int64    // tokens; 0: not given

	body   []byte
	begins [2][]byte // the prompt, in two parts
	edits  []edit    // by place
	room   [2]edit
}

// edit is what Body changes: text stands where from to to was, and the model's name
// behind it.
type edit struct {
	from, to int
	text     string
	model    bool
	usage    bool // a stream's, asked for
}

var (
	errNoObject = errors.New("the body is not a JSON object")
	errNoModel  = errors.New("bug: no model to ask for")
)

// Parse reads a request. It judges only what routing needs; the endpoint judges the rest.
// All faults come in one error. The body is kept, not copied: it must not change.
func Parse(api API, body []byte) (*Ask, error) {
	q := &Ask{API: api, body: body}
	if api == PlainHTTP {
		return q, nil
	}
	q.edits = q.room[:0]
	p := survey{scanner: scanner{b: body}, q: q}
	if !p.read() {
		return nil, errNoObject
	}
	if err := p.judge(); err != nil {
		return nil, err
	}
	p.fill()
	slices.SortStableFunc(q.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	return q, nil
}

// Raw is the request as the caller wrote it; not to be changed.
func (q *Ask) Raw() []byte { return q.body }

// Prefix is how the prompt begins, as it was written; at most 4 KiB.
func (q *Ask) Prefix() string {
	first := q.begins[0][:min(len(q.begins[0]), maxPrefix)]
	then := q.begins[1][:min(len(q.begins[1]), maxPrefix-len(first))]
	return string(first) + string(then)
}

// Body is the request to send: for a model as its provider calls it, and, where a stream
// tells its usage on demand only, with that demand (see Dialect.Demands). The rest is as
// the caller wrote it.
func (q *Ask) Body(model string, demand bool) ([]byte, error) {
	if q.API == PlainHTTP {
		return q.body, nil
	}
	if model == "" {
		return nil, errNoModel
	}
	size := len(q.body)
	for _, e := range q.edits {
		size += len(e.text) + len(model) + len(`""`)
	}
	b, at := make([]byte, 0, size), 0
	for _, e := range q.edits {
		if e.usage && !demand {
			continue
		}
		b = append(b, q.body[at:e.from]...)
		b = append(b, e.text...)
		if e.model {
			b = appendQuoted(b, model)
		}
		at = e.to
	}
	return append(b, q.body[at:]...), nil
}
