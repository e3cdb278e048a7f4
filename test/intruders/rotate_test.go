package intruders

import (
	"context"
	"crypto/x509"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

// Scenario 61: what is known of endpoints that did not change is kept, and streams go on, while every
// certificate is replaced under them.
func TestReplacingCertificatesUnderLiveStreamsLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.grant(t, "cn/node-1", "agent", "")
	a := w.startAgent(t, "node-1", "node-1")
	ids := w.identities(t)
	c := join(t, dial(t, a.Addr().String(), w.authority.Issue(t, "acme", ca.Leaf{Name: "acme"}), ""), leafHello("one"))
	c.view()
	c.report(&pb.Report{Leaves: []*pb.LeafReport{failing("one", "a", "chat", ids["a"], 1)}})
	eventually(t, "the endpoint is open", func() bool { return open(w.endpoints(t)["a"]) })
	before := w.clients(t)
	round := roundOf(w.endpoints(t)["a"])

	old := w.shown(t)
	for _, name := range []string{"replica", "node-1", "acme"} {
		w.authority.Issue(t, name, ca.Leaf{Name: name})
	}
	eventually(t, "new connections see the new certificate", func() bool { return !slices.Equal(w.shown(t), old) })

	c.report(&pb.Report{Leaves: []*pb.LeafReport{failing("one", "a", "chat", ids["a"], 2)}})
	after := w.clients(t)
	if len(before) != 1 || len(after) != 1 || after[0].GetState().GetGone() || after[0].GetState().GetIncarnation() != before[0].GetState().GetIncarnation() {
		t.Errorf("before %v, after %v", before, after)
	}
	if e := w.endpoints(t)["a"]; !open(e) || roundOf(e) != round || e.GetWitnesses() != 1 {
		t.Errorf("what was known of the endpoint is now %v", e)
	}
	if !a.Status().Link.Connected {
		t.Error("the agent's stream ended")
	}
	c.send(&pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: &pb.Subscribe{View: 2, Workloads: []string{"chat"}}}})
	if names, _ := c.view(); !slices.Contains(names, "workload chat") {
		t.Errorf("over the old stream %q comes", names)
	}
	fresh := join(t, dial(t, a.Addr().String(), w.authority.Issue(t, "acme", ca.Leaf{Name: "acme"}), ""), leafHello("two"))
	if names, _ := fresh.view(); !slices.Contains(names, "workload chat") {
		t.Errorf("over a new stream %q comes", names)
	}
}

func roundOf(e *pb.EndpointInfo) (round uint64) {
	for _, b := range e.GetFleet().GetBreakers() {
		round = max(round, b.GetRound())
	}
	return round
}

// shown is the certificate that a new connection sees.
func (w *world) shown(t *testing.T) []byte {
	t.Helper()
	conn := w.dial(t, cert.Files{CA: w.authority.Path()}, w.ownToken())
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var p peer.Peer
	if _, err := pb.NewOperatorServiceClient(conn).WhoAmI(ctx, &pb.WhoAmIRequest{}, grpc.Peer(&p)); err != nil {
		t.Fatal(err)
	}
	var shown *x509.Certificate
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		shown = info.State.PeerCertificates[0]
	}
	return shown.Raw
}

// A token that replaces another in its file is shown at the next call, and the old one may go.
func TestATokensFileIsReplacedUnderAConnection(t *testing.T) {
	w := newWorld(t)
	path, old := w.token(t, "ci", "reader", 0)
	conn := w.withToken(t, path)
	becomes(t, codes.OK, func() error { return statusOf(t, conn) })
	second, _ := w.token(t, "ci", "reader", 0)
	rename(t, second, path)
	if _, err := w.operate().Revoke(t.Context(), &pb.RevokeRequest{Subject: old.GetInfo().GetId(), Reason: "replaced"}); err != nil {
		t.Fatal(err)
	}
	becomes(t, codes.OK, func() error { return statusOf(t, conn) })
}
