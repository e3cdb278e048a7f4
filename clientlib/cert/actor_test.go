package cert

import (
	"strings"
	"testing"
)

func TestANameThatACallerGivesItselfCannotPassForAnIdentity(t *testing.T) {
	if got := Actor("", "ann) uid/0 (\n\x1b[31mroot"); got != "ann uid/0 [31mroot" {
		t.Errorf("%q", got)
	}
	if got := Actor("", strings.Repeat("é", 64)); len(got) > maxClaimed || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%q", got)
	}
}

func TestAClaimedNameStandsOnlyBesideAnIdentityThatPeopleShare(t *testing.T) {
	for _, c := range []struct{ identity, claimed, want string }{
		{"uid/0", "ann", "uid/0 (ann)"},
		{"uid/0", "", "uid/0"},
		{"token/ci", "ann", "token/ci"},
		{"spiffe://example.org/ann", "bob", "spiffe://example.org/ann"},
		{"", "ann", "ann"},
	} {
		if got := Actor(c.identity, c.claimed); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
