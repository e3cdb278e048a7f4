package clientlib

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const hidden = "[secret]"

// Secret is a credential's value. It shows itself to Reveal only: not to fmt, encoders or loggers.
type Secret struct{ value *string } // behind a pointer: fmt sees no methods of unexported fields

// Reveal is the value. Send it to the endpoint that it is for, and nowhere else.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// shortSecret is what could stand in a text by chance.
const shortSecret = 8

// hide takes the value out of what others say: whoever was sent it may repeat it, as it is
// or as JSON may write it.
func (s Secret) hide(text string) string {
	if len(s.Reveal()) < shortSecret {
		return text
	}
	text = strings.ReplaceAll(text, s.Reveal(), hidden)
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for text != "" {
		if n := spelled(text, s.Reveal()); n > 0 {
			b.WriteString(hidden)
			text = text[n:]
			continue
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// hideIn does it with the values of a header.
func (s Secret) hideIn(h http.Header) {
	for _, values := range h {
		for i, value := range values {
			values[i] = s.hide(value)
		}
	}
}

// hideErr gives an error that says the value up for its text.
func (s Secret) hideErr(err error) error {
	if text := err.Error(); s.hide(text) != text {
		return errors.New(s.hide(text))
	}
	return err
}

// spelled is how much of a text's beginning says the value, with escapes in it; 0: none.
func spelled(text, value string) (n int) {
	for i := range len(value) {
		c, size := letter(text[n:])
		if size == 0 || c != value[i] {
			return 0
		}
		n += size
	}
	return n
}

// letter is the first letter of a text, and how much of it that takes; 0: it is none of ASCII.
func letter(text string) (byte, int) {
	switch {
	case text == "":
		return 0, 0
	case text[0] != '\\' || len(text) == 1:
		return text[0], 1
	case text[1] != 'u':
		return text[1], 2
	}
	c, err := strconv.ParseUint(text[2:min(6, len(text))], 16, 7)
	if err != nil || len(text) < 6 {
		return 0, 0
	}
	return byte(c), 6
}

// Empty says that the endpoint needs no credential.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// String hides the value.
func (s Secret) String() string { return hidden }

// Format hides the value from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
