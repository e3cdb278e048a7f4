package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// agents are the services that agents serve, and no replica.
var agents = []string{"DecisionService", "NodeService", "RecordService"}

func TestEveryMethodOfTheProtosHasALeastRole(t *testing.T) {
	seen := map[string]bool{}
	protoregistry.GlobalFiles.RangeFilesByPackage("pointsman.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				name := string(s.Name()) + "/" + string(s.Methods().Get(j).Name())
				_, known := needed(service + name)
				if of := slices.Contains(agents, string(s.Name())); known == of {
					t.Errorf("%s: has a line: %v; is an agent's: %v", name, known, of)
				}
				seen[name] = true
			}
		}
		return true
	})
	for name := range needs {
		if !seen[name] {
			t.Errorf("%s has a line, and is no method", name)
		}
	}
}

func TestEachRoleMayDoWhatItsLineSays(t *testing.T) {
	may := map[string]string{ // by role, the roles whose methods it may call
		Nobody: "", Client: "client", Agent: "client agent", Replica: "client agent replica reader",
		Reader: "reader", Operator: "reader operator", Admin: "client agent replica reader operator admin",
	}
	for _, role := range append(Roles(), Nobody) {
		w := newWorld()
		w.role("cn/x", role, "")
		for method, least := range needs {
			_, err := w.call(as("x", elsewhere), method)
			good := least == Nobody || slices.Contains(strings.Fields(may[role]), least)
			if (err == nil) != good {
				t.Errorf("role %q calls %s: %v", role, method, err)
			}
		}
	}
}

func TestWhatNobodyServesIsUnknownOnceOneIsKnown(t *testing.T) {
	w := newWorld()
	w.role("cn/x", Admin, "")
	for _, method := range []string{service + "CatalogService/Erase", "/other.v1.Service/Do", "CatalogService/Plan", ""} {
		_, err := w.admit(as("x", elsewhere), nil, method)
		want(t, err, codes.Unimplemented)
		_, err = w.admit(as("", elsewhere), nil, method)
		want(t, err, codes.Unauthenticated)
	}
}

func TestWhoCallsIsToldByTheConnectionAndTheToken(t *testing.T) {
	w := newWorld()
	w.role("cn/x", Reader, "")
	_, secret := w.token(t, "ci", Operator, 0)
	_, brief := w.token(t, "brief", Operator, time.Minute)
	own := w.localIdentity()
	for name, c := range map[string]struct {
		ctx  context.Context
		want Caller
		code codes.Code
	}{
		"a certificate":                            {as("x", elsewhere), Caller{Identity: "cn/x", Role: Reader}, codes.OK},
		"a certificate without a role":             {as("y", elsewhere), Caller{Identity: "cn/y"}, codes.OK},
		"TLS alone":                                {as("", elsewhere), Caller{}, codes.Unauthenticated},
		"a token by TLS":                           {bearing(as("", elsewhere), secret), Caller{Identity: "token/ci", Role: Operator}, codes.OK},
		"a token goes before a certificate":        {bearing(as("x", elsewhere), secret), Caller{Identity: "token/ci", Role: Operator}, codes.OK},
		"a token that ends":                        {bearing(as("", elsewhere), brief), Caller{Identity: "token/brief", Role: Operator}, codes.OK},
		"a token in the clear":                     {bearing(plainly(elsewhere), secret), Caller{}, codes.Unauthenticated},
		"a token in the clear, on this host":       {bearing(plainly(loopback), secret), Caller{Identity: "token/ci", Role: Operator}, codes.OK},
		"nobody's token":                           {bearing(as("", elsewhere), secret+"x"), Caller{}, codes.Unauthenticated},
		"nobody's token beside a certificate":      {bearing(as("x", elsewhere), "pmt_x"), Caller{}, codes.Unauthenticated},
		"the host's token":                         {bearing(plainly(loopback), localToken), Caller{Identity: own, Role: Admin}, codes.OK},
		"the host's token by TLS":                  {bearing(as("", loopback), localToken), Caller{Identity: own, Role: Admin}, codes.OK},
		"the host's token on another host":         {bearing(as("x", elsewhere), localToken), Caller{}, codes.Unauthenticated},
		"loopback alone":                           {plainly(loopback), Caller{}, codes.Unauthenticated},
		"no peer at all":                           {context.Background(), Caller{}, codes.Unauthenticated},
		"an empty token":                           {bearing(as("x", elsewhere), ""), Caller{}, codes.Unauthenticated},
		"another scheme":                           {metadata.NewIncomingContext(as("x", elsewhere), metadata.Pairs("authorization", "Basic eA==")), Caller{}, codes.Unauthenticated},
		"two tokens":                               {metadata.NewIncomingContext(as("x", elsewhere), metadata.Pairs("authorization", "Bearer "+secret, "authorization", "Bearer "+secret)), Caller{}, codes.Unauthenticated},
		"a certificate that names the host's user": {as("../"+own, elsewhere), Caller{Identity: "cn/../" + own}, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.call(c.ctx, "OperatorService/WhoAmI")
			want(t, err, c.code)
			if err == nil && got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), localToken)) {
				t.Error("the error tells the token")
			}
		})
	}
}

func TestRightsEndWhenTheyAreTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.role("cn/x", Admin, "")
		id, secret := w.token(t, "ci", Operator, time.Hour)
		_, other := w.token(t, "ci", Operator, 0)
		plan := func(ctx context.Context) error { _, err := w.call(ctx, "CatalogService/Plan"); return err }
		x, byToken, byOther := as("x", elsewhere), bearing(as("", elsewhere), secret), bearing(as("", elsewhere), other)
		want(t, errors.Join(plan(x), plan(byToken), plan(byOther)), codes.OK)

		w.revoke(id)
		want(t, plan(byToken), codes.PermissionDenied)
		want(t, plan(byOther), codes.OK)
		w.revoke("token/ci")
		want(t, plan(byOther), codes.PermissionDenied)
		w.store.change(func(a *store.Access) { clear(a.Revoked) })
		want(t, errors.Join(plan(byToken), plan(byOther)), codes.OK)

		w.role("cn/x", Client, "")
		want(t, plan(x), codes.PermissionDenied)
		w.role("cn/x", Reader, "")
		w.revoke("cn/x")
		want(t, plan(x), codes.PermissionDenied)
		want(t, plan(bearing(x, other)), codes.PermissionDenied) // no token makes good for it
		time.Sleep(time.Hour + time.Millisecond)
		want(t, plan(byToken), codes.Unauthenticated)
		want(t, plan(as("late", elsewhere)), codes.PermissionDenied)
	})
}

func TestACertificateThatExpiredIsGoodNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.role("cn/x", Client, "")
		ctx := as("x", elsewhere)
		_, err := w.Join(ctx, &pb.Hello{Leaf: "x"})
		want(t, err, codes.OK)
		time.Sleep(time.Hour + time.Millisecond)
		_, err = w.Join(ctx, &pb.Hello{Leaf: "x"})
		want(t, err, codes.Unauthenticated)
	})
}

func TestBeforeTheStoreWasReadOnlyThisHostsUserComesIn(t *testing.T) {
	g := New(Config{Token: localToken})
	for ctx, code := range map[context.Context]codes.Code{
		as("x", elsewhere): codes.Unavailable, bearing(as("", elsewhere), "pmt_x"): codes.Unavailable,
		plainly(loopback): codes.Unauthenticated, bearing(plainly(loopback), localToken): codes.OK,
	} {
		md, _ := metadata.FromIncomingContext(ctx)
		_, err := g.admit(ctx, md, service+"FleetService/Status")
		want(t, err, code)
	}
}

func TestWhatCannotBeGrantedIsRefused(t *testing.T) {
	for identity, good := range map[string]bool{
		"spiffe://example.org/a": true, "spiffe://example.org/agent/*": true, "cn/ada": true, "cn/*": true, "token/ci": true, "uid/1000": true,
		"": false, "ada": false, "cn/": false, "spiffe:/x": false, "spiffe://": false, "uid/root": false, "uid/*": false, "cn/a b": false,
		"cn/a\n": false, "key/x": false, "cn/" + strings.Repeat("a", 300): false,
	} {
		if err := CheckIdentity(identity); (err == nil) != good {
			t.Errorf("identity %.40q: %v", identity, err)
		}
	}
	for subject, good := range map[string]bool{"cn/ada": true, "default.0f3a9c51d2e7": true, "cn/*": false, "default.0f3a": false, "default": false, ".0f3a9c51d2e7": false} {
		if err := CheckSubject(subject); (err == nil) != good {
			t.Errorf("subject %q: %v", subject, err)
		}
	}
	w := newWorld()
	for _, r := range []*pb.CreateTokenRequest{
		{Name: "ci", Role: "root"}, {Name: "ci", Role: Replica}, {Name: "ci"}, {Name: "", Role: Reader}, {Name: "a/b", Role: Reader},
		{Name: "ci", Role: Reader, DurationUs: -1}, {Name: "ci", Role: Reader, DurationUs: 1 << 62}, {Name: strings.Repeat("a", 64), Role: Reader},
	} {
		if _, _, _, err := w.NewToken(r, "ada"); err == nil {
			t.Errorf("%v was made", r)
		}
	}
	if CheckNode(Reader, "n") == nil || CheckNode(Agent, "a b") == nil || CheckNode(Agent, "n") != nil || CheckRole("root") == nil || CheckRole("") != nil {
		t.Error("a node or role is taken for another")
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer pmt_x")
	f.Add("bearer  ")
	f.Fuzz(func(t *testing.T, header string) {
		w := newWorld()
		ctx := metadata.NewIncomingContext(as("", elsewhere), metadata.MD{"authorization": {header}})
		if c, err := w.call(ctx, "OperatorService/WhoAmI"); err == nil {
			t.Errorf("%q is %+v", header, c)
		}
	})
}

func TestWhoIsTurnedAwayIsToldTheWholeRemedy(t *testing.T) {
	w := newWorld()
	id, secret := w.token(t, "ci", Operator, 0)
	w.revoke(id)
	_, revoked := w.call(bearing(as("", elsewhere), secret), "CatalogService/Plan")
	_, relay := w.Join(as("n1", elsewhere), &pb.Hello{Relay: true})
	_, leaf := w.Join(as("n1", elsewhere), &pb.Hello{})
	_, headers := w.call(as("n1", elsewhere), "SyncService/Sync")
	for remedy, err := range map[string]error{
		"`pointsman role unrevoke " + id + "`":                                                        revoked,
		"no role, and a relay needs agent: an admin gives it with `pointsman role grant cn/n1 agent`": relay,
		"with `pointsman role grant cn/n1 client`":                                                    leaf,
		"if it is an agent, with `pointsman role grant cn/n1 agent`":                                  headers,
	} {
		want(t, err, codes.PermissionDenied)
		if !strings.Contains(err.Error(), remedy) {
			t.Errorf("%v, want %s", err, remedy)
		}
	}
}
