package traffic

import (
	"slices"
	"testing"
)

// FuzzReaders: whatever a file says, rows come in order with sane numbers, or an error does.
func FuzzReaders(f *testing.F) {
	const head = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
	const line = `{"timestamp": 3000, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}` + "\n"
	for _, text := range []string{"", head, head + "2023-11-16 18:17:03.9799600,4808,10", line + line, squeezed(line + line), squeezed(line)[:30], "\x1f\x8b", "\n\n"} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, loop bool) {
		for _, format := range Formats() {
			tr := said(format, text)
			tr.Window.Loop = loop
			s, err := tr.Open(1)
			if err != nil {
				continue
			}
			var a Arrival
			for last, i := int64(0), 0; i < 1000; i++ {
				more, err := s.Next(&a)
				if err != nil || !more {
					break
				}
				if a.At < last || a.Input < 1 || a.Output < 1 || len(a.Blocks) > 0 && int64(len(a.Blocks)) != blocksOf(a.Input) {
					t.Fatalf("after %d: %+v", last, a)
				}
				last = a.At
			}
		}
	})
}

// FuzzMooncakeRow: the fast way says what the slow one says, or nothing.
func FuzzMooncakeRow(f *testing.F) {
	f.Add(`{"timestamp": 3000, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}`)
	f.Add(`{"timestamp": 03, "input_length": 600, "output_length": 5, "hash_ids": []}`)
	f.Add(`{"timestamp":3,"timestamp":4,"input_length":600,"output_length":5,"hash_ids":[1,]}`)
	f.Add(`{"timestamp":3,"input_length":600,"output_length":5,"hash_ids":[1]} x`)
	f.Fuzz(func(t *testing.T, line string) {
		var fast, slow row
		if !scanMooncake([]byte(line), &fast) {
			return
		}
		if err := decodeMooncake([]byte(line), &slow); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if fast.at != slow.at || fast.input != slow.input || fast.output != slow.output || !slices.Equal(fast.blocks, slow.blocks) {
			t.Fatalf("%q: %+v and %+v", line, fast, slow)
		}
	})
}
