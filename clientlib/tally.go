package clientlib

import (
	"net/http"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// tally is what is known of a stream so far.
type tally struct {
	bytes   int64 // passed on
	content int   // events with content
	finish  string
	usage   Usage
	known   bool // usage is the endpoint's word
}

// count adds an event and gives what the caller gets of it: not the usage that it did
// not ask for.
func (b *liveBody) count(e dialect.Event) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tally
	if e.Generated {
		t.content++
	}
	if e.HasUsage {
		t.usage, t.known = e.Usage, true
	}
	if e.Finish != "" {
		t.finish = e.Finish
	}
	if e.UsageOnly && !b.exchange.chat.Usage {
		return nil
	}
	t.bytes += int64(len(e.Raw))
	return e.Raw
}

// empty says whether no event said anything, not even that it had finished.
func (b *liveBody) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tally.content == 0 && b.tally.finish == ""
}

// outcome is that of a stream that ended in kind.
func (b *liveBody) outcome(kind OutcomeKind) Outcome {
	b.mu.Lock()
	filtered := b.tally.finish == dialect.FilterFinish
	b.mu.Unlock()
	if kind == Served && filtered {
		kind = Filtered
	}
	return b.judged(Outcome{Kind: kind, Status: http.StatusOK})
}

// judged is an outcome with usage: the endpoint's word, else what can be told from
// outside, a token for each event with content.
func (b *liveBody) judged(o Outcome) Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.tally.known:
		o.Usage, o.HasUsage = b.tally.usage, true
	case b.tally.content > 0 && o.Kind != Served:
		o.Usage, o.HasUsage = Usage{Input: b.exchange.chat.Input, Output: int64(b.tally.content)}, true
	}
	return o
}
