package server

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Latency is how long answers took.
type Latency struct{ Rows []Row }

// Row is one answer's: µs to the first token, and for each one after it.
type Row struct{ First, Each float64 }

func (r Row) sound() bool {
	const day = 86_400 * second
	return r.First >= 0 && r.First <= day && r.Each >= 0 && r.Each <= day
}

// columns are what is read of LLMPerf's. Their inter_token_latency_s is not: it has the wait
// for the first token in it.
var columns = [...]string{"provider", "model_size", "error_code", "ttft_s", "end_to_end_latency_s", "number_output_tokens"}

const (
	atProvider = iota
	atModel
	atError
	atFirst
	atTotal
	atOutput
)

// ReadLatencies reads LLMPerf's answers, by provider and model as "anyscale/70b"; those that
// failed, or have no second token, are left out. An error names the line.
func ReadLatencies(r io.Reader) (map[string]*Latency, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	at, err := header(rows)
	if err != nil {
		return nil, err
	}
	found := map[string]*Latency{}
	for {
		record, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err // csv's name the line
		}
		if err := read(found, record, at); err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// header finds the columns, in whatever order.
func header(rows *csv.Reader) (at [len(columns)]int, err error) {
	names, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return at, errors.New("line 1: no header: it is empty")
	}
	for i, name := range columns {
		at[i] = slices.Index(names, name)
		if at[i] < 0 && err == nil {
			err = fmt.Errorf("line 1: no column %q: take LLMPerf's, as deploy/examples/traces has it", name)
		}
	}
	return at, err
}

func read(found map[string]*Latency, record []string, at [len(columns)]int) error {
	if record[at[atError]] != "" {
		return nil
	}
	var of [len(columns)]float64
	for _, i := range [...]int{atFirst, atTotal, atOutput} {
		v, err := strconv.ParseFloat(record[at[i]], 64)
		if err != nil || !(v >= 0 && v <= 1e6) {
			return fmt.Errorf("%s: %q is not a number within 0 to 1e6", columns[i], record[at[i]])
		}
		of[i] = v
	}
	if of[atTotal] < of[atFirst] {
		return fmt.Errorf("%s: %v is before the first token at %v", columns[atTotal], of[atTotal], of[atFirst])
	}
	if of[atOutput] < 2 {
		return nil
	}
	row := Row{of[atFirst] * second, (of[atTotal] - of[atFirst]) / (of[atOutput] - 1) * second}
	if !row.sound() {
		return fmt.Errorf("%s: %v s are more than a day", columns[atTotal], of[atTotal])
	}
	name := record[at[atProvider]] + "/" + record[at[atModel]]
	if found[name] == nil {
		found[name] = &Latency{}
	}
	found[name].Rows = append(found[name].Rows, row)
	return nil
}
