package scenario

import (
	"io"
	"time"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// trace reads traffic that was recorded. Its rate is its own, unless load, rate or speed scales
// it in time.
func (r *reader) trace(b *catalog.Block, labels traffic.Labels, crowd traffic.Crowd) source {
	t := r.file(b, "trace")
	t.Labels, t.Crowd, t.Window.Speed = labels, crowd, 1
	b.Flag("sticky", &t.Sticky)
	b.Duration("shift", 0, maxDuration, &t.Window.Shift)
	b.Flag("loop", &t.Window.Loop)
	scale, fast := scaleOf{}, b.Number("speed", 0.0001, 10_000, &t.Window.Speed)
	ok := true
	if b.Has("load") || b.Has("rate") {
		scale, ok = scaling(b)
	}
	if fast && scale != (scaleOf{}) {
		b.Wrong("speed", "one of load, rate and speed scales a trace", "is given beside another scale")
	}
	if !ok || t.Format == "" {
		return nil
	}
	stats, ok := r.stats(b, t)
	if !ok {
		return nil
	}
	if rate, scaled := r.rate(b, scale, labels.Workload, stats); scaled && stats.Rate() > 0 {
		t.Window.Speed = rate / stats.Rate()
	}
	r.set.Rates[b.Name()] = stats.Rate() * t.Window.Speed
	if !r.right(b, t) {
		return nil
	}
	return t
}

// bodies is a trace that only lengths and prompts are taken from.
func (r *reader) bodies(b *catalog.Block) *traffic.Trace {
	for _, name := range []string{"input", "output"} {
		if b.One(name) != nil {
			b.Fail("take the one or the other", "both bodies and %s", name)
		}
	}
	return r.file(b, "bodies")
}

// file reads which part of which file is meant.
func (r *reader) file(b *catalog.Block, name string) *traffic.Trace {
	t := &traffic.Trace{Name: b.Name()}
	b.Need("format")
	b.Text(name, &t.Path)
	b.Choice("format", traffic.Formats(), &t.Format)
	t.Path = r.place(t.Path)
	t.File = func() (io.ReadCloser, error) { return r.open(t.Path) }
	if w := b.One("window"); w != nil {
		w.Duration("from", 0, maxDuration, &t.Window.From)
		w.Duration("until", time.Microsecond, maxDuration, &t.Window.Until)
		w.Close()
	}
	b.Duration("tick", 0, time.Hour, &t.Tick)
	if b.Has("tick") && t.Tick == 0 { // zero is a value here: do not spread
		t.Tick = -1
	}
	return t
}
