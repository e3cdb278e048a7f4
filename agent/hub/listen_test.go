package hub

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLoopbackAddressesMayBeServed(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:7071": true,
		":7071": false, "10.0.0.1:7071": false, "[::]:7071": false, "example.com:1": false, "127.0.0.1": false,
	} {
		if err := checkLoopback(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestTheSocketsFolderIsMadeForThisUserAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "agent.sock")
	l, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
}

func TestOnlyASocketThatNobodyAnswersOnIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sock")
	live, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path, 0o600); err == nil || !strings.Contains(err.Error(), "another process serves it") {
		t.Errorf("a live socket: %v", err)
	}
	live.(*net.UnixListener).SetUnlinkOnClose(false)
	live.Close()
	l, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	l.Close()

	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path, 0o600); err == nil {
		t.Error("a file was taken for a socket")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file: %v", err)
	}
}

func TestOfProcessesThatStartAtOnceOneIsReached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 50 {
		stale(t, path)
		opened := make(chan net.Listener, 8)
		var starts sync.WaitGroup
		for range cap(opened) {
			starts.Go(func() {
				if l, err := listenUnix(path, 0o600); err == nil {
					opened <- l
				}
			})
		}
		starts.Wait()
		if len(opened) != 1 {
			t.Fatalf("%d serve", len(opened))
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("nobody is reached: %v", err)
		}
		conn.Close()
		if err := (<-opened).Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// stale leaves a socket as a process does that was killed.
func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
