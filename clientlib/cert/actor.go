package cert

import (
	"strings"
	"unicode"
)

const (
	users      = "uid/" // identities of processes, which several people may share
	maxClaimed = 64     // bytes of a name
)

// Actor is who did something, as it will be told: an identity, and beside one that several people may
// share the name that the caller claims. The name stands alone where nobody looked who calls.
func Actor(identity, claimed string) string {
	claimed = harmless(claimed)
	switch {
	case identity == "":
		return claimed
	case claimed == "" || !strings.HasPrefix(identity, users):
		return identity
	}
	return identity + " (" + claimed + ")"
}

// harmless takes out of a name what would make it look like something else.
func harmless(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == '(' || r == ')' {
			return -1
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxClaimed)], "")
}
