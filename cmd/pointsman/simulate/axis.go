package simulate

import (
	"math"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// axis puts values to pixels.
type axis struct {
	low, high float64 // values at its ends
	from, to  float64 // pixels there
	log       bool
	ticks     []tick
	label     string
}

type tick struct {
	at   float64
	text string
}

func (a *axis) px(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log(max(v, a.low/10)), math.Log(low), math.Log(high)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// span are the lowest and highest of values that are numbers above a limit.
func span(values []float64, above float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= above {
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	return low, high, low <= high
}

// logAxis has ticks at 1, 2 and 5; only at 1 where that is many, at more where it is few.
func logAxis(values []float64, unit measure.Unit, from, to float64) axis {
	low, high, ok := span(values, 0)
	if !ok {
		low, high = 1, 10
	}
	if high < low*1.5 {
		low, high = low/1.5, high*1.5
	}
	a := axis{low: low / 1.08, high: high * 1.08, from: from, to: to, log: true}
	steps := []float64{1, 2, 5}
	switch decades := math.Log10(a.high / a.low); {
	case decades > 5:
		steps = steps[:1]
	case decades < 0.8:
		steps = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8}
	}
	for power := math.Floor(math.Log10(a.low)); power <= math.Log10(a.high); power++ {
		for _, s := range steps {
			if v := s * math.Pow(10, power); v >= a.low*0.999 && v <= a.high*1.001 {
				a.ticks = append(a.ticks, tick{v, unit.Short(v)})
			}
		}
	}
	return a
}

// evenAxis begins at nothing, or at the lowest value if that is far from it.
func evenAxis(values []float64, unit measure.Unit, from, to float64) axis {
	low, high, ok := span(values, math.Inf(-1))
	if !ok {
		low, high = 0, 1
	}
	if low > 0 && low < high/2 {
		low = 0
	}
	if high == low {
		high = low + max(math.Abs(low), 1)
	}
	step := niceStep((high - low) / 5)
	a := axis{low: math.Floor(low/step+1e-9) * step, high: math.Ceil(high/step-1e-9) * step, from: from, to: to}
	for i := 0; ; i++ {
		v := a.low + float64(i)*step
		if v > a.high+step/2 {
			return a
		}
		a.ticks = append(a.ticks, tick{v, unit.Short(v)})
	}
}

func niceStep(about float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(about)))
	for _, s := range []float64{1, 2, 5} {
		if about <= s*power*1.0001 {
			return s * power
		}
	}
	return 10 * power
}

// timeAxis is of a run: whole seconds or minutes.
func timeAxis(duration int64, from, to float64) axis {
	a := axis{high: float64(max(duration, 1)), from: from, to: to}
	seconds := a.high / 1e6
	step := 3600.0
	for _, s := range []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600} {
		if seconds/s <= 7 {
			step = s
			break
		}
	}
	for step*8 < seconds {
		step *= 2
	}
	for v := 0.0; v <= seconds; v += step {
		a.ticks = append(a.ticks, tick{v * 1e6, clockText(v)})
	}
	return a
}

func clockText(seconds float64) string {
	switch {
	case seconds == 0:
		return "0"
	case seconds < 120 && math.Mod(seconds, 60) != 0:
		return measure.Count.Text(seconds) + " s"
	case seconds < 7200:
		return measure.Count.Text(math.Round(seconds/6)/10) + " min"
	}
	return measure.Count.Text(math.Round(seconds/360)/10) + " h"
}
