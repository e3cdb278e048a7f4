//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package uplink

import (
	"os"
	"syscall"
)

// lock takes f for this process, or fails at once.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// mine tells whether a file belongs to this process's user.
func mine(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
