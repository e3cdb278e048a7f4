//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/fake"
)

// threeCallers is a scene of two agents with three callers on revision 1.
func threeCallers(t *testing.T, etcd ...string) (*scene, []application) {
	s := newScene(t, etcd...)
	s.publish(s.serving("one", "a b", "b"))
	s.startAgent("n1")
	s.startAgent("n2")
	callers := []application{s.caller("c1", "n1", "chat", "other"), s.caller("c2", "n1", "chat", "other"), s.caller("c3", "n2", "chat", "other")}
	s.converge(20*time.Second, 1, callers...)
	advance(t, 10, callers...)
	return s, callers
}

func TestLosingTheControlPlaneChangesNothing(t *testing.T) {
	s, callers := threeCallers(t)
	whole := catalogFor(t, s.addr)
	s.control.kill()
	advance(t, 60, callers...)
	noneFailed(t, callers...)
	s.startControl()
	again := catalogFor(t, s.addr, holding(whole.GetUpdate()))
	t.Logf("the catalog is %d B; who holds it gets %d B when the control plane returns", proto.Size(whole), proto.Size(again))
	if n := proto.Size(again); n > 200 || len(again.GetUpdate().Upserts) > 0 {
		t.Errorf("who holds the catalog gets %d B of it again", n)
	}
	eventually(t, 45*time.Second, "every caller is seen again", func() bool {
		return strings.Count(must(t, s.addr, "client", "list"), "\n") >= 4
	})
	s.publish(s.serving("two", "a", "b"))
	s.converge(5*time.Second, 2, callers...)
	noneFailed(t, callers...)
}

func TestAnAgentAndACallerRestartFromDisk(t *testing.T) {
	s, callers := threeCallers(t)
	callers[0].stop()
	s.control.kill()
	s.agents["n1"].kill()
	s.startAgent("n1")
	again := s.caller("c1", "n1", "chat", "other")
	advance(t, 10, again)
	s.agents["n2"].kill()
	callers[2].stop()
	alone := s.caller("c3", "n2", "chat", "other") // its agent is away too
	advance(t, 10, alone)
	noneFailed(t, again, alone, callers[1])
}

// What an operator does is live in every caller within a second of the call.
func TestPublishPinAndUnpin(t *testing.T) {
	s, callers := threeCallers(t)
	admin := s.admin()
	step := func(what string, revision uint64, act func(context.Context) error) {
		t.Helper()
		began := time.Now()
		if err := act(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.converge(10*time.Second, revision, callers...)
		took := time.Since(began)
		t.Logf("%s: live everywhere after %v", what, took)
		if took > time.Second {
			t.Errorf("%s: live everywhere only after %v", what, took)
		}
	}
	publish := func(dir string) func(context.Context) error {
		return func(ctx context.Context) error {
			sources, err := catalog.Load(dir)
			if err == nil {
				_, err = admin.Publish(ctx, &pb.PublishRequest{Sources: sources, AnyBase: true})
			}
			return err
		}
	}
	step("publish 2", 2, publish(s.serving("two", "a", "a")))
	before := callers[0].state().Generation
	step("pin 1", 1, func(ctx context.Context) error {
		_, err := admin.Pin(ctx, &pb.PinRequest{Revision: 1, Reason: "trying"})
		return err
	})
	if after := callers[0].state().Generation; after <= before {
		t.Errorf("pin 1: generation %d after %d", after, before)
	}
	must(t, s.addr, "catalog", "publish", s.serving("three", "b", "a"))
	advance(t, 20, callers...)
	if r := callers[0].state().Revision; r != 1 {
		t.Errorf("published while pinned: revision %d is live", r)
	}
	step("unpin", 3, func(ctx context.Context) error {
		_, err := admin.Unpin(ctx, &pb.UnpinRequest{Reason: "tried"})
		return err
	})
	noneFailed(t, callers...)
}

func TestAWorkloadPinMovesThatWorkloadOnly(t *testing.T) {
	s := newScene(t)
	s.publish(s.serving("one", "a", "a"))
	s.startAgent("n1")
	c := s.caller("c1", "n1", "chat", "other")
	s.converge(20*time.Second, 1, c)
	s.publish(s.serving("two", "b", "b"))
	s.converge(5*time.Second, 2, c)
	must(t, s.addr, "catalog", "pin", "1", "-workload", "chat", "-reason", "b is new")
	served := func(name string) int { return s.endpoints[name].Counts().Requests }
	eventually(t, 5*time.Second, "a serves again", func() bool { n := served("a"); advance(t, 4, c); return served("a") > n })
	a, b := served("a"), served("b")
	advance(t, 20, c)
	if served("a") == a || served("b") == b {
		t.Errorf("chat is pinned to a, other runs b: a served %d, b served %d", served("a")-a, served("b")-b)
	}
	must(t, s.addr, "catalog", "unpin", "-workload", "chat", "-reason", "b is good")
	eventually(t, 5*time.Second, "a serves no more", func() bool { n := served("a"); advance(t, 10, c); return served("a") == n })
	noneFailed(t, c)
}

func TestTwoPeoplePublishFromTheSameBase(t *testing.T) {
	s := newScene(t)
	s.publish(s.serving("one", "a", "a"))
	first, second := s.dir+"/first.plan", s.dir+"/second.plan"
	must(t, s.addr, "catalog", "plan", s.serving("two", "a b", "a"), "-out", first)
	must(t, s.addr, "catalog", "plan", s.serving("three", "b", "a"), "-out", second)
	must(t, s.addr, "catalog", "publish", first)
	code, _, errs := cli(t, s.addr, "catalog", "publish", second)
	if code != 3 || !strings.Contains(errs, "1") || !strings.Contains(errs, "2") {
		t.Errorf("the second gets exit %d: %s", code, errs)
	}
	if history := must(t, s.addr, "catalog", "history"); strings.Count(history, "\n") != 3 {
		t.Errorf("history holds not just the two revisions:\n%s", history)
	}
}

func TestABrokenCatalogReachesNothing(t *testing.T) {
	s := newScene(t)
	s.publish(s.serving("one", "a", "a"))
	before := must(t, s.addr, "catalog", "history", "-json")
	broken := s.catalog("broken", workload("chat", "a nowhere")+`
workload "x" {
  apis = ["openai.chat"]
  tier "all" { endpoints = [endpoint.b] }
  balance "p3c" {}
}
model "z" { context_windw = 5 }
`)
	code, _, errs := cli(t, s.addr, "catalog", "publish", broken)
	if code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	for _, want := range []string{"catalog.hcl:", "nowhere", "p3c", "context_window"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no finding says %q:\n%s", want, errs)
		}
	}
	if after := must(t, s.addr, "catalog", "history", "-json"); after != before {
		t.Errorf("a broken catalog changed the history:\n%s\n%s", before, after)
	}
}

func TestASmallFleetOpensTheFleetsBreaker(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("%d callers", n), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.publish(s.serving("one", "a b", "b"))
			s.startAgent("n1")
			s.startAgent("n2")
			var callers []application
			for i := range n {
				callers = append(callers, s.caller(fmt.Sprintf("c%d", i+1), fmt.Sprintf("n%d", 1+i%2), "chat"))
			}
			s.converge(20*time.Second, 1, callers...)
			advance(t, 20, callers...)
			if err := s.endpoints["a"].Set(fake.Fault{Kind: fake.Fail}); err != nil {
				t.Fatal(err)
			}
			took := eventually(t, 5*time.Second, "the fleet's breaker of a is open for every caller", func() bool {
				for _, c := range callers {
					if c.state().Fleet["a"] != "open" {
						return false
					}
				}
				return true
			})
			t.Logf("open for all after %v", took)
			if !strings.Contains(must(t, s.addr, "status"), "breakers not closed: 1 endpoint") {
				t.Error("status does not name the open breaker")
			}
			if err := s.endpoints["a"].Set(); err != nil {
				t.Fatal(err)
			}
			eventually(t, 30*time.Second, "a is closed again", func() bool { return callers[0].state().Fleet["a"] == "closed" })
			noneFailed(t, callers...)
		})
	}
}

func TestEtcdStopsUnderARunningControlPlane(t *testing.T) {
	member := etcdConfig{Dir: t.TempDir(), Client: freePort(t), Peer: freePort(t)}
	startMember := func() *process {
		e := startRole(t, roleEtcd, "etcd", member)
		eventually(t, 15*time.Second, "etcd is ready", func() bool { return slices.Contains(e.output(), "ready") })
		return e
	}
	etcd := startMember()
	s, callers := threeCallers(t, member.Client)
	etcd.kill()
	advance(t, 40, callers...)
	code, _, errs := cli(t, s.addr, "catalog", "publish", s.serving("two", "a", "a"))
	if code != 1 || !strings.Contains(errs, "etcd") {
		t.Errorf("publish without etcd: exit %d: %s", code, errs)
	}
	noneFailed(t, callers...)
	startMember()
	eventually(t, 30*time.Second, "publish works again", func() bool {
		code, _, _ := cli(t, s.addr, "catalog", "publish", s.serving("two", "a", "a"), "-message", "again")
		return code == 0
	})
	s.converge(10*time.Second, 2, callers...)
	noneFailed(t, callers...)
}
