package clientlib

import (
	"fmt"
	"io"
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

// hide takes the value out of what others say: whoever was sent it may repeat it.
func (s Secret) hide(text string) string {
	if len(s.Reveal()) < shortSecret {
		return text
	}
	return strings.ReplaceAll(text, s.Reveal(), hidden)
}

// Empty says that the endpoint needs no credential.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// String hides the value.
func (s Secret) String() string { return hidden }

// Format hides the value from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
