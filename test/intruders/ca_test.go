package intruders

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// sign runs the CA for trials.
func sign(t *testing.T, dir string, args ...string) error {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("the CA for trials needs openssl")
	}
	out, err := exec.Command("../../deploy/ca/ca.sh", append([]string{dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Logf("%v: %s", args, out)
	}
	return err
}

func files(dir, name string) cert.Files {
	at := func(file string) string { return filepath.Join(dir, file) }
	return cert.Files{CA: at("ca.pem"), Cert: at(name + ".pem"), Key: at(name + "-key.pem")}
}

// mirror tells callers whom it sees.
type mirror struct {
	pb.UnimplementedOperatorServiceServer
}

func (mirror) WhoAmI(ctx context.Context, _ *pb.WhoAmIRequest) (*pb.WhoAmIResponse, error) {
	return &pb.WhoAmIResponse{Identity: cert.PeerOf(ctx).Identity}, nil
}

func TestTheTrialCAMakesWhatProgramsNeed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	for _, args := range [][]string{
		{"init"}, {"server", "replica-1", "localhost", "127.0.0.1", "::1", "replica-1.example.org"},
		{"client", "ada"}, {"client", "spiffe://example.org/pointsman/agent/node-7"},
	} {
		if err := sign(t, dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 8 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 && filepath.Ext(e.Name()) == ".pem" && len(e.Name()) > 8 && e.Name()[len(e.Name())-8:] == "-key.pem" {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	target := serveMirror(t, files(dir, "replica-1"))
	for name, want := range map[string]string{"ada": "cn/ada", "node-7": "spiffe://example.org/pointsman/agent/node-7", "replica-1": "cn/replica-1"} {
		if got := seenAs(t, target, files(dir, name)); got != want {
			t.Errorf("%s is seen as %q, want %q", name, got, want)
		}
	}
	if err := sign(t, dir, "client", "ada"); err != nil {
		t.Errorf("a certificate cannot be renewed: %v", err)
	}
	if got := seenAs(t, target, files(dir, "ada")); got != "cn/ada" {
		t.Errorf("renewed, ada is seen as %q", got)
	}
	for _, args := range [][]string{
		{"init"}, {"client", "../ada"}, {"client", "a/CN=admin"}, {"client", "spiffe://example.org/a,URI:spiffe://example.org/b"}, {"client"},
		{"server", "x"}, {"server", "x", "a,DNS:b"}, {"client", ""}, {"other"},
	} {
		if sign(t, dir, args...) == nil {
			t.Errorf("%q was done", args)
		}
	}
}

func serveMirror(t *testing.T, f cert.Files) string {
	t.Helper()
	tls, err := f.Server(cert.Required)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(cert.Accept(tls, nil)))
	pb.RegisterOperatorServiceServer(s, mirror{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { s.Stop(); serving.Wait() })
	return l.Addr().String()
}

func seenAs(t *testing.T, target string, f cert.Files) string {
	t.Helper()
	options, err := cert.Dial(target, f, "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	who, err := pb.NewOperatorServiceClient(conn).WhoAmI(ctx, &pb.WhoAmIRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return who.GetIdentity()
}
