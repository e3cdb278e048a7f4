package simulate

import (
	"math"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// row is one policy's line of a picture of rows: one dot with its interval, or several.
type row struct {
	ink       ink
	name      string
	dots      []float64
	low, high float64 // NaN: none
	text      string  // to the right
}

// rows are figures of policies below each other, on one axis.
type rows struct {
	title, label string
	unit         measure.Unit
	even         bool // the axis is not logarithmic
	lines        []row
	marks        []tick // limits, drawn across
}

const (
	rowHeight = 24
	mostName  = 25
	rowTexts  = 170
)

func (p rows) svg() string {
	foot := marginTop + rowHeight*float64(len(p.lines))
	c := newCanvas(p.title, wide, foot+marginFoot)
	x := p.axis()
	for _, t := range x.ticks {
		at := x.px(t.at)
		c.line("g", point{at, marginTop}, point{at, foot})
		c.text("m num", middleAt, point{at, foot + 17}, t.text)
	}
	c.text("m", middleAt, point{(x.from + x.to) / 2, foot + 34}, p.label)
	for i, m := range p.marks {
		at := x.px(m.at)
		c.line("mark", point{at, marginTop - 4}, point{at, foot})
		anchor := []string{rightAt, leftAt}[i%2]
		c.text("m small", anchor, point{at + []float64{-4, 4}[i%2], marginTop - 10}, m.text)
	}
	for i, l := range p.lines {
		p.draw(c, l, x, marginTop+rowHeight*(float64(i)+0.5))
	}
	return c.done()
}

// names is where the names end.
func (p rows) names() (most float64) {
	for _, l := range p.lines {
		most = max(most, textWidth(shorten(l.name, mostName)))
	}
	return most + 20
}

func (p rows) axis() axis {
	var values []float64
	for _, l := range p.lines {
		values = append(values, l.dots...)
		values = append(values, l.low, l.high)
	}
	for _, m := range p.marks {
		values = append(values, m.at)
	}
	if p.even {
		return evenAxis(values, p.unit, p.names(), wide-rowTexts)
	}
	return sparse(logAxis(values, p.unit, p.names(), wide-rowTexts))
}

// sparse leaves out ticks whose texts would touch.
func sparse(a axis) axis {
	var kept []tick
	end := math.Inf(-1)
	for _, t := range a.ticks {
		at, half := a.px(t.at), textWidth(t.text)/2+5
		if at-half > end {
			kept, end = append(kept, t), at+half
		}
	}
	a.ticks = kept
	return a
}

func (p rows) draw(c *canvas, l row, x axis, at float64) {
	c.group(l.ink, l.name+": "+l.text)
	c.rect("hit", point{0, at - rowHeight/2}, wide, rowHeight)
	c.text("n", rightAt, point{x.from - 14, at + 4}, shorten(l.name, mostName))
	if !math.IsNaN(l.low) && !math.IsNaN(l.high) && len(l.dots) > 0 {
		c.line("l", point{x.px(max(l.low, x.low)), at}, point{x.px(min(l.high, x.high)), at})
	}
	for _, v := range l.dots {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			c.dot("d", point{x.px(v), at}, 4.5)
		}
	}
	c.text("t num", rightAt, point{wide - 4, at + 4}, l.text)
	c.end()
}
