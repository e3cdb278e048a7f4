package access

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/pointsman/pointsman/agent/hub"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestAnAgentSpeaksForItsNodeAlone(t *testing.T) {
	w := newWorld()
	w.role("cn/n1", Agent, "")
	w.role("cn/fleet/*", Agent, "")
	w.role("cn/agent", Agent, "n2")
	w.role("cn/slash/", Agent, "")
	w.role("cn/r", Replica, "")
	w.role("cn/leaf", Client, "")
	_, secret := w.token(t, "n3", Agent, 0)
	for _, c := range []struct {
		name  string
		ctx   context.Context
		hello *pb.Hello
		want  hub.Guest
		code  codes.Code
	}{
		{"its own, by the certificate's name", as("n1", elsewhere), &pb.Hello{Relay: true, Node: "n1"}, hub.Guest{Identity: "cn/n1", Node: "n1", Relay: true}, codes.OK},
		{"another's", as("n1", elsewhere), &pb.Hello{Relay: true, Node: "n2"}, hub.Guest{}, codes.PermissionDenied},
		{"none", as("n1", elsewhere), &pb.Hello{Relay: true}, hub.Guest{}, codes.PermissionDenied},
		{"its own, as it was given", as("agent", elsewhere), &pb.Hello{Relay: true, Node: "n2"}, hub.Guest{Identity: "cn/agent", Node: "n2", Relay: true}, codes.OK},
		{"another's, as it is called", as("agent", elsewhere), &pb.Hello{Relay: true, Node: "agent"}, hub.Guest{}, codes.PermissionDenied},
		{"any, by a name that ends in a slash", as("slash/", elsewhere), &pb.Hello{Relay: true, Node: "n2"}, hub.Guest{}, codes.PermissionDenied},
		{"its own, of many", as("fleet/n7", elsewhere), &pb.Hello{Relay: true, Node: "n7"}, hub.Guest{Identity: "cn/fleet/n7", Node: "n7", Relay: true}, codes.OK},
		{"another's, of many", as("fleet/n7", elsewhere), &pb.Hello{Relay: true, Node: "n8"}, hub.Guest{}, codes.PermissionDenied},
		{"two steps below many", as("fleet/a/n7", elsewhere), &pb.Hello{Relay: true, Node: "n7"}, hub.Guest{}, codes.PermissionDenied},
		{"its own, by the token's name", bearing(as("", elsewhere), secret), &pb.Hello{Relay: true, Node: "n3"}, hub.Guest{Identity: "token/n3", Node: "n3", Relay: true}, codes.OK},
		{"a replica's any", as("r", elsewhere), &pb.Hello{Relay: true, Node: "n9"}, hub.Guest{Identity: "cn/r", Relay: true, Replica: true}, codes.OK},
		{"a leaf's own word", as("leaf", elsewhere), &pb.Hello{Node: "n9"}, hub.Guest{Identity: "cn/leaf"}, codes.OK},
		{"a leaf as a relay", as("leaf", elsewhere), &pb.Hello{Relay: true, Node: "leaf"}, hub.Guest{}, codes.PermissionDenied},
		{"nobody", as("none", elsewhere), &pb.Hello{}, hub.Guest{}, codes.PermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := w.Join(c.ctx, c.hello)
			want(t, err, c.code)
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWhomATenantNamesIsAClient(t *testing.T) {
	w := newWorld()
	w.tenants = []*pb.Tenant{{Name: "acme", Identities: []string{"cn/chat", "*"}, Workloads: []string{"chat"}}}
	_, err := w.Join(as("chat", elsewhere), &pb.Hello{})
	want(t, err, codes.OK)
	_, err = w.Join(as("other", elsewhere), &pb.Hello{})
	want(t, err, codes.PermissionDenied)
	w.revoke("cn/chat")
	_, err = w.Join(as("chat", elsewhere), &pb.Hello{})
	want(t, err, codes.PermissionDenied)
}

func TestAnIdentitySeesWhatItsTenantsMayUse(t *testing.T) {
	acme := &pb.Tenant{Name: "acme", Identities: []string{"cn/a"}, Workloads: []string{"chat", "search"}}
	beta := &pb.Tenant{Name: "beta", Identities: []string{"cn/a", "cn/b"}, Workloads: []string{"batch", "search"}}
	open := &pb.Tenant{Name: "open", Workloads: []string{"free"}}
	anyone := &pb.Tenant{Name: "anyone", Identities: []string{"*"}, Workloads: []string{"free"}}
	whole := &pb.Tenant{Name: "whole", Identities: []string{"cn/w"}, Workloads: []string{"*"}}
	for name, c := range map[string]struct {
		tenants  []*pb.Tenant
		identity string
		want     []string
		all      bool
	}{
		"no tenant is declared":          {nil, "cn/x", nil, true},
		"no tenant names anybody":        {[]*pb.Tenant{open}, "cn/x", nil, true},
		"its own":                        {[]*pb.Tenant{acme, beta, open}, "cn/b", []string{"batch", "search"}, false},
		"those of two, each once":        {[]*pb.Tenant{acme, beta}, "cn/a", []string{"batch", "chat", "search"}, false},
		"nobody's":                       {[]*pb.Tenant{acme, open}, "cn/x", nil, false},
		"nobody in particular":           {[]*pb.Tenant{acme, anyone}, "", nil, false},
		"a tenant that anybody acts for": {[]*pb.Tenant{acme, anyone}, "cn/x", []string{"free"}, false},
		"all workloads":                  {[]*pb.Tenant{acme, whole}, "cn/w", nil, true},
		"an identity is no pattern":      {[]*pb.Tenant{acme}, "cn/*", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, all := Workloads(c.tenants, c.identity)
			if diff := cmp.Diff(c.want, got); diff != "" || all != c.all {
				t.Errorf("all %v %s", all, diff)
			}
		})
	}
	w := newWorld()
	w.revoke("cn/w")
	if names, all := w.Workloads([]*pb.Tenant{whole}, "cn/w"); all || names != nil {
		t.Errorf("who was revoked sees %v, all %v", names, all)
	}
}

func TestATokenIsOfItsNamespace(t *testing.T) {
	w := newWorld()
	id, secret := w.token(t, "ci", Admin, 0)
	if !strings.HasPrefix(id, "default.") || !strings.HasPrefix(secret, "pmt_") {
		t.Errorf("id %q", id)
	}
	other := New(Config{Namespace: "default2"})
	other.apply(&w.store.access)
	for _, prefix := range []*Guard{other, New(Config{Namespace: "def"})} {
		prefix.apply(&w.store.access)
		ctx := bearing(as("", elsewhere), secret)
		md, _ := metadata.FromIncomingContext(ctx)
		_, err := prefix.admit(ctx, md, service+"FleetService/Status")
		want(t, err, codes.Unauthenticated)
	}
	for ns, good := range map[string]bool{
		"": true, "default": true, "staging": false, "def": false, "default2": false, "..": false, "../default": false,
		"default/": false, "default/../staging": false, "/": false, "\x00": false, " default": false, strings.Repeat("a", 1<<20): false,
	} {
		_, err := w.unary(context.WithValue(t.Context(), callerKey{}, Caller{Identity: "token/ci"}), &pb.PlanRequest{Namespace: ns},
			&grpc.UnaryServerInfo{FullMethod: service + "CatalogService/Plan"}, func(context.Context, any) (any, error) { return nil, nil })
		if (err == nil) != good {
			t.Errorf("namespace %.40q: %v", ns, err)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("namespace %.40q: an error of %d bytes", ns, len(err.Error()))
		}
	}
	if w.denied.figures.Denied == 0 {
		t.Error("nobody counted them")
	}
}
