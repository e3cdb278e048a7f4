package route

const (
	firstOutput = 500 // tokens predicted until a workload has an answer
	outputStep  = 32  // the 90th percentile moves by this part of itself
)

// outputs are how many tokens a workload's answers had.
type outputs struct {
	average
	ninetieth float64 // percentile: it rises nine times as far as it falls
	median    float64 // it rises as far as it falls, and never past an answer
}

func (o *outputs) learn(now, output int64) {
	v := float64(output)
	step := max(1, o.ninetieth/outputStep)
	switch {
	case o.n == 0:
		o.ninetieth, o.median = v, v
	case v > o.ninetieth:
		o.ninetieth += float64(0.9 * step)
	case v < o.ninetieth:
		o.ninetieth = max(o.ninetieth-float64(0.1*step), 0)
	}
	half := max(1, o.median/outputStep) / 2
	o.median = min(max(v, o.median-half), o.median+half) // without a branch: every other one would be guessed wrong
	o.add(now, v)
}

// typical is the median of a workload's answers.
func (o *outputs) typical() float64 {
	if o.n == 0 {
		return firstOutput
	}
	return o.median
}

// predict is how many tokens the answer will have, as the workload's answers had.
func (w *work) predict(q *Request) int64 { return w.output.bound(q, w.output.value) }

// provision is how many are reserved: few answers have more.
func (w *work) provision(q *Request) int64 { return w.output.bound(q, w.output.ninetieth) }

// bound is a prediction within what the request allows.
func (o *outputs) bound(q *Request, v float64) int64 {
	n := int64(firstOutput)
	if o.n > 0 {
		n = int64(v)
	}
	if q.MaxOutput > 0 {
		n = min(n, q.MaxOutput)
	}
	return n
}
