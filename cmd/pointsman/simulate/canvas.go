package simulate

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// canvas is an SVG that is being drawn. Its colours are classes, so that the page that it is
// in, or the style within a file of its own, gives them for light and dark.
type canvas struct{ strings.Builder }

func newCanvas(title string, width, height float64) *canvas {
	c := &canvas{}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">`, px(width), px(height), html.EscapeString(title))
	return c
}

// done is the whole of it.
func (c *canvas) done() string { return c.String() + "</svg>" }

// px writes a coordinate: a tenth of a pixel is more than anybody sees.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (c *canvas) line(class string, from, to point) {
	fmt.Fprintf(c, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, px(from.x), px(from.y), px(to.x), px(to.y))
}

func (c *canvas) rect(class string, at point, w, h float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, px(at.x), px(at.y), px(max(w, 0.5)), px(max(h, 0)))
}

func (c *canvas) dot(class string, at point, r float64) {
	fmt.Fprintf(c, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, px(at.x), px(at.y), px(r))
}

// The sides of a text that its place is at.
const (
	leftAt   = "start"
	middleAt = "middle"
	rightAt  = "end"
)

func (c *canvas) text(class, anchor string, at point, text string) {
	fmt.Fprintf(c, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, px(at.x), px(at.y), anchor, html.EscapeString(text))
}

// path draws a line through points; those that are no numbers are gaps.
func (c *canvas) path(class string, points []point) {
	var d strings.Builder
	pen := byte('M')
	for _, p := range points {
		if math.IsNaN(p.x) || math.IsNaN(p.y) || math.IsInf(p.y, 0) {
			pen = 'M'
			continue
		}
		d.WriteByte(pen)
		d.WriteString(px(p.x) + " " + px(p.y))
		pen = 'L'
	}
	if d.Len() > 0 {
		fmt.Fprintf(c, `<path class="%s" d="%s"/>`, class, &d)
	}
}

// group begins what belongs to a policy: the page lets it stand out. title is shown over it.
func (c *canvas) group(k ink, title string) {
	fmt.Fprintf(c, `<g class="p %s" data-p="%d"><title>%s</title>`, k.class, k.number, html.EscapeString(title))
}

func (c *canvas) end() { c.WriteString("</g>") }

type point struct{ x, y float64 }

// ink is how a policy is drawn, the same in every picture.
type ink struct {
	class  string
	number int
}

// textWidth is about how wide a text is, at 12 px.
func textWidth(text string) float64 { return 6.6 * float64(len([]rune(text))) }

// shorten keeps a text within so many letters.
func shorten(text string, most int) string {
	runes := []rune(plain(text))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// spread moves labels apart that would lie over each other, as little as it can; they keep
// their order. ys ascend.
func spread(ys []float64, gap, low, high float64) []float64 {
	out := make([]float64, len(ys))
	for i, y := range ys {
		out[i] = max(y, low)
		if i > 0 {
			out[i] = max(y, out[i-1]+gap)
		}
	}
	for i := len(out) - 1; i >= 0; i-- {
		limit := high
		if i < len(out)-1 {
			limit = out[i+1] - gap
		}
		out[i] = min(out[i], limit)
	}
	return out
}
