package main

import (
	"syscall"
	"time"
)

// nap sleeps as exactly as the kernel can: the runtime's timers are a millisecond coarse
// when nothing else goes on.
func nap(d time.Duration) {
	if d > 0 {
		ts := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&ts, nil) // a signal ends it early, and the pace goes on from the clock
	}
}
