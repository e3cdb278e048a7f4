package route

// StepKind says what to do. Its values are stable.
type StepKind uint8

// The steps.
const (
	Fail StepKind = iota // Err says why
	Send
	Wait // until Until, then Next again
)

// Step is what Next decided.
type Step struct {
	Kind     StepKind
	Attempt  Attempt   // of Send; end it exactly once, with Settle or Abandon
	Endpoint *Endpoint // of Send; must not be changed
	Limits   Limits
	Probe    bool
	Until    int64 // of Wait, µs
	Err      error // of Fail: *ShedError, *EndError, or wraps ErrUnknownWorkload, ErrUnusable or ErrRequest
}

// Limits bound an attempt: µs from now. None is longer than Total.
type Limits struct {
	Connect    int64
	FirstToken int64 // streamed answers
	Answer     int64 // whole answers
	Stall      int64
	Total      int64
}
