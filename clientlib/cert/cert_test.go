package cert_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// witness answers with what it saw of its caller.
type witness struct {
	pb.UnimplementedOperatorServiceServer
	peers  chan cert.Peer
	tokens chan string
}

func (w *witness) WhoAmI(ctx context.Context, _ *pb.WhoAmIRequest) (*pb.WhoAmIResponse, error) {
	w.peers <- cert.PeerOf(ctx)
	w.tokens <- strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), ",")
	return &pb.WhoAmIResponse{}, nil
}

type server struct {
	*witness
	target string
	failed chan error
}

func serve(t *testing.T, network, address string, tls credentials.TransportCredentials) *server {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{witness: &witness{peers: make(chan cert.Peer, 100), tokens: make(chan string, 100)}, target: l.Addr().String(), failed: make(chan error, 100)}
	if network == "unix" {
		s.target = "unix://" + address
	}
	g := grpc.NewServer(grpc.Creds(cert.Accept(tls, func(_ string, err error) { s.failed <- err })))
	pb.RegisterOperatorServiceServer(g, s.witness)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(l) })
	t.Cleanup(func() { g.Stop(); serving.Wait() })
	return s
}

// call calls once over a connection of its own.
func (s *server) call(t *testing.T, f cert.Files, token string) (cert.Peer, error) {
	t.Helper()
	options, err := cert.Dial(s.target, f, token)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(s.target, options...)
	if err != nil {
		return cert.Peer{}, err
	}
	defer conn.Close()
	return s.over(t, conn)
}

func (s *server) over(t *testing.T, conn *grpc.ClientConn) (cert.Peer, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := pb.NewOperatorServiceClient(conn).WhoAmI(ctx, &pb.WhoAmIRequest{}); err != nil {
		return cert.Peer{}, err
	}
	return <-s.peers, nil
}

func mutual(t *testing.T, f cert.Files, m cert.Mutual) credentials.TransportCredentials {
	t.Helper()
	c, err := f.Server(m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACertificateNamesItsOwner(t *testing.T) {
	authority := ca.New(t)
	s := serve(t, "tcp", "127.0.0.1:0", mutual(t, authority.Issue(t, "server", ca.Leaf{Name: "server"}), cert.Optional))
	for _, c := range []struct {
		name string
		leaf ca.Leaf
		want string
	}{
		{"a SPIFFE URI before the common name", ca.Leaf{Name: "ada", SPIFFE: "spiffe://example.org/ns/ml/sa/chat"}, "spiffe://example.org/ns/ml/sa/chat"},
		{"the common name", ca.Leaf{Name: "ada"}, "cn/ada"},
		{"another URI is none", ca.Leaf{Name: "ada", SPIFFE: "https://example.org/ada"}, "cn/ada"},
		{"no name is nobody", ca.Leaf{}, ""},
		{"a name that writes lines is nobody's", ca.Leaf{Name: "ada\nadmin"}, ""},
		{"nor is a huge one", ca.Leaf{SPIFFE: "spiffe://example.org/" + strings.Repeat("a", 300)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := s.call(t, authority.Issue(t, "client", c.leaf), "")
			if err != nil {
				t.Fatal(err)
			}
			if p.Identity != c.want || !p.Secure || !p.Here || p.UID != -1 || p.Expires.IsZero() {
				t.Errorf("peer %+v, want identity %q", p, c.want)
			}
		})
	}
	p, err := s.call(t, cert.Files{CA: authority.Path()}, "")
	if err != nil || p.Identity != "" || !p.Secure {
		t.Errorf("without a certificate: %+v, %v", p, err)
	}
}

func TestOnlyTheCAsCertificatesAreTaken(t *testing.T) {
	authority, other := ca.New(t), ca.New(t)
	files := authority.Issue(t, "server", ca.Leaf{Name: "server"})
	for name, m := range map[string]cert.Mutual{"optional": cert.Optional, "required": cert.Required} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "tcp", "127.0.0.1:0", mutual(t, files, m))
			stranger := other.Issue(t, "stranger", ca.Leaf{Name: "ada"})
			stranger.CA = authority.Path()
			late := authority.Issue(t, "late", ca.Leaf{Name: "ada", Until: time.Now().Add(-time.Minute)})
			for who, f := range map[string]cert.Files{"another CA's": stranger, "one that expired": late} {
				if p, err := s.call(t, f, ""); err == nil {
					t.Errorf("%s came in as %+v", who, p)
				}
				select {
				case <-s.failed:
				case <-time.After(10 * time.Second):
					t.Errorf("%s: the server says nothing", who)
				}
			}
			if _, err := s.call(t, cert.Files{CA: authority.Path()}, ""); (err == nil) != (m == cert.Optional) {
				t.Errorf("without a certificate: %v", err)
			}
			if _, err := s.call(t, cert.Files{CA: other.Path()}, ""); err == nil {
				t.Error("a client took another CA's server")
			}
			if _, err := s.call(t, cert.Files{}, ""); err == nil {
				t.Error("plain text came in")
			}
		})
	}
}

func TestASocketsPeerIsItsUser(t *testing.T) {
	authority := ca.New(t)
	s := serve(t, "unix", filepath.Join(t.TempDir(), "s"), mutual(t, authority.Issue(t, "server", ca.Leaf{Name: "server"}), cert.Required))
	p, err := s.call(t, authority.Issue(t, "client", ca.Leaf{Name: "ada"}), "")
	if err != nil || p.UID != os.Getuid() || p.Identity != cert.UserIdentity(os.Getuid()) || !p.Here || !p.Secure {
		t.Errorf("peer %+v, %v", p, err)
	}
}

func TestLoopbackWithoutTLSIsNobody(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", nil)
	p, err := s.call(t, cert.Files{}, "")
	if err != nil || p.Identity != "" || p.UID != -1 || !p.Here || p.Secure {
		t.Errorf("peer %+v, %v", p, err)
	}
}

func TestATokenGoesWithEachCall(t *testing.T) {
	authority := ca.New(t)
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "pmt_one\n")
	secured := serve(t, "tcp", "127.0.0.1:0", mutual(t, authority.Issue(t, "server", ca.Leaf{Name: "server"}), cert.Optional))
	local := serve(t, "tcp", "127.0.0.1:0", nil)
	for _, s := range []*server{secured, local} {
		files := cert.Files{}
		if s == secured {
			files.CA = authority.Path()
		}
		if _, err := s.call(t, files, file); err != nil {
			t.Fatal(err)
		}
		if got := <-s.tokens; got != "Bearer pmt_one" {
			t.Errorf("token %q", got)
		}
	}
}

func TestATokenNeverTravelsInTheClear(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "pmt_one")
	options, err := cert.Dial("198.51.100.1:7400", cert.Files{}, file)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := grpc.NewClient("198.51.100.1:7400", options...); err == nil {
		conn.Close()
		t.Error("another host can be dialled without TLS")
	}
}

func TestAMissingTokenIsSaidWithItsFile(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", nil)
	file := filepath.Join(t.TempDir(), "none")
	_, err := s.call(t, cert.Files{}, file)
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
}

func TestFaultsOfFilesAreAllSaid(t *testing.T) {
	authority := ca.New(t)
	good := authority.Issue(t, "good", ca.Leaf{Name: "good"})
	other := authority.Issue(t, "other", ca.Leaf{Name: "other"})
	for name, c := range map[string]struct {
		files cert.Files
		want  string
	}{
		"no key":         {cert.Files{Cert: good.Cert}, "go together"},
		"another's key":  {cert.Files{Cert: good.Cert, Key: other.Key}, "private key does not match"},
		"no such file":   {cert.Files{CA: "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
		"no certificate": {cert.Files{CA: good.Key}, "no certificate in it"},
	} {
		if err := c.files.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if creds, err := c.files.Client(""); err == nil || creds != nil {
			t.Errorf("%s: %T, %v", name, creds, err)
		}
	}
	if _, err := (cert.Files{CA: good.CA}).Server(cert.Optional); err == nil {
		t.Error("a server without a certificate")
	}
	if _, err := (cert.Files{Cert: good.Cert, Key: good.Key}).Server(cert.Required); err == nil {
		t.Error("certificates are required of clients, and nobody's are taken")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
