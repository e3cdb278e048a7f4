package simulate

import (
	"cmp"
	"math"
	"slices"
)

// curve is one policy's line, with a name at its end.
type curve struct {
	ink       ink
	name      string
	points    []point // values
	low, high []float64
	note      string
}

// shade is a part of the x axis where something was the matter.
type shade struct {
	from, to float64
	name     string
}

// curves are lines over two axes, named where they end.
type curves struct {
	title          string
	xLabel, yLabel string
	x              func(from, to float64) axis
	y              func(from, to float64) axis
	lines          []curve
	shades         []shade
}

// The page's column, and the place around a picture.
const (
	wide       = 800
	tall       = 380
	marginLeft = 64
	marginTop  = 30
	marginFoot = 40
	labelGap   = 14
	labelWidth = 172
)

func (p curves) svg() string {
	c := newCanvas(p.title, wide, tall)
	right := float64(wide - labelWidth)
	x, y := p.x(marginLeft, right), p.y(tall-marginFoot, marginTop)
	for _, s := range p.shades {
		from, to := x.px(max(s.from, x.low)), x.px(min(s.to, x.high))
		c.rect("shade", point{from, marginTop}, to-from, tall-marginFoot-marginTop)
	}
	x.label, y.label = p.xLabel, p.yLabel
	drawAxes(c, x, y)
	for i, l := range slices.Backward(p.lines) { // the first on top
		p.draw(c, l, p.aside(x, i), y)
	}
	for i, s := range p.shades {
		c.text("m small", leftAt, point{x.px(max(s.from, x.low)) + 4, marginTop - 4 + float64(i%3)*13}, shorten(s.name, 28))
	}
	p.names(c, right, y)
	return c.done()
}

func drawAxes(c *canvas, x, y axis) {
	for _, t := range y.ticks {
		at := y.px(t.at)
		c.line("g", point{x.from, at}, point{x.to, at})
		c.text("m num", rightAt, point{x.from - 8, at + 4}, t.text)
	}
	for _, t := range x.ticks {
		at := x.px(t.at)
		c.line("ax", point{at, y.from}, point{at, y.from + 4})
		c.text("m num", middleAt, point{at, y.from + 17}, t.text)
	}
	c.line("ax", point{x.from, y.from}, point{x.to, y.from})
	c.text("m", leftAt, point{0, 12}, y.label)
	c.text("m", middleAt, point{(x.from + x.to) / 2, y.from + 34}, x.label)
}

// aside moves lines with intervals a little apart, so that these do not cover each other.
func (p curves) aside(x axis, line int) axis {
	if p.lines[line].low != nil {
		by := 3 * (float64(line) - float64(len(p.lines)-1)/2)
		x.from, x.to = x.from+by, x.to+by
	}
	return x
}

func (p curves) draw(c *canvas, l curve, x, y axis) {
	c.group(l.ink, l.note)
	at := make([]point, len(l.points))
	for i, v := range l.points {
		at[i] = point{x.px(v.x), y.px(v.y)}
		if l.low != nil && !math.IsNaN(l.low[i]) {
			c.line("l thin", point{at[i].x, y.px(max(l.low[i], y.low))}, point{at[i].x, y.px(min(l.high[i], y.high))})
		}
		if l.low != nil {
			c.dot("d", at[i], 3)
		}
	}
	c.path("l", at)
	c.end()
}

// names stand beside the ends of the lines.
func (p curves) names(c *canvas, right float64, y axis) {
	type end struct {
		curve
		at point
	}
	var ends []end
	for _, l := range p.lines {
		for _, v := range slices.Backward(l.points) {
			if !math.IsNaN(v.y) && !math.IsInf(v.y, 0) {
				ends = append(ends, end{l, point{right, min(max(y.px(v.y), y.to), y.from)}})
				break
			}
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at.y, b.at.y) })
	ys := make([]float64, len(ends))
	for i, e := range ends {
		ys[i] = e.at.y
	}
	for i, at := range spread(ys, labelGap, marginTop, tall-8) {
		e := ends[i]
		c.group(e.ink, e.note)
		c.line("l thin", point{right + 2, e.at.y}, point{right + 12, at})
		c.text("n", leftAt, point{right + 16, at + 4}, shorten(e.name, 23))
		c.end()
	}
}
