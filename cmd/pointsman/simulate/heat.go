package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// shares are how one policy shared its attempts over endpoints as time went on. Few endpoints
// are bands above each other; many are lines, the darker the more they had.
type shares struct {
	title     string
	endpoints []string
	parts     [][]float64 // by bin, by endpoint: of the attempts in that bin
	duration  int64
	faults    []measure.Fault
}

const (
	halfWide  = 396
	fewest    = 6 // so many endpoints are still bands
	mostLines = 48
	levels    = 8
	heatTall  = 190
	heatLeft  = 84
)

func (p shares) svg() string {
	c := newCanvas(p.title, halfWide, heatTall+marginFoot)
	x := timeAxis(p.duration, heatLeft, halfWide-8)
	if len(p.endpoints) <= fewest {
		p.bands(c, x)
	} else {
		p.lines(c, x)
	}
	for _, t := range sparse(x).ticks {
		at := x.px(t.at)
		c.line("ax", point{at, heatTall}, point{at, heatTall + 4})
		c.text("m num", middleAt, point{at, heatTall + 17}, t.text)
	}
	c.line("ax", point{x.from, heatTall}, point{x.to, heatTall})
	return c.done()
}

const heatTop = 8

// bands stack the shares; the name of each stands at its first.
func (p shares) bands(c *canvas, x axis) {
	base := make([]float64, len(p.parts))
	named := float64(heatTall) + labelGap
	for e, name := range p.endpoints {
		var d strings.Builder
		var back []string
		first := base[0]
		for b, parts := range p.parts {
			from, to := x.px(p.begins(b)), x.px(p.begins(b+1))
			low := bandY(base[b])
			base[b] += parts[e]
			high := bandY(base[b])
			fmt.Fprintf(&d, "%s%s %sL%s %s", map[bool]string{true: "M", false: "L"}[b == 0], px(from), px(high), px(to), px(high))
			back = append(back, fmt.Sprintf("L%s %sL%s %s", px(to), px(low), px(from), px(low)))
		}
		slices.Reverse(back)
		fmt.Fprintf(c, `<path class="b k%d" d="%s%sz"><title>%s</title></path>`, e, &d, strings.Join(back, ""), escaped(name))
		if base[0]-first > 0.04 {
			named = min(named-labelGap, bandY((base[0]+first)/2)+4)
			c.text("n k"+fmt.Sprint(e), rightAt, point{x.from - 6, max(named, 10)}, shorten(name, 11))
		}
	}
	for _, f := range p.faults {
		outline(c, x, f, [2]float64{heatTop, heatTall})
	}
}

func bandY(part float64) float64 { return heatTall - part*(heatTall-heatTop) }

func (p shares) begins(bin int) float64 {
	return float64(bin) / float64(max(len(p.parts), 1)) * float64(p.duration)
}

// lines have one path of each shade: that is a tenth of the bytes of as many squares.
func (p shares) lines(c *canvas, x axis) {
	group := (len(p.endpoints) + mostLines - 1) / mostLines
	count := (len(p.endpoints) + group - 1) / group
	height := float64(heatTall-heatTop) / float64(count)
	paths := make([]strings.Builder, levels+1)
	most := p.most(group)
	for line := range count {
		y, level, from := heatTop+height*float64(line), 0, 0
		for b := 0; b <= len(p.parts); b++ {
			next := 0
			if b < len(p.parts) {
				next = min(int(math.Ceil(p.of(b, line, group)/most*levels)), levels)
			}
			if b > 0 && (next != level || b == len(p.parts)) {
				left, width := x.px(p.begins(from)), x.px(p.begins(b))-x.px(p.begins(from))
				fmt.Fprintf(&paths[level], "M%s %sh%sv%sh-%sz", px(left), px(y), px(width), px(height), px(width))
				from = b
			}
			level = next
		}
	}
	for level := 1; level <= levels; level++ {
		if paths[level].Len() > 0 {
			fmt.Fprintf(c, `<path class="h" opacity="%s" d="%s"/>`, px2(float64(level)/levels), &paths[level])
		}
	}
	p.nameLines(c, height, group)
	for _, f := range p.faults {
		for _, run := range runs(p.linesOf(f, group)) {
			outline(c, x, f, [2]float64{heatTop + height*float64(run[0]), heatTop + height*float64(run[1]+1)})
		}
	}
}

func px2(v float64) string { return fmt.Sprintf("%.2f", v) }

// of is the mean share of a line's endpoints in a bin.
func (p shares) of(bin, line, group int) (sum float64) {
	ends := min((line+1)*group, len(p.endpoints))
	for e := line * group; e < ends; e++ {
		sum += p.parts[bin][e]
	}
	return sum / float64(ends-line*group)
}

// most is the share that is darkest: nearly the highest, for one burst must not pale the rest.
func (p shares) most(group int) float64 {
	var all []float64
	for b := range p.parts {
		for line := 0; line*group < len(p.endpoints); line++ {
			all = append(all, p.of(b, line, group))
		}
	}
	if len(all) == 0 {
		return 1
	}
	slices.Sort(all)
	return max(all[len(all)*98/100], 1e-9)
}

func (p shares) nameLines(c *canvas, height float64, group int) {
	last := math.Inf(-1)
	for line := 0; line*group < len(p.endpoints); line++ {
		at := heatTop + height*(float64(line)+0.5) + 4
		if at-last >= labelGap+2 {
			c.text("m small", rightAt, point{heatLeft - 6, at}, shorten(p.endpoints[line*group], 13))
			last = at
		}
	}
}

// linesOf are the lines of a fault's endpoints; all, of the control plane's.
func (p shares) linesOf(f measure.Fault, group int) (lines []int) {
	for e, name := range p.endpoints {
		if len(f.Endpoints) == 0 || slices.Contains(f.Endpoints, name) {
			lines = append(lines, e/group)
		}
	}
	return slices.Compact(lines)
}

// runs are the first and last of lines beside each other.
func runs(lines []int) (all [][2]int) {
	for _, line := range lines {
		if n := len(all) - 1; n >= 0 && all[n][1] == line-1 {
			all[n][1] = line
			continue
		}
		all = append(all, [2]int{line, line})
	}
	return all
}

// outline marks when a fault was, from one line to another.
func outline(c *canvas, x axis, f measure.Fault, lines [2]float64) {
	from, to := x.px(min(float64(f.From), x.high)), x.px(min(float64(f.To), x.high))
	fmt.Fprintf(c, `<rect class="fault" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
		px(from), px(lines[0]), px(max(to-from, 1)), px(lines[1]-lines[0]), escaped(f.Name))
}
