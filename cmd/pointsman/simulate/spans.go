package simulate

import (
	"fmt"
	"html"
	"slices"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// breakers are the states of a run's breakers, a line for each endpoint that had another than
// closed, with the faults behind them.
type breakers struct {
	title    string
	turns    []measure.Turn
	faults   []measure.Fault
	duration int64
}

const (
	spanHeight = 20
	spanNames  = 150
	mostSpans  = 24
)

func escaped(text string) string { return html.EscapeString(plain(text)) }

// endpoints are those with a fault or a turn, in order of names; at most mostSpans.
func (p breakers) endpoints() (names []string, more int) {
	for _, t := range p.turns {
		names = append(names, t.Endpoint)
	}
	for _, f := range p.faults {
		names = append(names, f.Endpoints...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	more = max(len(names)-mostSpans, 0)
	return names[:len(names)-more], more
}

func (p breakers) svg() string {
	names, more := p.endpoints()
	foot := 8 + spanHeight*float64(len(names))
	c := newCanvas(p.title, wide, foot+marginFoot)
	x := timeAxis(p.duration, spanNames, wide-8)
	for i, name := range names {
		p.draw(c, x, name, 8+spanHeight*float64(i))
	}
	for _, t := range x.ticks {
		at := x.px(t.at)
		c.line("ax", point{at, foot}, point{at, foot + 4})
		c.text("m num", middleAt, point{at, foot + 17}, t.text)
	}
	c.line("ax", point{x.from, foot}, point{x.to, foot})
	if more > 0 {
		c.text("m", rightAt, point{wide - 8, foot + 34}, fmt.Sprintf("and %d endpoints more", more))
	}
	return c.done()
}

// draw is one endpoint's line.
func (p breakers) draw(c *canvas, x axis, name string, top float64) {
	c.text("t", rightAt, point{spanNames - 10, top + 14}, shorten(name, 20))
	c.line("g", point{x.from, top + spanHeight/2}, point{x.to, top + spanHeight/2})
	for _, f := range p.faults {
		if slices.Contains(f.Endpoints, name) {
			from, to := x.px(min(float64(f.From), x.high)), x.px(min(float64(f.To), x.high))
			c.rect("shade", point{from, top}, to-from, spanHeight)
		}
	}
	state, since := "closed", 0.0
	end := func(at float64) {
		if class, ok := stateClass[state]; ok && at > since {
			left := x.px(min(since, x.high))
			fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="10"><title>%s</title></rect>`,
				class, px(left), px(top+5), px(max(x.px(min(at, x.high))-left, 1.5)), state)
		}
	}
	for _, t := range p.turns {
		switch {
		case t.Endpoint != name:
		case t.Client >= 0: // a client's own
			if t.Kind == "opened" {
				at := x.px(min(float64(t.At), x.high))
				c.line("own", point{at, top + 2}, point{at, top + spanHeight - 2})
			}
		default:
			end(float64(t.At))
			state, since = t.Kind, float64(t.At)
		}
	}
	end(x.high)
}

var stateClass = map[string]string{"opened": "s-open", "half_opened": "s-half", "ramping": "s-ramp"}
