package cert

import (
	"fmt"
	"net"
	"syscall"
)

// userOf asks the kernel who connected to a unix socket.
func userOf(conn net.Conn) (uint32, error) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("bug: a connection of type %T", conn)
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *syscall.Ucred
	var failed error
	err = control.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return peer.Uid, nil
}
