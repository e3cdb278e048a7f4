package measure

import (
	"fmt"
	"slices"
	"strings"
)

// ParseAssertion reads an assertion. An error says what is wrong and what would be right.
func ParseAssertion(text string) (Assertion, error) {
	a, err := parseAssertion(text)
	if err != nil {
		return Assertion{}, fmt.Errorf("assertion %q: %w", text, err)
	}
	return a, nil
}

// longestAssertion bounds what is read from files.
const longestAssertion = 1024

func parseAssertion(text string) (a Assertion, err error) {
	if len(text) > longestAssertion {
		return a, fmt.Errorf("longer than %d bytes", longestAssertion)
	}
	a.text = strings.Join(strings.Fields(text), " ")
	left, op, right, ok := split(text)
	if !ok {
		return a, fmt.Errorf("nothing is compared: want FIGURE OP VALUE, as in predictive.ttft_p99 < 2s, and one of <, <=, >, >=, == and !=")
	}
	a.op = op
	if a.left, err = parseQuantity(left); err != nil {
		return a, err
	}
	if v, unit, numberErr := value(right); numberErr == nil {
		a.right = quantity{number: v}
		return a, a.comparable(unit)
	} else if first := strings.TrimSpace(right); first == "" || first[0] >= '0' && first[0] <= '9' {
		return a, numberErr
	}
	if a.right, err = parseQuantity(right); err != nil {
		return a, err
	}
	if l, r := a.left.unit(), a.right.unit(); l != r {
		return a, fmt.Errorf("%s and %s are not of one kind", strings.TrimSpace(left), strings.TrimSpace(right))
	}
	return a, nil
}

func (a Assertion) comparable(unit Unit) error {
	if u := a.left.unit(); !u.takes(unit) {
		return fmt.Errorf("the value has the wrong unit: want one as in %s", u.example())
	}
	return nil
}

func (q quantity) unit() Unit {
	if q.under != nil {
		return Plain
	}
	return q.over.metric.Unit
}

// split finds the comparison, outside quotes.
func split(text string) (left, op, right string, ok bool) {
	quoted := false
	for i := range len(text) {
		if text[i] == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		for _, op := range []string{"<=", ">=", "==", "!=", "<", ">"} {
			if strings.HasPrefix(text[i:], op) {
				return text[:i], op, text[i+len(op):], true
			}
		}
	}
	return "", "", "", false
}

// parseQuantity reads a figure, or one over another.
func parseQuantity(text string) (q quantity, err error) {
	over, under, quotient, err := halves(text)
	if err != nil {
		return q, err
	}
	if q.over, err = parseTerm(over); err != nil || !quotient {
		return q, err
	}
	if q.under, err = parseTerm(under); err != nil {
		return q, err
	}
	if q.over.metric.Unit != q.under.metric.Unit {
		return q, fmt.Errorf("%s over %s is no ratio: they are not of one kind", q.over.metric.Name, q.under.metric.Name)
	}
	return q, nil
}

// halves parts a quotient, outside quotes.
func halves(text string) (over, under string, quotient bool, err error) {
	quoted, at := false, -1
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '/' && !quoted && at >= 0:
			return "", "", false, fmt.Errorf("more than one / in %q", strings.TrimSpace(text))
		case text[i] == '/' && !quoted:
			at = i
		}
	}
	if quoted {
		return "", "", false, fmt.Errorf("a quote is not closed in %q", strings.TrimSpace(text))
	}
	if at < 0 {
		return text, "", false, nil
	}
	return text[:at], text[at+1:], true, nil
}

// parseTerm reads [POLICY.][workload.NAME.|tenant.NAME.|endpoint.NAME.]METRIC.
func parseTerm(text string) (*term, error) {
	names, err := dotted(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	t := &term{}
	last := len(names) - 1
	if t.metric, err = Find(names[last]); err != nil {
		return nil, err
	}
	names = names[:last]
	if len(names) == 1 || len(names) == 3 {
		t.policy, names = names[0], names[1:]
	}
	switch {
	case len(names) == 0:
		return t, nil
	case len(names) != 2:
		return nil, fmt.Errorf("%q has %d parts: want POLICY.METRIC, or POLICY.tenant.NAME.METRIC", strings.TrimSpace(text), last+1)
	case !slices.Contains(kinds, names[0]):
		return nil, fmt.Errorf("no parts by %q%s", names[0], nearest(names[0], kinds))
	case t.metric.Whole:
		return nil, fmt.Errorf("%s is of the whole only: there is none of a %s", t.metric.Name, names[0])
	}
	t.part = Part{Kind: names[0], Name: names[1]}
	return t, nil
}

var kinds = []string{OfWorkload, OfTenant, OfEndpoint}

// dotted reads names, in quotes where they need them, with points between.
func dotted(text string) (names []string, err error) {
	rest := text
	for {
		var name string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if name, rest, ok = strings.Cut(quoted, `"`); !ok {
				return nil, fmt.Errorf("a quote is not closed in %q", text)
			}
		} else {
			end := strings.IndexFunc(rest, func(r rune) bool { return !inName(r) })
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return nil, fmt.Errorf("a name is missing in %q", text)
		}
		names = append(names, name)
		if rest == "" {
			return names, nil
		}
		after, ok := strings.CutPrefix(rest, ".")
		if !ok {
			return nil, fmt.Errorf("%q is not understood in %q: put names that hold it in double quotes", rest[:1], text)
		}
		rest = after
	}
}

func inName(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
