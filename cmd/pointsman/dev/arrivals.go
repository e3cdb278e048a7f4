package dev

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// arrival is one request to come: when, and how long.
type arrival struct {
	at            time.Duration // since the first one, in the trace's own time
	input, output int64         // tokens
}

const traceTime = "2006-01-02 15:04:05.9999999"

// readTrace reads an Azure LLM inference trace: TIMESTAMP, ContextTokens and
// GeneratedTokens, as CSV or gzipped CSV.
func readTrace(path string) ([]arrival, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("trace %s: %w", path, err)
		}
	}
	arrivals, err := parseTrace(r)
	if err != nil {
		return nil, fmt.Errorf("trace %s: %w", path, err)
	}
	return arrivals, nil
}

func parseTrace(r io.Reader) ([]arrival, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = 3
	if head, err := rows.Read(); err != nil || head[0] != "TIMESTAMP" {
		return nil, fmt.Errorf("want the columns TIMESTAMP,ContextTokens,GeneratedTokens, not %q: %w", head, err)
	}
	var out []arrival
	var first time.Time
	for line := 2; ; line++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		when, err := time.Parse(traceTime, row[0])
		input, inErr := strconv.ParseInt(row[1], 10, 64)
		output, outErr := strconv.ParseInt(row[2], 10, 64)
		if err := errors.Join(err, inErr, outErr); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if len(out) == 0 {
			first = when
		}
		out = append(out, arrival{when.Sub(first), input, max(1, output)})
	}
	if len(out) == 0 {
		return nil, errors.New("no rows")
	}
	return out, nil
}

// Shape of the conversation trace of 2023: requests a second, and log-normal lengths by
// their medians.
const (
	rate         = 5.5
	medianInput  = 1020
	medianOutput = 129
	sigma        = 0.9
)

// arrivals yields the trace, again and again, or without one a Poisson stream of its shape.
func arrivals(trace []arrival, rnd *rand.Rand) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		if len(trace) == 0 {
			generate(rnd, yield)
			return
		}
		for base := time.Duration(0); ; base += trace[len(trace)-1].at + time.Second {
			for _, a := range trace {
				a.at += base
				if !yield(a) {
					return
				}
			}
		}
	}
}

func generate(rnd *rand.Rand, yield func(arrival) bool) {
	length := func(median float64, most int64) int64 {
		return min(most, 1+int64(median*math.Exp(sigma*rnd.NormFloat64())))
	}
	for at := time.Duration(0); ; at += time.Duration(rnd.ExpFloat64() / rate * float64(time.Second)) {
		if !yield(arrival{at, length(medianInput, 14_000), length(medianOutput, 1000)}) {
			return
		}
	}
}
