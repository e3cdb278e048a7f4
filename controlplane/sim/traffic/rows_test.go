package traffic

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shipped opens a trace of the examples.
func shipped(name, format string) *Trace {
	path := filepath.Join("../../../deploy/examples/traces", name)
	return &Trace{Name: name, Path: path, Format: format, File: func() (io.ReadCloser, error) { return os.Open(path) }}
}

func TestShippedTracesAreReadWhole(t *testing.T) {
	for _, c := range []struct {
		name, format string
		rows         int64
		input        float64 // means, as the publishers' files have them
		output       float64
	}{
		{"azure-conversation.csv.gz", "azure", 19_366, 1154.69, 211.13},
		{"azure-code.csv.gz", "azure", 8_819, 2047.85, 27.88},
		{"mooncake-conversation.jsonl.gz", "mooncake", 12_031, 12_035.10, 342.58},
	} {
		s, err := shipped(c.name, c.format).Stats()
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Count != c.rows || fmt.Sprintf("%.1f %.1f", s.Input, s.Output) != fmt.Sprintf("%.1f %.1f", c.input, c.output) {
			t.Errorf("%s: %d rows of %.2f and %.2f tokens, want %d of %.2f and %.2f", c.name, s.Count, s.Input, s.Output, c.rows, c.input, c.output)
		}
		if got := int64(len(play(t, shipped(c.name, c.format), 1, everything))); got != c.rows {
			t.Errorf("%s: %d arrivals of %d rows", c.name, got, c.rows)
		}
	}
}

func TestEveryShippedTraceIsAccountedForInItsReadme(t *testing.T) {
	readme, err := os.ReadFile("../../../deploy/examples/traces/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	err = filepath.WalkDir("../../../deploy/examples/traces", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		if !strings.Contains(string(readme), d.Name()) && d.Name() != "README.md" {
			t.Errorf("%s is not in the README", path)
		}
		if file, err := os.Open(path); err == nil {
			defer file.Close()
			if r, err := text(file); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if _, err := io.Copy(io.Discard, r); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > 2<<20 {
		t.Errorf("%d bytes, want 2 MiB at most", size)
	}
}

func TestLineEndsAndCompressionMakeNoDifference(t *testing.T) {
	text := "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319609,3180,8"
	want := play(t, said("azure", text), 1, everything)
	if len(want) != 2 || want[1].At != 52_000 || want[1].Input != 3180 || want[1].Output != 8 {
		t.Fatalf("got %+v", want)
	}
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	for name, same := range map[string]string{
		"line end after the last": text + "\n", "CRLF": crlf, "CRLF after the last": crlf + "\r\n",
		"one blank line at the end": text + "\n\n", "gzip": squeezed(text), "gzip, CRLF": squeezed(crlf),
		"gzip in two members": squeezed(text[:70]) + squeezed(text[70:]),
	} {
		if got := play(t, said("azure", same), 1, everything); !slices.Equal(times(got), times(want)) || got[1].Input != 3180 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTimesAreReadToTheMicrosecond(t *testing.T) {
	for text, us := range map[string]int64{
		"1970-01-01 00:00:01":              1_000_000,
		"1970-01-01 00:00:01.5":            1_500_000,
		"1970-01-01 00:00:01.0000019":      1_000_001,
		"1970-01-01 00:00:01.000001999":    1_000_001,
		"1970-01-02 00:00:00.000001+00:00": 86_400_000_001,
		"2024-02-29 12:00:00":              1_709_208_000_000_000,
	} {
		if got, ok := parseTime([]byte(text)); !ok || got != us {
			t.Errorf("%s: %d, %v, want %d", text, got, ok, us)
		}
	}
	for _, text := range []string{
		"", "2023-11-16", "2023-11-16 18:17:03.", "2023-11-16 18:17:03.1234567890", "2023-11-16 18:17:03.12x", "2023-13-16 18:17:03",
		"2023-02-29 18:17:03", "2023-11-16 24:00:00", "2023-11-16 18:60:00", "2023-11-16 18:17:60", "2023-11-16T18:17:03", "2023-11-16 18:17:-3",
		"2023-11-16 18:17:03+01:00", "+023-11-16 18:17:03", "18446744073709551616",
	} {
		if got, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestMalformedTracesAreRefusedByFileAndLine(t *testing.T) {
	const head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	const row = "2023-11-16 18:17:03.9799600,4808,10\n"
	const line = `{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}` + "\n"
	for _, c := range []struct{ name, format, text, want string }{
		{"empty", "azure", "", "t.txt: no rows"},
		{"empty", "mooncake", "", "t.txt: no rows"},
		{"empty gzip", "mooncake", squeezed(""), "t.txt: no rows"},
		{"only a header", "azure", head, "t.txt: no rows"},
		{"only blank lines", "mooncake", "\n\n", "t.txt:1: blank line"},
		{"another header", "azure", "time,in,out\n" + row, `t.txt:1: begins with "time,in,out"`},
		{"no header", "azure", row, "t.txt:1: begins with"},
		{"the other format", "azure", line, "t.txt:1: begins with"},
		{"the other format", "mooncake", head + row, "t.txt:1: "},
		{"blank in the middle", "azure", head + row + "\n" + row, "t.txt:3: blank line"},
		{"two blank lines at the end", "azure", head + row + "\n\n", "t.txt:3: blank line"},
		{"out of order", "azure", head + row + "2023-11-16 18:17:02.9799600,1,1\n", "t.txt:3: earlier than the row before it by 1s"},
		{"out of order", "mooncake", strings.Replace(line, "0", "2500", 1) + line, "t.txt:2: earlier than the row before it by 2.5s"},
		{"a year later", "azure", head + row + "2025-11-16 18:17:02,1,1\n", "t.txt:3: 17543h59m58.02004s after the first row"},
		{"two columns", "azure", head + "2023-11-16 18:17:03,1\n", "t.txt:2: "},
		{"four columns", "azure", head + row + "2023-11-16 18:17:03,1,2,3\n", "t.txt:3: "},
		{"no time", "azure", head + "yesterday,1,2\n", "t.txt:2: TIMESTAMP"},
		{"negative", "azure", head + "2023-11-16 18:17:03,-1,2\n", `t.txt:2: ContextTokens: "-1"`},
		{"not a number", "azure", head + "2023-11-16 18:17:03,1,NaN\n", `t.txt:2: GeneratedTokens: "NaN"`},
		{"a broken number", "azure", head + "2023-11-16 18:17:03,1,2.5\n", `t.txt:2: GeneratedTokens: "2.5"`},
		{"no prompt", "azure", head + "2023-11-16 18:17:03,0,2\n", "t.txt:2: ContextTokens: 0, want 1 to 10000000"},
		{"huge", "azure", head + "2023-11-16 18:17:03,10000001,2\n", "t.txt:2: ContextTokens"},
		{"wrapped round", "azure", head + "2023-11-16 18:17:03,1,18446744073709551617\n", "t.txt:2: GeneratedTokens"},
		{"zero bytes", "azure", head + "\x00\x00\x00\n", "t.txt:2: "},
		{"a long line", "azure", head + strings.Repeat("1", lineMax+1), "t.txt:2: line of more than 65536 bytes"},
		{"gzip cut off", "azure", squeezed(head + strings.Repeat(row, 50))[:70], "the file is cut off"},
		{"gzip of ten bytes", "azure", squeezed(head)[:10], "t.txt:1: the file is cut off"},
		{"gzip of three bytes", "azure", squeezed(head)[:3], "t.txt: gzip: "},
		{"gzip with a wrong sum", "azure", spoilt(squeezed(head + row)), "t.txt:3: gzip: invalid checksum"},
		{"no JSON", "mooncake", line + "{", "t.txt:2: "},
		{"an array", "mooncake", line + "[1]", `t.txt:2: "[1]": want a JSON object a line`},
		{"null", "mooncake", "null", "t.txt:1: timestamp: missing"},
		{"two objects", "mooncake", strings.TrimSpace(line) + line, "t.txt:1: "},
		{"no time", "mooncake", `{"input_length": 600, "output_length": 5, "hash_ids": [0, 1]}`, "t.txt:1: timestamp: missing"},
		{"no lengths", "mooncake", `{"timestamp": 600, "output_length": 5, "hash_ids": [0, 1]}`, "t.txt:1: input_length: missing"},
		{"negative time", "mooncake", strings.Replace(line, "0", "-1", 1), "t.txt:1: timestamp: -1 ms"},
		{"huge time", "mooncake", strings.Replace(line, "0", "99999999999999999", 1), "t.txt:1: timestamp: 99999999999999999 ms"},
		{"beyond numbers", "mooncake", strings.Replace(line, "0", "1e400", 1), "t.txt:1: timestamp: number 1e400"},
		{"negative id", "mooncake", strings.Replace(line, "[0", "[-1", 1), "t.txt:1: hash_ids: number -1"},
		{"blocks missing", "mooncake", strings.Replace(line, "0, 1", "0", 1), "t.txt:1: hash_ids: 1 of them for 600 tokens, want 2"},
		{"blocks of another size", "mooncake", strings.Replace(line, "0, 1", "0, 1, 2", 1), "t.txt:1: hash_ids: 3 of them for 600 tokens, want 2"},
		{"no clock", "mooncake", strings.Repeat(line, tickRows+1), "t.txt:65537: more than 65536 rows say the same time"},
	} {
		err := failure(said(c.format, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %q", c.format, c.name, err, c.want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s, %s: an error of %d bytes", c.format, c.name, len(err.Error()))
		}
	}
}

// spoilt changes a byte of the checksum.
func spoilt(squeezed string) string {
	b := []byte(squeezed)
	b[len(b)-8] ^= 1
	return string(b)
}

func TestMooncakeRowsMayHaveOtherFieldsAndOrders(t *testing.T) {
	for _, line := range []string{
		`{"timestamp":7,"input_length":600,"output_length":5,"hash_ids":[8,9]}`,
		` { "hash_ids" : [ 8 , 9 ] , "output_length" : 5 , "input_length" : 600 , "timestamp" : 7 } `,
		`{"timestamp":7,"input_length":600,"output_length":5,"hash_ids":[8,9],"turn":1,"type":"text"}`,
		`{"timestamp":1,"timestamp":7,"input_length":600,"output_length":5,"hash_ids":[8,9]}`,
	} {
		var r row
		if err := parseMooncake([]byte(line), &r); err != nil || r.at != 7000 || r.input != 600 || r.output != 5 || !slices.Equal(r.blocks, []uint64{8, 9}) {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
	for _, none := range []string{`, "hash_ids": []`, ``, `, "hash_ids": null`} {
		var r row
		if err := parseMooncake([]byte(`{"timestamp":7,"input_length":600,"output_length":5`+none+`}`), &r); err != nil || len(r.blocks) != 0 {
			t.Errorf("%s: %+v, %v", none, r, err)
		}
	}
}

func TestAnAnswerOfNoTokensCountsAsOne(t *testing.T) {
	if got := play(t, azure("2023-11-16 18:17:03,5,0"), 1, everything); got[0].Output != 1 {
		t.Errorf("output %d", got[0].Output)
	}
}

func TestFilesAreClosedAtTheEndOfErrorsAndWhenLeft(t *testing.T) {
	opened, closed := 0, 0
	counted := func(tr *Trace) *Trace {
		file := tr.File
		tr.File = func() (io.ReadCloser, error) {
			opened++
			r, err := file()
			return counter{r, &closed}, err
		}
		return tr
	}
	const a, b = "2023-11-16 18:17:03,5,1", "2023-11-16 18:17:04,5,1"
	_ = failure(counted(azure(a, b)))
	_ = failure(counted(azure(a, "x")))
	_ = failure(counted(said("azure", "x")))
	_ = failure(counted(said("mooncake", "{")))
	_ = failure(counted(said("azure", "\x1f\x8b")))
	cut := counted(azure(a, b))
	cut.Window.Until = 500_000
	_ = failure(cut)
	if _, err := counted(azure(a, b)).Stats(); err != nil {
		t.Fatal(err)
	}
	looped := counted(azure(a, b))
	looped.Window.Loop = true
	s, err := looped.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	m := Merge(s)
	drain(t, m, 7)
	_ = m.(io.Closer).Close()
	if more, err := m.Next(new(Arrival)); more && err == nil {
		if more, err = m.Next(new(Arrival)); more || err != nil {
			t.Errorf("a source that was closed goes on: %v, %v", more, err)
		}
	}
	if opened == 0 || opened != closed {
		t.Errorf("%d opened, %d closed", opened, closed)
	}
}

type counter struct {
	io.ReadCloser
	closed *int
}

func (c counter) Close() error { *c.closed++; return c.ReadCloser.Close() }
