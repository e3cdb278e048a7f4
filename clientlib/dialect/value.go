package dialect

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// appendText adds what the inside of a string says, as encoding/json reads it.
func appendText(to, raw []byte) []byte {
	for len(raw) > 0 {
		if raw[0] == '\\' {
			var r rune
			r, raw = escaped(raw)
			to = utf8.AppendRune(to, r)
			continue
		}
		r, size := utf8.DecodeRune(raw)
		to, raw = utf8.AppendRune(to, r), raw[size:]
	}
	return to
}

// escaped reads one escape of a good string. Half of a pair stands for no rune.
func escaped(raw []byte) (rune, []byte) {
	switch raw[1] {
	case 'b':
		return '\b', raw[2:]
	case 'f':
		return '\f', raw[2:]
	case 'n':
		return '\n', raw[2:]
	case 'r':
		return '\r', raw[2:]
	case 't':
		return '\t', raw[2:]
	case 'u':
		r, _ := hex4(raw[2:])
		raw = raw[6:]
		if !utf16.IsSurrogate(r) {
			return r, raw
		}
		if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
			low, _ := hex4(raw[2:])
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, raw[6:]
			}
		}
		return utf8.RuneError, raw
	}
	return rune(raw[1]), raw[2:]
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|' ' >= 'a' && c|' ' <= 'f':
			c = c | ' ' - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// readText is what a value says that is a string.
func readText(raw []byte) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside), true
	}
	return string(appendText(nil, inside)), true
}

// readWhole is a value that is a whole number; one with a point or a power is none.
func readWhole(raw []byte) (n int64, ok bool) {
	if len(raw) == 0 || raw[0] > '9' { // an error would be allocated
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// null says whether a value is not there, or null: the same to these APIs.
func null(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// filled says whether a value is there and not empty.
func filled(raw []byte) bool {
	switch string(raw) {
	case "", "null", "false", `""`:
		return false
	}
	return raw[0] != '[' && raw[0] != '{' || len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0
}

// appendQuoted adds a text as JSON.
func appendQuoted(to []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a string always has a form
			return append(to, quoted...)
		}
	}
	to = append(to, '"')
	to = append(to, text...)
	return append(to, '"')
}
