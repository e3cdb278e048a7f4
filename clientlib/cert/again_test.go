package cert_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

// shake is one handshake between two sides: whom each saw.
func shake(t *testing.T, server, client credentials.TransportCredentials) (seenByServer, seenByClient string) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	var side sync.WaitGroup
	side.Go(func() {
		if _, info, err := server.ServerHandshake(a); err == nil {
			seenByServer = nameOf(info)
		}
	})
	if _, info, err := client.ClientHandshake(t.Context(), "localhost", b); err == nil {
		seenByClient = nameOf(info)
	}
	side.Wait()
	return seenByServer, seenByClient
}

func nameOf(info credentials.AuthInfo) string {
	var certs []*x509.Certificate
	if tls, ok := info.(credentials.TLSInfo); ok {
		certs = tls.State.PeerCertificates
	}
	if len(certs) == 0 {
		return "nobody"
	}
	return certs[0].Subject.CommonName
}

// pair is a server and a client with files, and what they said of these.
type pair struct {
	authority      *ca.CA
	server, client credentials.TransportCredentials
	files          cert.Files // of the server
	said           []string
}

func newPair(t *testing.T) *pair {
	p := &pair{authority: ca.New(t)}
	p.files = p.authority.Issue(t, "server", ca.Leaf{Name: "first"})
	p.files.Said = func(err error) { p.said = append(p.said, err.Error()) }
	var err error
	if p.server, err = p.files.Server(cert.Required); err != nil {
		t.Fatal(err)
	}
	if p.client, err = p.authority.Issue(t, "client", ca.Leaf{Name: "ada"}).Client(""); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) shows(t *testing.T, want string) {
	t.Helper()
	server, client := shake(t, p.server, p.client)
	if server != "ada" || client != want {
		t.Errorf("the server saw %q, the client %q, want ada and %s", server, client, want)
	}
}

func TestFilesThatChangeAreReadAgainAtTheNextHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.shows(t, "first")
		p.authority.Issue(t, "server", ca.Leaf{Name: "second"})
		p.shows(t, "first") // it looks once a second
		time.Sleep(time.Second + time.Millisecond)
		p.shows(t, "second")
		p.authority.Issue(t, "client", ca.Leaf{Name: "ada"})
		p.shows(t, "second")
		if len(p.said) > 0 {
			t.Errorf("said %q", p.said)
		}
	})
}

func TestABrokenNewFileLeavesTheOldOneAndIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		good := read(t, p.files.Key)
		other := p.authority.Issue(t, "other", ca.Leaf{Name: "other"})
		for i, broken := range []func(){
			func() { write(t, p.files.Key, "nonsense") },
			func() { write(t, p.files.Key, read(t, other.Key)) }, // the certificate is still to come
			func() { write(t, p.files.CA, "") },
			func() {
				if err := os.Remove(p.files.Cert); err != nil {
					t.Fatal(err)
				}
			},
		} {
			roots := read(t, p.files.CA)
			broken()
			for range 3 {
				time.Sleep(time.Second + time.Millisecond)
				p.shows(t, "first")
			}
			if len(p.said) != i+1 || !strings.Contains(p.said[i], "the old ones stay in use") {
				t.Fatalf("after %d broken files it said %q", i+1, p.said)
			}
			if strings.Contains(strings.Join(p.said, ""), "PRIVATE KEY") {
				t.Error("it said what is in a key's file")
			}
			write(t, p.files.Key, good)
			write(t, p.files.CA, roots)
		}
		p.authority.Issue(t, "server", ca.Leaf{Name: "second"})
		time.Sleep(time.Second + time.Millisecond)
		p.shows(t, "second")
	})
}

func TestACAThatChangesIsReadAgainOnBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, next := newPair(t), ca.New(t)
		stranger, err := next.Issue(t, "client", ca.Leaf{Name: "bob"}).Client("")
		if err != nil {
			t.Fatal(err)
		}
		if server, _ := shake(t, p.server, stranger); server != "" {
			t.Fatalf("%s came in", server)
		}
		both := read(t, p.authority.Path()) + read(t, next.Path())
		write(t, p.authority.Path(), both)
		write(t, next.Path(), both)
		time.Sleep(time.Second + time.Millisecond)
		p.shows(t, "first")
		if server, client := shake(t, p.server, stranger); server != "bob" || client != "first" {
			t.Errorf("the server saw %q, the client %q", server, client)
		}
	})
}

func TestATokenThatChangesIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		write(t, file, "pmt_one\n")
		l := bufconn.Listen(1 << 16)
		w := &witness{peers: make(chan cert.Peer, 10), tokens: make(chan string, 10)}
		g := grpc.NewServer()
		pb.RegisterOperatorServiceServer(g, w)
		var serving sync.WaitGroup
		serving.Go(func() { _ = g.Serve(l) })
		options, err := cert.Dial("127.0.0.1:1", cert.Files{}, file)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient("passthrough:127.0.0.1:1", append(options, grpc.WithContextDialer(
			func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
		if err != nil {
			t.Fatal(err)
		}
		shows := func(want string) {
			t.Helper()
			if _, err := pb.NewOperatorServiceClient(conn).WhoAmI(t.Context(), &pb.WhoAmIRequest{}); err != nil {
				t.Fatal(err)
			}
			if got := <-w.tokens; got != "Bearer "+want {
				t.Errorf("token %q, want %s", got, want)
			}
		}
		shows("pmt_one")
		write(t, file, "pmt_two\n")
		shows("pmt_one")
		time.Sleep(time.Second + time.Millisecond)
		shows("pmt_two")
		write(t, file, "two\nlines\n")
		time.Sleep(time.Second + time.Millisecond)
		shows("pmt_two")
		conn.Close()
		g.Stop()
		serving.Wait()
	})
}

func TestAHostsTokenIsItsUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	path := filepath.Join(dir, "token")
	first, err := cert.OwnToken(path)
	if err != nil || !strings.HasPrefix(first, cert.TokenPrefix) || len(first) != len(cert.TokenPrefix)+43 {
		t.Fatalf("token of %d bytes, %v", len(first), err)
	}
	for at, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", at, info.Mode(), err)
		}
	}
	again, err := cert.OwnToken(path)
	if err != nil || again != first {
		t.Errorf("another token, or %v: what was handed out is good no more", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := cert.OwnToken(path); err == nil || !strings.Contains(err.Error(), "others may open it") || strings.Contains(err.Error(), first) {
		t.Errorf("a file that others may open: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := cert.OwnToken(link); err == nil {
		t.Error("a link is followed")
	}
}

func TestOfProcessesThatMakeATokenAtOnceOneDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	made := make(chan string, 8)
	var makers sync.WaitGroup
	for range cap(made) {
		makers.Go(func() {
			token, err := cert.OwnToken(path)
			if err != nil {
				t.Error(err)
			}
			made <- token
		})
	}
	makers.Wait()
	close(made)
	first := <-made
	for token := range made {
		if token != first {
			t.Error("two tokens of one file")
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestBothEndsOfPlainTLSShowTheNewestFilesAndNeverSpoiledOnes(t *testing.T) {
	authority := ca.New(t)
	first := authority.Issue(t, "one", ca.Leaf{Name: "one"})
	synctest.Test(t, func(t *testing.T) {
		server, err := first.ServerTLS(cert.Optional)
		if err != nil {
			t.Fatal(err)
		}
		client, err := first.ClientTLS()
		if err != nil {
			t.Fatal(err)
		}
		shown := func(want string) {
			t.Helper()
			config, err := server.GetConfigForClient(nil)
			if err != nil {
				t.Fatal(err)
			}
			pair, err := client.GetClientCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			if s, c := config.Certificates[0].Leaf.Subject.CommonName, pair.Leaf.Subject.CommonName; s != want || c != want {
				t.Errorf("a server shows %s, a client %s, want %s", s, c, want)
			}
		}
		shown("one")
		next := authority.Issue(t, "two", ca.Leaf{Name: "two"})
		for from, to := range map[string]string{next.Cert: first.Cert, next.Key: first.Key} {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		shown("two")
		if err := os.WriteFile(first.Cert, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		shown("two")
	})
}

func TestATokenFileOfThisUserIsNotForAllOthersToRead(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "token"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("secret\n"), 0o600), os.Symlink("token", link)); err != nil {
		t.Fatal(err)
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o644: false, 0o444: false, 0o602: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := cert.ReadToken(file); (err == nil) != good {
			t.Errorf("%v: %v", mode, err)
		}
		if _, err := cert.ReadToken(link); err != nil { // as Kubernetes mounts a secret
			t.Errorf("%v behind a link: %v", mode, err)
		}
	}
}
