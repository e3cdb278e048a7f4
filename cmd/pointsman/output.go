package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// sink remembers that something could not be written, so that no one who writes needs to.
type sink struct {
	io.Writer
	err error // the first
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// print gives the answer: as JSON to programs, as text to people.
func (e *env) print(answer proto.Message, text func(io.Writer)) error {
	if e.json {
		return e.printJSON(answer)
	}
	text(e.stdout)
	return nil
}

func (e *env) printJSON(answer proto.Message) error {
	data, err := protoJSON(answer)
	if err != nil {
		return err
	}
	return e.printData(data)
}

// printData prints a value that encoding/json knows.
func (e *env) printData(value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return e.printLine(data)
}

// printLine prints JSON. The controls that it allows within texts it has as escapes, for terminals obey them.
func (e *env) printLine(data []byte) error {
	line := make([]byte, 0, len(data)+1)
	for _, r := range string(data) {
		if r >= 0x7f && unicode.IsControl(r) {
			line = fmt.Appendf(line, `\u%04x`, r)
			continue
		}
		line = utf8.AppendRune(line, r)
	}
	_, err := e.stdout.Write(append(line, '\n'))
	return err
}

// protoJSON has the names of the protos and every field. Compacting takes out the spaces that protojson
// puts in at random.
func protoJSON(m proto.Message) (json.RawMessage, error) {
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return compact.Bytes(), nil
}

// table aligns rows; its first is the heading. An empty cell becomes a dash. What may be long comes last,
// where nothing is aligned with it.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = oneLine(cell); cell == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
}

// fields aligns names and values, and leaves out what is empty.
func fields(w io.Writer, pairs ...string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", pairs[i], oneLine(pairs[i+1]))
		}
	}
	t.Flush()
}

// span is a time in microseconds, for people.
func span(us int64) string {
	d := time.Duration(us) * time.Microsecond
	unit := time.Millisecond
	switch {
	case d >= time.Hour-time.Second:
		unit = time.Minute
	case d >= 10*time.Second:
		unit = time.Second
	}
	text := d.Round(unit).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format("2006-01-02 15:04:05Z")
}

// happened says when, and by whom if that is known.
func happened(t *timestamppb.Timestamp, who string) string {
	if who == "" {
		return moment(t)
	}
	return moment(t) + " by " + oneLine(who)
}

// kindName is a kind as the catalog writes it.
func kindName(k pb.Kind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "KIND_"))
}

// number is a count or a revision, and nothing for 0.
func number[N uint64 | int64 | uint32](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// oneLine keeps a text that somebody wrote from breaking a table, or a terminal.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " ")
}
