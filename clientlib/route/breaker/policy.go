package breaker

// Policy says when a breaker opens and how it closes again. Every field is resolved:
// a zero means zero. Durations are microseconds.
type Policy struct {
	Window       int64   // fast window
	SlowWindow   int64   // slow window; either opens
	MinSamples   int64   // below it a window opens nothing
	Consecutive  int64   // hard failures in a row that open at once; 0: off
	FailureRatio float64 // of a window's samples
	TTFTLimit    int64   // 90 % of admits must be below it + 3κ·input; 0: off
	Cooldown     int64   // doubles on each repeat
	CooldownMax  int64
	Probes       int64 // in flight, over the whole fleet
	Ramp         int64
	MaxEjected   float64 // of a pool's weight, by soft trips
}

// Class is a kind of request that can fail by itself. An attempt counts in all that fit.
type Class uint8

// The classes, Any first.
const (
	Any Class = iota
	Stream
	Tools
	Long // ≥ 32,000 tokens in and out
	Classes
)

// Set is the set of this class alone.
func (c Class) Set() ClassSet { return 1 << c }

func (c Class) String() string {
	switch c {
	case Any:
		return "any"
	case Stream:
		return "stream"
	case Tools:
		return "tools"
	case Long:
		return "long"
	}
	return "unknown"
}

// ClassSet is a set of classes: bit 1<<c for class c.
type ClassSet uint8

// Has tells whether c is in the set.
func (s ClassSet) Has(c Class) bool { return s&c.Set() != 0 }

// Phase is a half of an attempt, or what came of it. Each opens by itself.
type Phase uint8

// The phases.
const (
	Admit   Phase = iota // pick to first token
	Finish               // first token to end
	Quality              // what a validator says of the answer
	phases
	Phases = Quality // those that the fleet judges too
)

func (p Phase) String() string {
	switch p {
	case Admit:
		return "admit"
	case Finish:
		return "finish"
	case Quality:
		return "quality"
	}
	return "unknown"
}
