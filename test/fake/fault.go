package fake

import (
	"cmp"
	"fmt"
	"time"
)

// Kind is a way to be broken.
type Kind uint8

const (
	Healthy   Kind = iota
	Fail           // 500 at once
	Slow           // all comes late: the time to the first token × Factor, and Delay later
	Hang           // accepts, and never answers
	Throttle       // 429 with Retry-After: Delay
	Cut            // the answer breaks off after Tokens
	Reset          // the connection is reset before a byte is answered
	Overload       // 503, with Retry-After if there is a Delay
	Limit          // 429 that does not say for how long
	Late           // a stream begins at once, its first token comes Delay later
	Stall          // after Tokens nothing comes for Delay
	Malformed      // after Tokens an event that is broken; a whole answer is half of one
	Unended        // a stream ends cleanly without its end mark: after Tokens, or in place of the mark
	TooLong        // the request is above the context window
	Filter         // a content filter refuses the request, or ends the answer after Tokens
	Refuse         // 400
)

var kindNames = [...]string{"healthy", "fail", "slow", "hang", "throttle", "cut", "reset", "overload", "limit", "late", "stall",
	"malformed", "unended", "toolong", "filter", "refuse"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

const (
	defaultFactor = 10
	defaultRetry  = 5 * time.Second
	defaultTokens = 4
	defaultPause  = 30 * time.Second
)

// Fault is active for requests that arrive from From until To, counted from the start of the endpoint's timeline.
type Fault struct {
	Kind     Kind
	From, To time.Duration // To 0: no end
	Times    int           // so many requests meet it; 0: all
	Factor   float64       // Slow; 0 with Delay 0: 10
	Delay    time.Duration // Slow; Throttle's and Overload's Retry-After, 0: 5 s and none; Late and Stall, 0: 30 s
	Tokens   int           // Cut, Stall, Malformed, 0: 4; Unended, Filter
}

// Flapping is a fault that is there for a time and gone for as long, from the start of the timeline to its end.
func Flapping(f Fault, every, end time.Duration) []Fault {
	var all []Fault
	for f.From = 0; f.From < end; f.From += 2 * every {
		f.To = min(f.From+every, end)
		all = append(all, f)
	}
	return all
}

// Active says whether a request meets the fault that arrives so long after the timeline's start.
func (f Fault) Active(since time.Duration) bool {
	return since >= f.From && (f.To == 0 || since < f.To)
}

func (f Fault) check() error {
	switch {
	case f.Kind == Healthy || int(f.Kind) >= len(kindNames):
		return fmt.Errorf("fault %s: no such kind", f.Kind)
	case f.From < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("fault %s: from %v to %v is no time", f.Kind, f.From, f.To)
	case f.Factor < 0 || f.Delay < 0 || f.Tokens < 0 || f.Times < 0:
		return fmt.Errorf("fault %s: negative factor %v, delay %v, tokens %d or times %d", f.Kind, f.Factor, f.Delay, f.Tokens, f.Times)
	}
	return nil
}

// late is the time to a first token that would have taken d.
func (f Fault) late(d time.Duration) time.Duration {
	switch {
	case f.Kind != Slow:
		return d
	case f.Factor == 0 && f.Delay == 0:
		return d * defaultFactor
	case f.Factor == 0:
		return d + f.Delay
	}
	return time.Duration(float64(d)*f.Factor) + f.Delay
}

// pause is for how long nothing comes in the midst of an answer.
func (f Fault) pause() time.Duration {
	if f.Kind == Late || f.Kind == Stall {
		return cmp.Or(f.Delay, defaultPause)
	}
	return 0
}

// breaks is after how many of an answer's tokens the fault acts; -1: it does not.
func (f Fault) breaks(output int64) int64 {
	switch f.Kind {
	case Late:
		return 0
	case Cut, Stall, Malformed:
		return min(output, int64(cmp.Or(f.Tokens, defaultTokens)))
	case Unended:
		if f.Tokens > 0 {
			return min(output, int64(f.Tokens))
		}
	}
	return -1
}
