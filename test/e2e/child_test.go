//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// catalogFor is the first update of the catalog that a child gets which subscribes to all
// of it, and holds what is given.
func catalogFor(t *testing.T, addr string, held ...*pb.Held) *pb.SyncResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := pb.NewSyncServiceClient(asHost(t, addr)).Sync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.SyncRequest{Sequence: 1, Message: &pb.SyncRequest_Hello{Hello: &pb.Hello{
		Library: "e2e", Leaf: "e2e-child", Node: "e2e", Incarnation: 1, Subscribe: &pb.Subscribe{View: 1, All: true}, Held: held,
	}}}); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if u := m.GetUpdate(); u.GetTrack() == pb.Track_TRACK_CATALOG {
			return m
		}
	}
}

// holding is what a child holds that applied an update.
func holding(u *pb.Update) *pb.Held {
	return &pb.Held{Track: u.Track, View: u.View, Version: u.Version, Digest: u.Digest}
}
