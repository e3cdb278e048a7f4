package traffic

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of what may be asked for.
const (
	ClientsMax = 10_000
	KeysMax    = 1_000_000
	LiveMax    = 1000
	rateMax    = 1e7
	speedMin   = 1e-4
	speedMax   = 1e6
	longest    = 366 * 24 * 3600 * 1_000_000 // µs: a year
)

// faults gathers what is wrong, by setting.
type faults struct{ all []error }

func (f *faults) add(setting, format string, args ...any) {
	f.all = append(f.all, fmt.Errorf("%s: %s", setting, fmt.Sprintf(format, args...)))
}

// between holds a number to its bounds; not a number is outside of all.
func (f *faults) between(setting string, x, low, high float64) {
	if !(x >= low && x <= high) {
		f.add(setting, "%v, want %v to %v", x, low, high)
	}
}

func (f *faults) joined(name string) error {
	if len(f.all) == 0 {
		return nil
	}
	return fmt.Errorf("traffic %q: %w", name, errors.Join(f.all...))
}

// Check names every fault of the settings at once; it reads no file.
func (t *Trace) Check() error {
	var f faults
	if _, ok := formats[t.Format]; !ok {
		f.add("format", "%q, want %s", t.Format, strings.Join(Formats(), " or "))
	}
	if t.File == nil {
		f.add("trace", "no file: name one")
	}
	f.window(&t.Window)
	f.crowd(&t.Crowd)
	f.labels(&t.Labels)
	return f.joined(t.Name)
}

// Check names every fault of the settings at once; it reads no file.
func (g *Generator) Check() error {
	var f faults
	f.between("rate", g.Rate, 1e-9, rateMax)
	if g.CV != 0 {
		f.between("cv", g.CV, 0.01, 100)
	}
	f.period("from", "until", g.From, g.Until)
	f.crowd(&g.Crowd)
	f.labels(&g.Labels)
	if g.Bodies == nil {
		f.bodies(g)
		return f.joined(g.Name)
	}
	if g.Input != (Length{}) || g.Output != (Length{}) || g.Keys != (Keys{}) || g.Sessions != (Sessions{}) {
		f.add("bodies", "a trace has lengths and keys of its own: leave out input, output, keys and sessions")
	}
	if err := g.Bodies.Check(); err != nil {
		f.add("bodies", "%v", err)
	}
	return f.joined(g.Name)
}

func (f *faults) bodies(g *Generator) {
	f.length("input", &g.Input)
	f.length("output", &g.Output)
	f.between("keys.count", float64(g.Keys.Count), 0, KeysMax)
	f.between("keys.tokens", float64(g.Keys.Tokens), 0, LengthMax)
	f.between("keys.zipf", g.Keys.Zipf, 0, 10)
	if g.Sessions.Turns != 0 {
		f.between("sessions.turns", g.Sessions.Turns, 1, 10_000)
	}
	f.between("sessions.live", float64(g.Sessions.Live), 0, LiveMax)
	f.between("sessions.max", float64(g.Sessions.Max), 0, LengthMax)
}

func (f *faults) length(setting string, l *Length) {
	f.between(setting+".median", l.Median, 1, LengthMax)
	f.between(setting+".sigma", l.Sigma, 0, 5)
	f.between(setting+".max", float64(l.Max), 0, LengthMax)
}

func (f *faults) window(w *Window) {
	f.period("from", "until", w.From, w.Until)
	f.between("shift", float64(w.Shift), 0, longest)
	if w.Speed != 0 {
		f.between("speed", w.Speed, speedMin, speedMax)
	}
}

func (f *faults) period(from, until string, a, b int64) {
	f.between(from, float64(a), 0, longest)
	f.between(until, float64(b), 0, longest)
	if b != 0 && b <= a {
		f.add(until, "%v, want it after %s, %v", duration(b), from, duration(a))
	}
}

func (f *faults) crowd(c *Crowd) {
	f.between("clients", float64(c.Clients), 0, ClientsMax)
	f.between("first", float64(c.First), 0, ClientsMax)
	f.between("zipf", c.Zipf, 0, 10)
}

func (f *faults) labels(l *Labels) {
	f.between("max_output", float64(l.MaxOutput), 0, LengthMax)
	f.between("deadline", float64(l.Deadline), 0, longest)
	f.between("cancel", l.Cancel, 0, 1)
	f.between("patience", float64(l.Patience), 0, longest)
}
