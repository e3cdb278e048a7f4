package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestScannerTakesWhatJSONIs(t *testing.T) {
	for _, text := range []string{
		``, ` `, `null`, ` true `, `false`, `nul`, `nulll`, `tru`, `[]`, `[ ]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `[1]]`, `[}`, `{]`,
		`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a" : [ { } , { "b" : "c" } ] }`, `{,}`, `{"a":1`, `{"a`,
		`0`, `-0`, `-`, `01`, `1.`, `1.0`, `.5`, `1e5`, `1E+5`, `1e-`, `+1`, `1.5e3 `, `1x`, `--1`,
		`""`, `"a`, `"\"`, `"\""`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `"\u12aF"`, `"\ud83d\ude00"`, "\"\n\"", "\"\x7f\"", "\"\xff\"", "\"\x00\"", "\x00", "1\x00",
		`"12345678"`, `"1234567\"12345678"`, "\"12345678\t\"", strings.Repeat(`"0123456`, 9), "\ufeff{}",
	} {
		if got, want := valid(text), json.Valid([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, pair := range []string{"[]", `{"a":}`} {
		opening, closing := pair[:len(pair)-1], pair[len(pair)-1:]
		for depth, want := range map[int]bool{maxDepth - 1: true, maxDepth: false} {
			if got := valid(strings.Repeat(opening, depth) + "[]" + strings.Repeat(closing, depth)); got != want {
				t.Errorf("%s in %d: %v, want %v", pair, depth+1, got, want)
			}
		}
	}
}

func valid(text string) bool {
	s := scanner{b: []byte(text)}
	s.skip()
	return s.end()
}

func TestWordsAreReadWithTheirEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`"stop"`: "stop", `"st\u006fp"`: "stop", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\ud83d\ude00"`: "😀", `"\ud83dx"`: "\ufffdx",
		`7`: "", `null`: "", `{"a":"stop"}`: "",
	} {
		s := scanner{b: []byte(text)}
		if got := s.word(); string(got) != want || !s.end() {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestScanningAllocatesNothing(t *testing.T) {
	text := []byte(`{"a":[1,{"b":"d\ne"}],"f":-1.5e3,"type":"x"}`)
	if n := testing.AllocsPerRun(100, func() {
		s := scanner{b: text}
		if string(s.kind()) != "x" || !s.end() {
			t.Error("no kind")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// looked reads the members of an object; false: the text is none.
func looked(b []byte) (found map[string]json.RawMessage, object bool) {
	found = map[string]json.RawMessage{}
	s := scanner{b: b}
	if !s.object() {
		return nil, false
	}
	for name, more := s.member(); more; name, more = s.member() {
		found[string(name)] = s.skip()
	}
	if !s.end() {
		return nil, false
	}
	return found, true
}

func FuzzScan(f *testing.F) {
	names := []string{"model", "", "a", "é", "\n", "😀", "input_tokens"}
	for _, seed := range []string{
		`{"model":"x","m\u006fdel":[1,2.5e-3,{"a":null}],"\n":true}`, `{"\u00e9":"\ud83d\ude00","a":-0,"a":"\/"}`, `[[[]],"x\\"]`, "{\"a\xff\":\"\xff\"}", ` {"":{}} `,
		`{"\\` + strings.Repeat("x", 300) + `":"a long name is not the empty one"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if deep(b) {
			return
		}
		if got, want := valid(string(b)), json.Valid(b); got != want {
			t.Fatalf("valid %v, want %v", got, want)
		}
		var text string
		if trimmed := bytes.TrimSpace(b); json.Unmarshal(b, &text) == nil && len(trimmed) > 0 && trimmed[0] == '"' {
			if got, ok := readText(trimmed); !ok || got != text {
				t.Fatalf("text %q, want %q", got, text)
			}
		}
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(b, &want) == nil && want != nil
		got, object := looked(b)
		if object != isObject {
			t.Fatalf("an object: %v, want %v", object, isObject)
		}
		for _, name := range names {
			if string(got[name]) != string(want[name]) {
				t.Fatalf("%q: %s, want %s", name, got[name], want[name])
			}
		}
	})
}

// deep says whether a text may nest deeper than the scanner goes.
func deep(b []byte) bool { return bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > maxDepth }
