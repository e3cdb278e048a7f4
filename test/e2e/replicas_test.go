//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// opens makes an endpoint fail at the moment that something happens, and returns how long
// after it the fleet's word reached every leaf. Then the endpoint is well again.
func (c *cluster) opens(endpoint string, within time.Duration, happens func()) time.Duration {
	c.t.Helper()
	c.fault(endpoint, true)
	began := time.Now()
	happens()
	eventually(c.t, within+15*time.Second, "the fleet's breaker of "+endpoint+" opens for all", func() bool {
		open, all := c.crowds.word(endpoint)
		return open == all
	})
	took := time.Since(began)
	if took > within {
		c.t.Errorf("the fleet's word on %s came after %v, want %v", endpoint, took, within)
	}
	c.fault(endpoint, false)
	eventually(c.t, 40*time.Second, endpoint+" is closed again", func() bool {
		open, _ := c.crowds.word(endpoint)
		return open == 0
	})
	return took
}

// Whatever ends, freezes or is cut off, and whatever operators do all along: no pick fails,
// no generation goes back, a leader is followed within 6 s, and in the end all run the same.
func TestReplicasThroughFaults(t *testing.T) {
	c := newCluster(t)
	catalogs := []string{c.catalog(0, "a", "b", "safe"), c.catalog(1, "a", "b", "safe"), c.catalog(2, "a", "b", "safe")}
	must(t, c.addr(0), "catalog", "publish", catalogs[0])
	for i := range 6 {
		c.startAgent(i)
		c.crowds = append(c.crowds, startLeaves(t, leavesConfig{
			Name: fmt.Sprint("app", i), Node: fmt.Sprint("n", i), Faults: c.faults(), Parents: []string{"unix://" + c.socket(i)},
			StateDir: filepath.Join(c.dir, fmt.Sprint("app", i)), Leaves: 10, Every: 200 * time.Millisecond,
		}))
	}
	eventually(t, 30*time.Second, "all leaves call", func() bool { return c.crowds.picks() > 300 })
	stop := c.operators(catalogs)

	t.Logf("with a leader: open for all after %v", c.opens("a", 3*time.Second, func() {}))

	first := c.leader()
	t.Logf("leader killed: open for all after %v", c.opens("b", 6*time.Second+time.Second, c.replicas[first].kill))
	c.startReplica(first)

	frozen := c.leader()
	c.replicas[frozen].suspend()
	thawed := time.Now().Add(20 * time.Second)
	t.Logf("leader frozen: open for all after %v", c.opens("a", 7*time.Second, func() {}))
	time.Sleep(time.Until(thawed))
	c.replicas[frozen].resume()

	c.etcd[1].kill()
	t.Logf("member of etcd killed: open for all after %v", c.opens("b", 9*time.Second, func() {}))
	c.startMember(1)
	c.waitMember(1)

	lone := (c.leader() + 1) % size
	for _, p := range c.proxies[lone] {
		p.sever(true)
	}
	t.Logf("a replica cut off: open for all after %v", c.opens("a", 3*time.Second, func() {}))
	for _, p := range c.proxies[lone] {
		p.sever(false)
	}

	for i := range size {
		if i == c.leader() {
			t.Logf("leader stopped: open for all after %v", c.opens("b", 2*time.Second, c.replicas[i].stop))
		} else {
			c.replicas[i].stop()
		}
		c.startReplica(i)
		c.etcd[i].stop()
		c.startMember(i)
		c.waitMember(i)
	}
	for i := range c.agents {
		c.agents[i].stop()
		c.startAgent(i)
	}
	if done := stop(); done < 20 {
		t.Errorf("operators did %d things", done)
	}
	c.quiet()
}

// quiet wants all leaves at head within 5 s, with one digest, and looks at what happened.
func (c *cluster) quiet() {
	c.t.Helper()
	must(c.t, c.addr(0), "catalog", "unpin", "-reason", "quiet")
	generation := c.generation()
	took := eventually(c.t, 20*time.Second, fmt.Sprintf("all leaves run generation %d", generation), func() bool { return c.crowds.at(generation) })
	if took > 5*time.Second {
		c.t.Errorf("all leaves at head after %v, want 5 s", took)
	}
	eventually(c.t, 5*time.Second, "all leaves keep head on disk", func() bool {
		v, err := c.digests()
		return err == nil && v.GetGeneration() == generation
	})
	for _, cr := range c.crowds {
		if s := cr.state(); s.Failed > 0 || s.Backwards > 0 || s.Picks == 0 {
			c.t.Errorf("%s: %d picks, %d failed, %d generations went back: %s", cr.name, s.Picks, s.Failed, s.Backwards, strings.Join(s.Errors, "; "))
		}
	}
	events, terms, audits := c.history()
	c.t.Logf("%d picks, all leaves at generation %d after %v; %d events of %d terms, %d audit records", c.crowds.picks(), generation, took, events, terms, audits)
}

func (c *cluster) generation() uint64 {
	c.t.Helper()
	var s struct {
		Head struct{ Generation string }
	}
	if err := json.Unmarshal([]byte(must(c.t, c.addr(0), "status", "-json")), &s); err != nil {
		c.t.Fatal(err)
	}
	n, err := strconv.ParseUint(s.Head.Generation, 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// 400 leaves at one call a second: together they need a small part of the failures that each
// by itself needs to avoid an endpoint.
func TestReplicasConvergeAsProcesses(t *testing.T) {
	endpoints := []string{"a", "b", "c", "d", "e", "f", "g", "safe"}
	const processes, each = 4, 100
	hit := func(c *cluster, parents func(i int) []string, alone bool) int {
		for i := range processes {
			c.crowds = append(c.crowds, startLeaves(t, leavesConfig{
				Name: fmt.Sprint("app", i), Node: fmt.Sprint("n", i), Faults: c.faults(), Parents: parents(i), Leaves: each, Every: time.Second,
			}))
		}
		eventually(t, 60*time.Second, "all leaves call", func() bool { return c.crowds.picks() > 5*processes*each })
		if alone {
			for _, a := range c.agents {
				a.kill()
			}
			time.Sleep(time.Second)
		}
		c.fault("a", true)
		began := time.Now()
		time.Sleep(30 * time.Second)
		n, last := c.crowds.hits("a")
		t.Logf("alone %v: %d requests hit it, the last %v after the fault", alone, n, last.Sub(began))
		c.fault("a", false)
		for _, cr := range c.crowds {
			cr.kill()
		}
		c.crowds = nil
		return n
	}
	c := newCluster(t)
	must(t, c.addr(0), "catalog", "publish", c.catalog(0, endpoints...))
	for i := range processes {
		c.startAgent(i)
	}
	parents := func(i int) []string { return []string{"unix://" + c.socket(i)} }
	together := hit(c, parents, false)
	alone := hit(c, parents, true)
	if together*25 > alone {
		t.Errorf("%d requests hit the endpoint that failed, want at most 1/25 of %d", together, alone)
	}
}
