package agent

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckNamesEveryFault(t *testing.T) {
	err := Config{Parents: []string{"nowhere", "replica.example:7070"}, Listen: "0.0.0.0:7071"}.Check()
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{`parent "nowhere"`, `parent "replica.example:7070"`, "listen 0.0.0.0:7071: not a loopback address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if err := (Config{}).Check(); !strings.Contains(err.Error(), "parents") || !strings.Contains(err.Error(), "socket") {
		t.Errorf("of an empty config: %v", err)
	}
}

func TestLoopbackAddressesMayBeServed(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:7071": true,
		":7071": false, "10.0.0.1:7071": false, "[::]:7071": false, "example.com:1": false, "127.0.0.1": false,
	} {
		if err := checkListen(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestTheSocketsFolderIsMadeForThisUserAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "agent.sock")
	l, err := listenUnix(path)
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
	if _, err := listenUnix(path); err == nil || !strings.Contains(err.Error(), "another process serves it") {
		t.Errorf("a live socket: %v", err)
	}
	live.(*net.UnixListener).SetUnlinkOnClose(false)
	live.Close()
	l, err := listenUnix(path)
	if err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	l.Close()

	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path); err == nil {
		t.Error("a file was taken for a socket")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file: %v", err)
	}
}

func TestNewThatFailsLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	occupied := filepath.Join(dir, "state")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "agent.sock")
	if _, err := New(Config{Parents: []string{"127.0.0.1:1"}, Socket: path, Dir: occupied}); err == nil {
		t.Fatal("a file was taken for a folder")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket was left: %v", err)
	}
	if _, err := os.Lstat(occupied); err != nil {
		t.Error(err)
	}
}
