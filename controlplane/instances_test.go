package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/route"
)

// zone answers for names until it is told otherwise.
type zone struct {
	mu      sync.Mutex
	hosts   map[string][]string
	failing map[string]error
	asked   map[string]int
	hang    bool
	busy    int
	busiest int
}

func (z *zone) lookup(ctx context.Context, host string) ([]string, error) {
	z.mu.Lock()
	z.asked[host]++
	z.busy++
	z.busiest = max(z.busiest, z.busy)
	hang, ips, err := z.hang, z.hosts[host], z.failing[host]
	z.mu.Unlock()
	defer func() { z.mu.Lock(); z.busy--; z.mu.Unlock() }()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return ips, err
}

func (z *zone) set(host string, ips ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.hosts[host] = ips
}

func (z *zone) fail(host string, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.failing[host] = err
}

// term is a resolver that runs, and what it published.
type resolving struct {
	catalogs chan *route.Catalog
	stop     func()

	mu      sync.Mutex
	said    [][]route.FleetInstances
	alarmed string
}

func (v *resolving) alarm(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.alarmed = text
}

func resolveBy(z *zone, log hclog.Logger, held ...route.FleetInstances) *resolving {
	v := &resolving{catalogs: make(chan *route.Catalog)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		newResolver(z.lookup, v.alarm, log).run(ctx, held, v.catalogs, func(all []route.FleetInstances) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.said = append(v.said, all)
		})
	}()
	v.stop = func() { cancel(); <-done }
	return v
}

// last is what was published last, as text, and how often something was.
func (v *resolving) last() (string, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.said) == 0 {
		return "", 0
	}
	var all []string
	for _, in := range v.said[len(v.said)-1] {
		all = append(all, in.Endpoint+"="+strings.Join(in.Addresses(), ","))
	}
	return strings.Join(all, " "), len(v.said)
}

func named(endpoints ...string) *route.Catalog {
	c := &route.Catalog{}
	for _, e := range endpoints {
		name, dns, _ := strings.Cut(e, "=")
		c.Endpoints = append(c.Endpoints, route.Endpoint{Name: name, Model: "m", Instances: route.Instances{DNS: dns}})
	}
	return c
}

func TestNamesThatDoNotResolveAreOneAlarmUntilTheyDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{hosts: map[string][]string{"a": {"10.0.0.1"}}, failing: map[string]error{}, asked: map[string]int{}}
		for _, host := range []string{"b", "c", "d", "e"} {
			z.fail(host, errors.New("no such host"))
		}
		v := resolveBy(z, hclog.NewNullLogger())
		defer v.stop()
		says := func(want string) {
			t.Helper()
			v.mu.Lock()
			defer v.mu.Unlock()
			if !strings.HasPrefix(v.alarmed, want) || (v.alarmed == "") != (want == "") {
				t.Errorf("%q, want %q", v.alarmed, want)
			}
		}
		v.catalogs <- named("x=a:80", "y=b:80", "z=c:80", "u=d:80", "w=e:80")
		time.Sleep(time.Second)
		says("unresolved: no answer for b:80, c:80, d:80 and 1 more: ")
		z.fail("b", nil)
		z.set("b", "10.0.0.2")
		time.Sleep(10 * time.Second)
		says("unresolved: no answer for c:80, d:80, e:80: ")
		v.catalogs <- named("x=a:80", "y=b:80")
		time.Sleep(time.Second)
		says("")
		z.fail("a", errors.New("no such host"))
		time.Sleep(10 * time.Second)
		says("unresolved: no answer for a:80: ")
	})
}

func TestAnAnswerForANameThatNobodyHasAnyMoreIsNoAlarm(t *testing.T) {
	r := newResolver(nil, func(string) {}, hclog.NewNullLogger())
	r.begin(nil)
	r.apply(named("x=a:80", "y=b:80"))
	r.take("b:80", nil, errors.New("no such host"))
	if got := r.unresolved(); !strings.HasPrefix(got, "unresolved: no answer for b:80: ") {
		t.Errorf("%q", got)
	}
	r.apply(named("x=a:80"))
	r.take("b:80", nil, errors.New("no such host")) // it was asked before
	if got := r.unresolved(); got != "" {
		t.Errorf("%q", got)
	}
}

// first is what was published first of one endpoint.
func (v *resolving) first() route.FleetInstances {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.said[0][0]
}

// figures are how many names were asked, the most lookups at once, and how often vllm was asked.
func (z *zone) figures() (names, busiest, vllm int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return len(z.asked), z.busiest, z.asked["vllm"]
}

func newZone() *zone {
	return &zone{hosts: map[string][]string{}, failing: map[string]error{}, asked: map[string]int{}}
}

func TestInstancesAreWhatANameStandsForAndAWrongAnswerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z, log := newZone(), &bytes.Buffer{}
		z.set("vllm", "10.0.0.2", "10.0.0.1", "10.0.0.2", "fd00::1", "fe80::1%eth0")
		v := resolveBy(z, hclog.New(&hclog.LoggerOptions{Output: log}))
		defer v.stop()
		v.catalogs <- named("own=vllm:8000", "hosted=")
		time.Sleep(time.Second)
		want := "own=10.0.0.1:8000,10.0.0.2:8000,[fd00::1]:8000"
		if got, n := v.last(); got != want || n != 1 {
			t.Fatalf("published %q, %d times", got, n)
		}
		z.fail("vllm", errors.New("SERVFAIL"))
		time.Sleep(30 * time.Second)
		z.fail("vllm", nil)
		z.set("vllm") // nothing
		time.Sleep(30 * time.Second)
		if got, n := v.last(); got != want || n != 1 {
			t.Errorf("after failures it is %q, published %d times", got, n)
		}
		if n := strings.Count(log.String(), "does not resolve"); n != 1 {
			t.Errorf("said %d times:\n%s", n, log)
		}
		z.set("vllm", "10.0.0.3")
		time.Sleep(7 * time.Second)
		if got, n := v.last(); got != "own=10.0.0.3:8000" || n != 2 {
			t.Errorf("then it is %q, published %d times", got, n)
		}
	})
}

func TestNamesAreAskedAgainEveryFiveSecondsOrSoAndSharedOnesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		z.set("vllm", "10.0.0.1")
		v := resolveBy(z, hclog.NewNullLogger())
		defer v.stop()
		v.catalogs <- named("a=vllm:8000", "b=vllm:8000")
		time.Sleep(100 * time.Second)
		if _, _, n := z.figures(); n < 16 || n > 26 {
			t.Errorf("asked %d times in 100 s", n)
		}
		if got, _ := v.last(); got != "a=10.0.0.1:8000 b=10.0.0.1:8000" {
			t.Errorf("published %q", got)
		}
	})
}

// A catalog that names what the one before named asks nobody, and starts nothing that goes on asking.
func TestAThousandCatalogsOfTheSameNamesAskNoMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		z.set("vllm", "10.0.0.1")
		v := resolveBy(z, hclog.NewNullLogger())
		defer v.stop()
		running := 0
		for i := range 1000 {
			v.catalogs <- named("own=vllm:8000")
			time.Sleep(100 * time.Millisecond)
			if i == 10 {
				running = runtime.NumGoroutine()
			}
		}
		if n := runtime.NumGoroutine(); n > running+2 { // a lookup comes and goes
			t.Errorf("%d goroutines after 1,000 catalogs, %d after 10", n, running)
		}
		if _, _, n := z.figures(); n < 16 || n > 26 {
			t.Errorf("asked %d times in 100 s", n)
		}
		if _, n := v.last(); n != 1 {
			t.Errorf("published %d times", n)
		}
	})
}

func TestLookupsThatHangAreBoundedInTimeAndNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		z.hang = true // before anybody asks
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf("e%02d=host%d:80", i, i))
		}
		v := resolveBy(z, hclog.NewNullLogger())
		v.catalogs <- named(all...)
		time.Sleep(time.Minute)
		if names, busiest, _ := z.figures(); busiest != resolveAtOnce || names != 100 {
			t.Errorf("%d at once, %d of 100 names were asked in a minute", busiest, names)
		}
		v.stop() // and it ends at once
	})
}

func TestANewLeaderBeginsWithWhatTheOldOneHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		z.fail("vllm", errors.New("timeout"))
		held := route.FleetInstances{Endpoint: "own", Instances: []route.FleetInstance{{Address: "10.0.0.9:8000"}}}
		v := resolveBy(z, hclog.NewNullLogger(), held, route.FleetInstances{Endpoint: "gone"})
		defer v.stop()
		v.catalogs <- named("own=vllm:8000", "new=other:1")
		time.Sleep(time.Minute)
		if got, _ := v.last(); got != "own=10.0.0.9:8000" {
			t.Errorf("published %q: what was held stays, what nobody knows is not said to be none", got)
		}
	})
}

func TestAnEndpointWithAnotherNameHasNoInstancesOfTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		z.set("old", "10.0.0.1")
		z.fail("next", errors.New("NXDOMAIN"))
		v := resolveBy(z, hclog.NewNullLogger())
		defer v.stop()
		v.catalogs <- named("own=old:8000")
		time.Sleep(time.Second)
		v.catalogs <- named("own=next:8000")
		time.Sleep(time.Second)
		if got, _ := v.last(); got != "own=" {
			t.Errorf("published %q: the old addresses are not what the catalog names", got)
		}
		v.catalogs <- named("other=")
		time.Sleep(time.Second)
		if got, _ := v.last(); got != "" {
			t.Errorf("published %q of an endpoint that is gone", got)
		}
	})
}

func TestAnEndpointHasAThousandInstancesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		var ips []string
		for i := range 1500 {
			ips = append(ips, fmt.Sprintf("10.%d.%d.1", i/250, i%250))
		}
		z.set("vllm", ips...)
		v := resolveBy(z, hclog.NewNullLogger())
		defer v.stop()
		v.catalogs <- named("own=vllm:8000")
		time.Sleep(time.Second)
		in := v.first()
		if len(in.Instances) != route.MostInstances || !slices.IsSorted(in.Addresses()) {
			t.Errorf("%d instances", len(in.Instances))
		}
	})
}

// The identities that the leader tells are those that every reader works out.
func TestTheLeaderAndItsReadersAgreeOnIdentities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone()
		z.set("vllm", "10.0.0.1", "10.0.0.2")
		v := resolveBy(z, hclog.NewNullLogger())
		defer v.stop()
		c := named("own=vllm:8000")
		v.catalogs <- c
		time.Sleep(time.Second)
		told, made := map[string]uint64{}, map[string]uint64{}
		for _, i := range v.first().Instances {
			told[route.InstanceName("own", i.Address)] = i.Identity
		}
		for _, e := range route.Expand(c, []route.FleetInstances{v.first()}).Endpoints {
			made[e.Name] = e.Identity
		}
		if diff := cmp.Diff(told, made); diff != "" || len(made) != 2 {
			t.Errorf("%v, %s", made, diff)
		}
	})
}
