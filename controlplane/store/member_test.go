package store

import (
	"context"
	"os"
	"strings"
	"testing"
)

func TestAnEmbeddedMemberListensNowhere(t *testing.T) {
	before := listening(t)
	s, err := Open(context.Background(), Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.client.Get(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if after := listening(t); after != before {
		t.Fatalf("listening sockets before: %q, with a member: %q", before, after)
	}
}

func listening(t *testing.T) string {
	var out []string
	own := ownSockets(t)
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Skipf("no list of sockets: %v", err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && own[f[9]] {
				out = append(out, f[1])
			}
		}
	}
	return strings.Join(out, " ")
}

// ownSockets are the inodes of the sockets that this process holds.
func ownSockets(t *testing.T) map[string]bool {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no list of descriptors: %v", err)
	}
	own := map[string]bool{}
	for _, e := range entries {
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		if inode, ok := strings.CutPrefix(link, "socket:["); err == nil && ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return own
}
