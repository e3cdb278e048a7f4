package rpc

import (
	"context"
	"strings"
	"unicode"

	"google.golang.org/grpc/metadata"

	"github.com/pointsman/pointsman/controlplane/access"
)

const (
	onThisHost = "uid/" // identities of processes, which several people may share
	maxClaimed = 64     // bytes of a name
)

// UserKey is the header in which callers give themselves a name, for requests that have no room for one.
const UserKey = "pointsman-user-bin"

// actor is who did something, as it will be told: the caller's identity.
func actor(ctx context.Context, claimed string) string {
	if names := metadata.ValueFromIncomingContext(ctx, UserKey); claimed == "" && len(names) > 0 {
		claimed = names[0]
	}
	return beside(access.From(ctx).Identity, plain(claimed))
}

// beside puts the name that callers give themselves beside an identity that several people may share;
// alone it stands where nobody looked who calls.
func beside(who, claimed string) string {
	switch {
	case who == "":
		return claimed
	case claimed == "" || !strings.HasPrefix(who, onThisHost):
		return who
	}
	return who + " (" + claimed + ")"
}

// plain takes out of a name what would make it look like something else.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == '(' || r == ')' {
			return -1
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxClaimed)], "")
}
