package agent

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent/attest"
	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// door is how children and callers come in. The zero door lets everybody in as nobody.
type door struct {
	options   []grpc.ServerOption
	authorize func(context.Context, *pb.Hello) (hub.Guest, error)
	inside    string // the address that the agent's own libraries come in by; empty: they cannot
	dial      []grpc.DialOption
	secret    string // that they show
}

// The metadata by which a library inside of this process says on whose behalf it is there.
const (
	secretKey = "pointsman-inside"
	behalfKey = "pointsman-behalf"
)

// door is the one that a desk stands at: who is at the socket is known by their user, others by
// their certificate or the token of the agent's own user.
func (c Config) door() (door, error) {
	token, err := c.addresses().Token()
	if err != nil {
		return door{}, fmt.Errorf("the token of this host's user: %w", err)
	}
	desk := attest.New(attest.Config{Token: token, TokenPath: c.tokenFile(), Log: c.Logger})
	known, err := c.addresses().Credentials(desk.Failed)
	if err != nil {
		return door{}, err
	}
	d := door{secret: rand.Text(), options: slices.Concat(desk.Options(), []grpc.ServerOption{grpc.Creds(known), grpc.UnaryInterceptor(socketOnly)})}
	if c.Socket != "" {
		d.inside = "unix://" + c.Socket
	}
	d.authorize = func(ctx context.Context, hello *pb.Hello) (hub.Guest, error) {
		guest, err := desk.Join(ctx, hello)
		if behalf, ok := d.within(ctx); ok && err == nil {
			guest = hub.Guest{Identity: behalf}
		}
		return guest, err
	}
	return d, nil
}

// within tells on whose behalf a library of this process came.
func (d door) within(ctx context.Context) (identity string, ok bool) {
	md, _ := metadata.FromIncomingContext(ctx)
	shown, behalf := md.Get(secretKey), md.Get(behalfKey)
	if len(shown) != 1 || len(behalf) != 1 || d.secret == "" {
		return "", false
	}
	return behalf[0], subtle.ConstantTimeCompare([]byte(shown[0]), []byte(d.secret)) == 1
}

// behalf is how such a library says so.
func (d door) behalf(identity string) grpc.DialOption {
	return grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		return next(metadata.AppendToOutgoingContext(ctx, secretKey, d.secret, behalfKey, identity), desc, cc, method, options...)
	})
}

// caller is who calls a service of the socket.
func caller(ctx context.Context) string { return cert.PeerOf(ctx).Identity }

// socketOnly keeps the services that act for this node off the loopback address, which anybody on
// the host may reach.
func socketOnly(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	local := strings.HasPrefix(info.FullMethod, "/"+pb.NodeService_ServiceDesc.ServiceName+"/") ||
		strings.HasPrefix(info.FullMethod, "/"+pb.DecisionService_ServiceDesc.ServiceName+"/")
	if local && cert.PeerOf(ctx).UID < 0 {
		return nil, status.Error(codes.PermissionDenied, "this is served on the agent's socket alone")
	}
	return handle(ctx, q)
}
