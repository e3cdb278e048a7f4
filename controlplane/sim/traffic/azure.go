package traffic

import (
	"bytes"
	"fmt"
	"time"
)

// parseAzure reads a row of Azure's traces: 2023-11-16 18:15:46.6805900,374,44. Times of 2024
// end with +00:00.
func parseAzure(line []byte, r *row) error {
	when, rest, ok := bytes.Cut(line, []byte{','})
	input, output, more := bytes.Cut(rest, []byte{','})
	if !ok || !more || bytes.IndexByte(output, ',') >= 0 {
		return fmt.Errorf("%.60q: want 3 columns: a time and two numbers", line)
	}
	if r.at, ok = parseTime(when); !ok {
		return fmt.Errorf("TIMESTAMP: %.40q, want a time in UTC as 2023-11-16 18:15:46.6805900", when)
	}
	if r.input, ok = number(input); !ok {
		return noNumber("ContextTokens", input)
	}
	if r.output, ok = number(output); !ok {
		return noNumber("GeneratedTokens", output)
	}
	r.blocks = nil
	return r.check("ContextTokens", "GeneratedTokens")
}

func noNumber(column string, text []byte) error {
	return fmt.Errorf("%s: %.40q, want a whole number of tokens", column, text)
}

// parseTime is µs since 1970; finer digits are cut off.
func parseTime(text []byte) (us int64, ok bool) {
	const whole = len("2006-01-02 15:04:05")
	text = bytes.TrimSuffix(text, []byte("+00:00"))
	if len(text) < whole || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	fraction, ok := microseconds(text[whole:])
	if !ok {
		return 0, false
	}
	var part [6]int
	for i, at := range [6][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		n, ok := number(text[at[0]:at[1]])
		if !ok {
			return 0, false
		}
		part[i] = int(n)
	}
	t := time.Date(part[0], time.Month(part[1]), part[2], part[3], part[4], part[5], 0, time.UTC)
	if y, m, d := t.Date(); y != part[0] || int(m) != part[1] || d != part[2] || part[3] > 23 || part[4] > 59 || part[5] > 59 {
		return 0, false
	}
	return t.Unix()*1_000_000 + fraction, true
}

// microseconds reads .6805900, or nothing.
func microseconds(text []byte) (us int64, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != '.' || len(text) < 2 || len(text) > 10 {
		return 0, false
	}
	n, ok := number(text[1:])
	if !ok {
		return 0, false
	}
	for digits := len(text) - 1; digits < 6; digits++ {
		n *= 10
	}
	for digits := len(text) - 1; digits > 6; digits-- {
		n /= 10
	}
	return n, true
}
