package dialect

import (
	"net/http"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// Finish says why an answer ended.
type Finish uint8

// The reasons.
const (
	Unfinished Finish = iota
	Stopped
	Truncated  // by the most tokens allowed
	CalledTool // it waits for a tool
	Blocked    // by a content filter
	Overflowed // the context window was full, after output
	Other
	finishes
)

var finishNames = [finishes]string{"unfinished", "stopped", "truncated", "called_tool", "blocked", "overflowed", "other"}

func (f Finish) String() string {
	if f < finishes {
		return finishNames[f]
	}
	return "unknown"
}

// Outcome is that of a good answer that ended so.
func (f Finish) Outcome() route.Outcome {
	o := route.Outcome{Kind: route.Served, Status: http.StatusOK}
	switch f {
	case Blocked:
		o.Kind, o.Detail = route.Filtered, "content_filter"
	case Overflowed:
		o.Kind, o.Detail = route.TooLong, "context_window"
	case Truncated:
		o.Detail = "truncated"
	}
	return o
}

// Judged is what a whole answer was.
type Judged struct {
	Outcome route.Outcome
	ID      string // the answer's own; empty: none
	Finish  Finish
}

// Answer judges a whole answer, one that is not streamed. wall is the wall clock.
func (d *Dialect) Answer(api API, status int, h http.Header, body []byte, wall time.Time) Judged {
	if status < 200 || status > 299 {
		return Judged{Outcome: d.Failure(status, h, body, wall)}
	}
	if api == PlainHTTP {
		return Judged{Outcome: route.Outcome{Kind: route.Served, Status: status}, Finish: Stopped}
	}
	a := saying{scanner: scanner{b: body}, api: api}
	switch {
	case !a.read():
		return Judged{Outcome: route.Outcome{Kind: route.Faulted, Status: status, Detail: "not a JSON object"}}
	case a.fault != nil:
		return Judged{Outcome: d.inBody(a.fault), ID: a.id()}
	case !a.whole:
		return Judged{Outcome: route.Outcome{Kind: route.Faulted, Status: status, Detail: missing[api]}, ID: a.id()}
	}
	j := Judged{Outcome: a.finish.Outcome(), ID: a.id(), Finish: a.finish}
	j.Outcome.Status = status
	if a.usage.told {
		j.Outcome.Usage, j.Outcome.HasUsage = a.usage.money(api), true
	}
	return j
}

// missing says what an answer lacks that is none.
var missing = [apis]string{ChatCompletions: "no choices", Responses: "no output", Embeddings: "no data", Messages: "no content"}
