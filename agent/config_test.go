package agent

import (
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
	for _, want := range []string{`parent "nowhere"`, `parent "replica.example:7070"`, `listen "0.0.0.0:7071": not a loopback address`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if err := (Config{}).Check(); !strings.Contains(err.Error(), "parents") || !strings.Contains(err.Error(), "socket") {
		t.Errorf("of an empty config: %v", err)
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
