package uplink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Rule 12: a parent that was away for ten minutes is reached again within a minute, however the
// draws of the pauses fell, and what was held meanwhile stood.
func TestRule12AfterTenMinutesWithoutAParentItIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1) // whose pauses are the longest there are
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		r.parents[0].closed.Store(true)
		c.quit <- errBad
		time.Sleep(10 * time.Minute)
		tries := len(r.parents[0].streams)
		if tries < 15 || tries > 30 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		for len(r.parents[0].streams) > 0 {
			<-r.parents[0].streams
		}
		healed := time.Now()
		r.parents[0].closed.Store(false)
		c, hello := r.joined(t)
		if c.at.Sub(healed) > time.Minute || len(hello.Held) != 1 || len(r.applied) != 1 {
			t.Errorf("back after %v, held %v, applied %d times", c.at.Sub(healed), hello.Held, len(r.applied))
		}
		c.applied(t, 1, catalog(6, "a"))
	})
}

// Rule 12: a parent that is back with the same state, sent whole, has nothing applied again.
func TestRule12AParentThatIsBackWithTheSameStateChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a", "b"))
		for range 3 {
			c.quit <- errBad
			var hello *pb.Hello
			c, hello = r.joined(t)
			if len(hello.Held) != 1 || hello.Held[0].Version.Generation != 5 {
				t.Fatalf("held %v", hello.Held)
			}
			c.applied(t, 1, catalog(5, "a", "b"))
		}
		if diff := cmp.Diff([]uint64{5}, r.generations()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 5: what a parent had no time to say is removed is not in the next one's whole state, and
// goes with it; nobody asks for it again.
func TestRule5WhatACrashLeftUnsaidGoesWithTheNextParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "parent", "child", "other"))
		u := wire.Whole(0, 1, catalog(6, "child", "other"))
		u.Since, u.Upserts = version(5), nil
		u.Removed = []*pb.ResourceRef{{Kind: pb.Kind_KIND_QUOTA, Name: "parent"}}
		c.update(t, u) // and it dies before it says that the child is removed too
		c.next(t)
		c.quit <- errBad
		c, _ = r.joined(t)
		c.applied(t, 1, catalog(7, "other"))
		last := r.applied[len(r.applied)-1].state
		if _, ok := last.Lookup(wire.Key{Kind: pb.Kind_KIND_QUOTA, Name: "child"}); ok || last.Len() != 1 {
			t.Errorf("%d resources are left, the orphan: %v", last.Len(), ok)
		}
		for range 30 {
			time.Sleep(10 * time.Second)
			c.heartbeat(t)
			if m := c.next(t); m.GetAck() == nil || len(c.up) > 0 {
				t.Fatalf("the child says %v", m)
			}
		}
	})
}
