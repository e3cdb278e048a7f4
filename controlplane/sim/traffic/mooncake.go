package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
)

// mooncakeRow is a line of Mooncake's traces: {"timestamp": 0, "input_length": 6758,
// "output_length": 500, "hash_ids": [0, 1, …]}.
type mooncakeRow struct {
	Timestamp *int64   `json:"timestamp"` // ms
	Input     *int64   `json:"input_length"`
	Output    *int64   `json:"output_length"`
	IDs       []uint64 `json:"hash_ids"`
}

// timeMax is the latest time that a row may have, in ms: a thousand years.
const timeMax = 1000 * 366 * 24 * 3600 * 1000

// parseMooncake reads lines as they are published by hand, and whatever differs as JSON.
func parseMooncake(line []byte, r *row) error {
	if !scanMooncake(line, r) {
		if err := decodeMooncake(line, r); err != nil {
			return err
		}
	}
	if r.at < 0 || r.at > timeMax {
		return fmt.Errorf("timestamp: %d ms, want 0 to %d", r.at, int64(timeMax))
	}
	r.at *= 1000
	if err := r.check("input_length", "output_length"); err != nil {
		return err
	}
	if want := blocksOf(r.input); len(r.blocks) != 0 && int64(len(r.blocks)) != want {
		return fmt.Errorf("hash_ids: %d of them for %d tokens, want %d: one for each %d", len(r.blocks), r.input, want, BlockTokens)
	}
	return nil
}

// blocksOf is how many blocks a prompt has, the last one perhaps in part.
func blocksOf(tokens int64) int64 { return (tokens + BlockTokens - 1) / BlockTokens }

// decodeMooncake is the slow way, whose errors are good.
func decodeMooncake(line []byte, r *row) error {
	var m mooncakeRow
	err := json.Unmarshal(line, &m)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("%s: %.40s, want whole numbers of at least 0", wrong.Field, wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("%.60q: want a JSON object a line: %w", line, err)
	}
	switch {
	case m.Timestamp == nil:
		return errors.New("timestamp: missing")
	case m.Input == nil:
		return errors.New("input_length: missing")
	case m.Output == nil:
		return errors.New("output_length: missing")
	}
	r.at, r.input, r.output = *m.Timestamp, *m.Input, *m.Output
	r.blocks = append(r.blocks[:0], m.IDs...)
	return nil
}

// scanMooncake is the fast way: false where a line is not just as expected.
func scanMooncake(line []byte, r *row) bool {
	s := scanner{line: line}
	r.blocks = r.blocks[:0]
	if !s.sign('{') {
		return false
	}
	for seen := 0; ; {
		field, ok := s.name()
		if !ok || seen&field != 0 || !s.value(field, r) {
			return false
		}
		seen |= field
		if s.sign(',') {
			continue
		}
		return s.sign('}') && s.rest() == 0 && seen == allFields
	}
}

// The fields of a row, as bits.
const (
	fieldTime = 1 << iota
	fieldInput
	fieldOutput
	fieldIDs
	allFields = 1<<iota - 1
)

type scanner struct {
	line []byte
	at   int
}

// rest is how many bytes there are after spaces.
func (s *scanner) rest() int {
	for s.at < len(s.line) && (s.line[s.at] == ' ' || s.line[s.at] == '\t') {
		s.at++
	}
	return len(s.line) - s.at
}

func (s *scanner) sign(c byte) bool {
	if s.rest() == 0 || s.line[s.at] != c {
		return false
	}
	s.at++
	return true
}

// name reads a field's name and the colon after it.
func (s *scanner) name() (field int, ok bool) {
	if !s.sign('"') {
		return 0, false
	}
	from := s.at
	for s.at < len(s.line) && s.line[s.at] != '"' {
		s.at++
	}
	switch string(s.line[from:s.at]) {
	case "timestamp":
		field = fieldTime
	case "input_length":
		field = fieldInput
	case "output_length":
		field = fieldOutput
	case "hash_ids":
		field = fieldIDs
	default:
		return 0, false
	}
	return field, s.sign('"') && s.sign(':')
}

func (s *scanner) value(field int, r *row) (ok bool) {
	switch field {
	case fieldTime:
		r.at, ok = s.number()
	case fieldInput:
		r.input, ok = s.number()
	case fieldOutput:
		r.output, ok = s.number()
	case fieldIDs:
		return s.ids(r)
	}
	return ok
}

// number is a whole one as JSON writes it: without zeros before it.
func (s *scanner) number() (int64, bool) {
	s.rest()
	from := s.at
	for s.at < len(s.line) && s.line[s.at] >= '0' && s.line[s.at] <= '9' {
		s.at++
	}
	text := s.line[from:s.at]
	if len(text) > 1 && text[0] == '0' {
		return 0, false
	}
	return number(text)
}

func (s *scanner) ids(r *row) bool {
	if !s.sign('[') {
		return false
	}
	if s.sign(']') {
		return true
	}
	for {
		id, ok := s.number()
		if !ok {
			return false
		}
		r.blocks = append(r.blocks, uint64(id))
		if s.sign(',') {
			continue
		}
		return s.sign(']')
	}
}
