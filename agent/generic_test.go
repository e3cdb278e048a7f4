package agent

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// socketAgent is an agent on a real socket and a loopback address, under a replica on another.
func socketAgent(t *testing.T, dir string, states ...*wire.State) *Agent {
	t.Helper()
	top := newPlace()
	r := serveReplica(top, states...)
	a, err := New(Config{
		Parents: parents, Trust: Trust{Dial: append(top.dial(), plainText)},
		Socket: filepath.Join(dir, "agent.sock"), Listen: "127.0.0.1:0", Dir: filepath.Join(dir, "state"), Node: "n",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait(); r.end() })
	return a
}

func dialed(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// withToken is a connection over loopback that shows the token of the agent's own user.
func withToken(t *testing.T, a *Agent) *grpc.ClientConn {
	t.Helper()
	target := a.listeners[0].Addr().String()
	options, err := cert.Dial(target, cert.Files{}, a.config.tokenFile())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func view(identity string) hub.View {
	return hub.View{Selector: wire.Selector{All: true}, Identity: identity}
}

// generic is a client that knows no more than descriptors, as any language's has.
type generic struct {
	conn    *grpc.ClientConn
	service protoreflect.ServiceDescriptor
}

func newGeneric(t *testing.T, conn *grpc.ClientConn) generic {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	for _, path := range []string{"google/protobuf/timestamp.proto", "pointsman/v1/catalog.proto", "pointsman/v1/record.proto", "pointsman/v1/decision_service.proto"} {
		if f, err := protoregistry.GlobalFiles.FindFileByPath(path); err == nil {
			set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		}
	}
	text, err := proto.Marshal(set) // as protoc writes them
	if err != nil {
		t.Fatal(err)
	}
	read := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(read)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName("pointsman.v1.DecisionService")
	if err != nil {
		t.Fatal(err)
	}
	return generic{conn, d.(protoreflect.ServiceDescriptor)}
}

// call asks in JSON and is answered so.
func (g generic) call(t *testing.T, method, question string) (map[string]any, error) {
	t.Helper()
	m := g.service.Methods().ByName(protoreflect.Name(method))
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if err := protojson.Unmarshal([]byte(question), in); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := g.conn.Invoke(ctx, "/"+string(g.service.FullName())+"/"+method, in, out); err != nil {
		return nil, err
	}
	answer := map[string]any{}
	for i := range m.Output().Fields().Len() {
		f := m.Output().Fields().Get(i)
		answer[string(f.Name())] = out.Get(f).Interface()
	}
	return answer, nil
}

func TestAProgramOfAnyLanguageGetsDecisionsBySocketAndProto(t *testing.T) {
	a := socketAgent(t, t.TempDir(), chat(t, "a", "b"))
	g := newGeneric(t, dialed(t, "unix://"+a.config.Socket))
	to, err := g.call(t, "Pick", `{"workload": "chat", "inputTokens": 100, "affinity": "session-7"}`)
	if err != nil {
		t.Fatal(err)
	}
	if to["model"] != "m-1" || to["base_url"] != "http://127.0.0.1:1/v1" || to["answer_us"] != int64(180e6) {
		t.Errorf("decision: %v", to)
	}
	if _, err := g.call(t, "FirstToken", `{"attempt": "`+to["attempt"].(string)+`"}`); err != nil {
		t.Error(err)
	}
	after, err := g.call(t, "Settle", `{"attempt": "`+to["attempt"].(string)+`", "outcome": "served", "usage": {"input": 100, "output": 7}}`)
	if err != nil || after["again"] != false {
		t.Errorf("settled: %v, %v", after, err)
	}
	if _, err := g.call(t, "Pick", `{"workload": "no-such"}`); status.Code(err) != codes.NotFound {
		t.Errorf("of a workload that is none: %v", err)
	}
}

// What acts for the node is on the socket alone: also for who shows the token of its user.
func TestServicesOfTheNodeAreNotServedOverLoopback(t *testing.T) {
	a := socketAgent(t, t.TempDir(), chat(t, "a"))
	conn := dialed(t, a.listeners[0].Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := pb.NewNodeServiceClient(conn).NodeStatus(ctx, &pb.NodeStatusRequest{})
	if code := status.Code(err); code != codes.Unauthenticated {
		t.Errorf("without a token: %v", err)
	}
	_, err = pb.NewDecisionServiceClient(withToken(t, a)).Pick(ctx, &pb.PickRequest{Workload: "chat"})
	if code := status.Code(err); code != codes.PermissionDenied {
		t.Errorf("with the token of its user: %v", err)
	}
}

func TestAnOperatorOnTheNodeDrainsAndAsksHowItDoes(t *testing.T) {
	dir := t.TempDir()
	a := socketAgent(t, dir, chat(t, "a", "b"))
	conn := dialed(t, "unix://"+a.config.Socket)
	node, decides := pb.NewNodeServiceClient(conn), pb.NewDecisionServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pick := func() string {
		m, err := decides.Pick(ctx, &pb.PickRequest{Workload: "chat"})
		if err != nil {
			t.Fatal(err)
		}
		return m.Endpoint
	}
	pick() // its library brings the view that the drain is of
	for want, q := range map[codes.Code]*pb.DrainNodeRequest{
		codes.InvalidArgument: {Endpoint: "a", DurationUs: (4*time.Hour + time.Second).Microseconds()},
		codes.NotFound:        {Endpoint: "aa"},
	} {
		if _, err := node.DrainNode(ctx, q); status.Code(err) != want {
			t.Errorf("%v: %v", q, err)
		}
	}
	if _, err := node.DrainNode(ctx, &pb.DrainNodeRequest{Endpoint: "a", Reason: "it burns", Actor: "kim"}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		only := true
		for range 20 {
			only = only && pick() == "b"
		}
		if only {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a is picked on")
		}
	}
	s, err := node.NodeStatus(ctx, &pb.NodeStatusRequest{})
	if err != nil || s.Node != "n" || s.Parent == "" || len(s.Drains) != 1 || len(s.Leaves) != 1 {
		t.Fatalf("status: %v, %v", s, err)
	}
	if d := s.Drains[0]; d.Reason != "it burns" || !strings.HasPrefix(d.Actor, "uid/") || !strings.HasSuffix(d.Actor, " (kim)") || d.DurationUs <= 0 || d.DurationUs > mostDrain.Microseconds() {
		t.Errorf("drain: %v", d)
	}
	if _, err := node.UndrainNode(ctx, &pb.UndrainNodeRequest{Endpoint: "b"}); status.Code(err) != codes.NotFound {
		t.Errorf("undrained what this node does not drain: %v", err)
	}
	if _, err := node.UndrainNode(ctx, &pb.UndrainNodeRequest{Endpoint: "a"}); err != nil {
		t.Error(err)
	}
}

func TestATenantIsActedForByWhomTheCatalogNames(t *testing.T) {
	s := newShelf(now, nil)
	entries := map[wire.Key]wire.Entry{}
	for _, m := range []*pb.Tenant{{Name: "acme", Identities: []string{"uid/7"}}, {Name: "all", Identities: []string{"*"}}, {Name: "closed"}} {
		r, err := wire.Resource(pb.Kind_KIND_TENANT, m.Name, m)
		if err != nil {
			t.Fatal(err)
		}
		entries[wire.Key{Kind: r.Kind, Name: r.Name}] = wire.Entry{Body: r.Body}
	}
	for _, identity := range []string{"uid/7", "uid/8", ""} {
		s.put(view(identity), wire.NewState(pb.Track_TRACK_CATALOG, catalog(1).Version(), entries))
	}
	s.put(view("uid/9"), catalog(1))
	for _, c := range []struct {
		identity, tenant string
		want             codes.Code
	}{
		{"uid/7", "acme", codes.OK}, {"uid/8", "acme", codes.PermissionDenied}, {"uid/8", "all", codes.OK}, {"", "all", codes.PermissionDenied},
		{"uid/7", "closed", codes.PermissionDenied}, {"uid/7", "", codes.PermissionDenied}, {"uid/9", "acme", codes.OK}, // whose catalog names nobody
	} {
		if err := s.may(c.identity, c.tenant); status.Code(err) != c.want {
			t.Errorf("%q for %q: %v", c.identity, c.tenant, err)
		}
	}
}

func TestTheExampleInPythonIsPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	script, err := filepath.Abs("../deploy/examples/decide/decide.py")
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", script)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
