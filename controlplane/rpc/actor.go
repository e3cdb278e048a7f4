package rpc

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane/access"
)

// UserKey is the header in which callers give themselves a name, for requests that have no room for one.
const UserKey = "pointsman-user-bin"

// actor is who did something, as it will be told.
func actor(ctx context.Context, claimed string) string {
	if names := metadata.ValueFromIncomingContext(ctx, UserKey); claimed == "" && len(names) > 0 {
		claimed = names[0]
	}
	return cert.Actor(access.From(ctx).Identity, claimed)
}
