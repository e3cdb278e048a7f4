package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// resident is how many bytes of this process are in memory, with all garbage given back.
func resident() (int64, error) {
	runtime.GC()
	runtime.GC() // what pools kept
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, rss int64
	if _, err := fmt.Sscan(string(b), &size, &rss); err != nil {
		return 0, err
	}
	return rss * int64(os.Getpagesize()), nil
}

// breakdown is where it is, by the runtime's own count, of so many.
func breakdown(n int) string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	per := func(b uint64) float64 { return float64(b) / 1024 / float64(n) }
	return fmt.Sprintf("heap %.1f, stacks %.1f KiB; %.1f goroutines", per(m.HeapInuse), per(m.StackInuse), float64(runtime.NumGoroutine())/float64(n))
}
