package hub

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/test/ca"
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

func TestBeyondThisHostNothingIsServedWithoutTLS(t *testing.T) {
	authority := ca.New(t)
	files := authority.Issue(t, "server", ca.Leaf{Name: "server"})
	for name, c := range map[string]struct {
		addresses Addresses
		want      string // of the error; empty: none
	}{
		"loopback in plain text":        {Addresses{Listen: "127.0.0.1:0"}, ""},
		"another address in plain text": {Addresses{Listen: "10.0.0.1:7400"}, "-tls-cert"},
		"all addresses in plain text":   {Addresses{Listen: ":7400"}, "-tls-cert"},
		"all addresses by TLS":          {Addresses{Listen: ":7400", TLS: files, Mutual: cert.Required}, ""},
		"no port":                       {Addresses{Listen: "10.0.0.1", TLS: files}, "missing port"},
		"a CA is no certificate":        {Addresses{Listen: ":7400", TLS: cert.Files{CA: files.CA}}, "needs a certificate"},
		"certificates of nobody's CA":   {Addresses{Listen: ":7400", TLS: cert.Files{Cert: files.Cert, Key: files.Key}, Mutual: cert.Required}, "name the CA"},
		"a missing file":                {Addresses{Listen: ":7400", TLS: cert.Files{Cert: "/none.pem", Key: files.Key}}, "/none.pem"},
	} {
		err := c.addresses.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAUserOfAHostIsBoundedAsItsHost(t *testing.T) {
	d := newDoor(Bounds{PerIdentity: 1})
	for _, identity := range []string{"uid/1000", "uid/1000", "cn/a", "cn/b"} {
		if err := d.name("unix", identity); err != nil {
			t.Errorf("%s: %v", identity, err)
		}
	}
	if err := d.name("unix", "cn/a"); err == nil {
		t.Error("an identity has more streams than its bound")
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
