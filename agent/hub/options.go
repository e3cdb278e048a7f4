package hub

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
)

// What a connection keeps while nothing is sent: thousands of them idle most of the time.
const (
	readBuffer   = 1 << 10
	writeBuffer  = 16 << 10
	minKeepalive = 5 * time.Second // children may ask whether their parent lives
	idleWithin   = 2 * time.Minute // a connection without a call: whoever shakes hands could keep thousands
)

// ServerOptions are what a server needs to have many children, idle most of the time, at
// little memory, and to send each the same bytes.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(Codec()),
		grpc.ReadBufferSize(readBuffer),
		grpc.WriteBufferSize(writeBuffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleWithin}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minKeepalive, PermitWithoutStream: true}),
	}
}

// Codec is protobuf's, but that what children's updates have in common is encoded once. It
// is one of the ServerOptions.
func Codec() encoding.CodecV2 { return codec{} }
