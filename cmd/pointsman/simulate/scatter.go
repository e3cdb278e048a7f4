package simulate

import "math"

// spot is a policy at two figures.
type spot struct {
	ink  ink
	name string
	at   point // values
	note string
}

// scatter are policies at two figures each, with their names beside them.
type scatter struct {
	title          string
	xLabel, yLabel string
	x, y           func(from, to float64) axis
	spots          []spot
}

func (p scatter) svg() string {
	c := newCanvas(p.title, wide, tall)
	x, y := p.x(marginLeft, wide-labelWidth), p.y(tall-marginFoot, marginTop)
	x.label, y.label = p.xLabel, p.yLabel
	drawAxes(c, sparse(x), y)
	taken := make([]box, 0, 2*len(p.spots))
	at := make([]point, len(p.spots))
	for i, s := range p.spots {
		at[i] = point{x.px(s.at.x), y.px(s.at.y)}
		taken = append(taken, box{at[i].x - 5, at[i].y - 5, at[i].x + 5, at[i].y + 5})
	}
	for i, s := range p.spots {
		if math.IsNaN(at[i].x) || math.IsNaN(at[i].y) || math.IsInf(at[i].y, 0) {
			continue
		}
		name := shorten(s.name, 23)
		place, own := free(at[i], textWidth(name), taken)
		taken = append(taken, own)
		c.group(s.ink, s.note)
		c.dot("d", at[i], 5)
		if math.Abs(place.y-4-at[i].y) > 12 {
			c.line("l thin", point{at[i].x, at[i].y}, point{place.x, place.y - 4})
		}
		c.text("n", leftAt, place, name)
		c.end()
	}
	return c.done()
}

type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// free is where a name fits beside a dot: right or left of it, else above or below those.
func free(at point, width float64, taken []box) (place point, own box) {
	for step := 0; ; step++ {
		away := float64((step+1)/2) * labelGap * float64(1-2*(step%2))
		for _, left := range []float64{at.x + 9, at.x - 9 - width} {
			own = box{left, at.y + away - 7, left + width, at.y + away + 7}
			if step > 80 || left >= 0 && left+width <= wide && own.top > 0 && own.bottom < tall-marginFoot && !hits(own, taken) {
				return point{left, at.y + away + 4}, own
			}
		}
	}
}

func hits(b box, taken []box) bool {
	for _, t := range taken {
		if b.meets(t) {
			return true
		}
	}
	return false
}
