package daemon

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// fitBuffers makes messages take buffers of about their own size. By default those from
// 32 KiB on take 1 MiB each, and a catalog goes to all libraries of a node at once.
func fitBuffers() error {
	pool, err := mem.NewBinaryTieredBufferPool(8, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20)
	if err == nil {
		experimental.SetDefaultBufferPool(pool) // for the process, before anything is served
	}
	return err
}
