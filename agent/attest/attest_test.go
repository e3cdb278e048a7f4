package attest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "pmt_own"

var (
	loopback  = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	elsewhere = &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 1}
)

func as(name string, from net.Addr) context.Context {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	return peer.NewContext(context.Background(), &peer.Peer{Addr: from, AuthInfo: credentials.TLSInfo{
		State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}},
	}})
}

func bearing(ctx context.Context, token string) context.Context {
	return metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+token))
}

func plainly(from net.Addr) context.Context {
	return peer.NewContext(context.Background(), &peer.Peer{Addr: from})
}

func (d *Desk) taps(ctx context.Context, method string) error {
	md, _ := metadata.FromIncomingContext(ctx)
	_, err := d.tap(ctx, &tap.Info{FullMethodName: method, Header: md})
	return err
}

func TestChildrenAreKnownByWhatCannotBeMadeUp(t *testing.T) {
	d := New(Config{Token: token, TokenPath: "/run/token"})
	own := cert.UserIdentity(d.own)
	for name, c := range map[string]struct {
		ctx  context.Context
		want hub.Guest
		code codes.Code
	}{
		"by a certificate":                {as("chat", elsewhere), hub.Guest{Identity: "cn/chat"}, codes.OK},
		"over loopback, by the token":     {bearing(plainly(loopback), token), hub.Guest{Identity: own, Relay: true}, codes.OK},
		"over loopback, as nobody":        {plainly(loopback), hub.Guest{}, codes.Unauthenticated},
		"over loopback, by another token": {bearing(plainly(loopback), "pmt_other"), hub.Guest{}, codes.Unauthenticated},
		"by the token, from elsewhere":    {bearing(plainly(elsewhere), token), hub.Guest{}, codes.Unauthenticated},
		"by nothing":                      {context.Background(), hub.Guest{}, codes.Unauthenticated},
	} {
		got, err := d.Join(c.ctx, &pb.Hello{Leaf: "x"})
		if status.Code(err) != c.code || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := New(Config{}).Join(bearing(plainly(loopback), ""), &pb.Hello{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("an empty token where there is none: %v", err)
	}
}

func TestASocketsChildIsItsUser(t *testing.T) {
	d := New(Config{Token: token})
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan hub.Guest, 1)
	s := grpc.NewServer(append(d.Options(), grpc.Creds(cert.Accept(nil, d.Failed)))...)
	pb.RegisterSyncServiceServer(s, greeter{joins: func(ctx context.Context) {
		g, err := d.Join(ctx, &pb.Hello{})
		if err != nil {
			t.Error(err)
		}
		joined <- g
	}})
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	options, err := cert.Dial("unix://"+path, cert.Files{}, "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix://"+path, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pb.NewSyncServiceClient(conn).Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := <-joined; g != (hub.Guest{Identity: cert.UserIdentity(d.own)}) { // in a container anybody may be that
		t.Errorf("%+v", g)
	}
	conn.Close()
	s.Stop()
	serving.Wait()
}

type greeter struct {
	pb.UnimplementedSyncServiceServer
	joins func(context.Context)
}

func (g greeter) Sync(stream pb.SyncService_SyncServer) error {
	g.joins(stream.Context())
	return nil
}

func TestWhatIsTheHostsOwnIsKeptFromOtherHosts(t *testing.T) {
	d := New(Config{Token: token})
	seen := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("pointsman.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				name := string(s.Name()) + "/" + string(s.Methods().Get(j).Name())
				want := codes.Unimplemented
				switch s.Name() {
				case "SyncService":
					want = codes.OK
				case "RecordService", "NodeService", "DecisionService":
					want = codes.PermissionDenied
					if err := d.taps(bearing(plainly(loopback), token), service+name); err != nil {
						t.Errorf("%s on this host: %v", name, err)
					}
				}
				if err := d.taps(as("chat", elsewhere), service+name); status.Code(err) != want {
					t.Errorf("%s from elsewhere: %v, want %v", name, err, want)
				}
				if err := d.taps(as("chat", loopback), service+name); status.Code(err) != want {
					t.Errorf("%s by a certificate through a tunnel: %v, want %v", name, err, want)
				}
				if err := d.taps(plainly(loopback), service+name); status.Code(err) != codes.Unauthenticated {
					t.Errorf("%s as nobody: %v", name, err)
				}
				seen++
			}
		}
		return true
	})
	if seen < len(methods) {
		t.Errorf("%d methods", seen)
	}
}

// A drain takes an endpoint from all users of a node: no one of them may do that to the others.
func TestOnlyRootAndTheAgentsUserDrainANode(t *testing.T) {
	d := New(Config{Token: token})
	d.own = 990
	for name, whose := range methods {
		for uid, want := range map[int]bool{0: true, 990: true, 1000: whose != operators, -1: whose == children} {
			if err := d.refuses(cert.Peer{UID: uid}, false, whose, name); (err == nil) != want || err != nil && status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s by uid %d: %v", name, uid, err)
			}
		}
		if err := d.refuses(cert.Peer{UID: -1}, true, whose, name); err != nil {
			t.Errorf("%s with the token of the agent's user: %v", name, err)
		}
	}
	if methods["NodeService/DrainNode"] != operators || methods["NodeService/UndrainNode"] != operators {
		t.Error("a drain is everybody's")
	}
}

func TestWhoIsTurnedAwayIsLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := New(Config{Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
		for range 1000 {
			_ = d.taps(bearing(plainly(loopback), "pmt_guess"), service+"SyncService/Sync")
		}
		time.Sleep(time.Second + time.Millisecond)
		d.Failed("198.51.100.1", net.ErrClosed)
		if lines := strings.Count(out.String(), "\n"); lines != 2 || !strings.Contains(out.String(), "calls=1000") || strings.Contains(out.String(), "pmt_") {
			t.Errorf("%d lines: %s", lines, &out)
		}
	})
}

func TestACertificateThatExpiredIsGoodNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{})
		ctx := as("chat", elsewhere)
		if _, err := d.Join(ctx, &pb.Hello{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Millisecond)
		if _, err := d.Join(ctx, &pb.Hello{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%v", err)
		}
	})
}
