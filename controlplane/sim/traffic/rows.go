package traffic

import (
	"errors"
	"fmt"
	"io"
)

// row is what all formats say of a request. Blocks are good until the next.
type row struct {
	at            int64 // µs, on the trace's own clock
	input, output int64
	blocks        []uint64
}

// rows are read one by one; io.EOF: there are no more.
type rows interface{ next(*row) error }

// format is how lines are understood.
type format struct {
	header string // the first line; empty: there is none
	parse  func(line []byte, r *row) error
	tick   int64 // µs, by which its times may be rounded
	blocks bool
}

var formats = map[string]format{
	"azure":    {"TIMESTAMP,ContextTokens,GeneratedTokens", parseAzure, 0, false},
	"mooncake": {"", parseMooncake, tickDefault, true},
}

// parsed is the rows of a file, in order of time, or an error that names the line.
type parsed struct {
	*lines
	parse func(line []byte, r *row) error
	first int64 // the time of the first row
	last  int64
	rows  int64
}

func openRows(t *Trace) (*parsed, error) {
	l, err := openLines(t.Path, t.File)
	if err != nil {
		return nil, err
	}
	f := formats[t.Format]
	p := &parsed{lines: l, parse: f.parse}
	if f.header == "" {
		return p, nil
	}
	line, err := l.next()
	if err == nil && string(line) != f.header {
		err = l.wrong(fmt.Errorf("begins with %.60q, want %q: is the format %s?", line, f.header, t.Format))
	}
	if err != nil {
		l.shut()
		return nil, p.ended(err)
	}
	return p, nil
}

func (p *parsed) next(r *row) error {
	line, err := p.lines.next()
	if err != nil {
		return p.ended(err)
	}
	if err := p.parse(line, r); err != nil {
		return p.wrong(err)
	}
	if p.rows > 0 && r.at < p.last {
		return p.wrong(fmt.Errorf("earlier than the row before it by %v: sort the rows by time", duration(p.last-r.at)))
	}
	if p.rows == 0 {
		p.first = r.at
	}
	if r.at-p.first > longest {
		return p.wrong(fmt.Errorf("%v after the first row, want a year at most", duration(r.at-p.first)))
	}
	p.last, p.rows = r.at, p.rows+1
	r.output = max(1, r.output) // an answer takes a token at the least
	return nil
}

// ended is an error, or the end; but not before the first row.
func (p *parsed) ended(err error) error {
	if errors.Is(err, io.EOF) && p.rows == 0 {
		return fmt.Errorf("%s: no rows: the file is empty", p.path)
	}
	return err
}

// number is a whole number without a sign and of at most 18 digits.
func number(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// check checks a row's lengths.
func (r *row) check(input, output string) error {
	if r.input < 1 || r.input > LengthMax {
		return fmt.Errorf("%s: %d, want 1 to %d", input, r.input, LengthMax)
	}
	if r.output < 0 || r.output > LengthMax {
		return fmt.Errorf("%s: %d, want 0 to %d", output, r.output, LengthMax)
	}
	return nil
}
