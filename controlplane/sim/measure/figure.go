package measure

import (
	"fmt"
	"math"
	"strings"
)

// Figure is what an assertion is of, by itself: a metric of a policy, or a quotient of two.
type Figure struct {
	text string
	q    quantity
}

// Estimate is a figure over some seeds, with its 95 % interval; NaN: there is none.
type Estimate struct {
	Value, Low, High float64
	Text             string
}

// ParseFigure reads one that names its policies.
func ParseFigure(text string) (Figure, error) {
	f := Figure{text: strings.Join(strings.Fields(text), " ")}
	var err error
	if f.q, err = parseQuantity(f.text); err != nil {
		return f, fmt.Errorf("figure %q: %w", text, err)
	}
	if (Assertion{left: f.q}).everyone() {
		return f, fmt.Errorf("figure %q: it is of every policy: want POLICY.FIGURE", text)
	}
	return f, nil
}

// Unit is that of its values.
func (f Figure) Unit() Unit { return f.q.unit() }

// Values are one of each seed; those of a quotient are quotients.
func (f Figure) Values(results []*Result) ([]float64, error) {
	over, err := f.q.over.values(results, "")
	if err != nil || f.q.under == nil {
		return over, err
	}
	under, err := f.q.under.values(results, "")
	for i := range min(len(over), len(under)) {
		over[i] /= under[i]
	}
	return over, err
}

// Estimate is the mean of a metric, and of a quotient what Paired finds.
func (f Figure) Estimate(results []*Result) (e Estimate, err error) {
	if e.Value, e.Text, err = f.q.value(results, ""); err != nil {
		return e, err
	}
	over, err := f.q.over.values(results, "")
	if err != nil {
		return e, err
	}
	if f.q.under == nil {
		mean, half := Mean(over)
		e.Low, e.High = mean-half, mean+half
		return e, nil
	}
	under, err := f.q.under.values(results, "")
	_, e.Low, e.High = Paired(over, under)
	return e, err
}

// Surely tells whether an assertion, which names its policies, holds of the whole 95 %
// interval; where there is none, of the value.
func (a Assertion) Surely(results []*Result) (ok bool, found string) {
	if a.right.over != nil || a.everyone() {
		return a.Check(results)
	}
	e, err := Figure{q: a.left}.Estimate(results)
	if err != nil {
		return false, err.Error()
	}
	ok = holds(e.Value, a.op, a.right.number)
	for _, end := range []float64{e.Low, e.High} {
		ok = ok && (math.IsNaN(end) || holds(end, a.op, a.right.number))
	}
	return ok, e.Text
}
