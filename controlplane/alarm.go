package controlplane

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	claimsPause = 100 * time.Millisecond // many children come at once
	claimsAgain = 5 * time.Second        // while somebody claims more, and
	claimsFor   = time.Minute            // after a child came that does: leaves behind it are told of later
)

// regressed names the alarm of protocol.md, rule 3.
const regressed = "store_regressed"

// ledger is the store's part of rule 3.
type ledger interface {
	// Claim takes what an identity holds, and says whether the store is behind that.
	Claim(ctx context.Context, namespace, identity string, v *pb.Version) (behind bool, err error)
	// Regressed is why publishes are refused; nil: they are not.
	Regressed(namespace string) *store.Regression
}

// claims asks the store about children that hold more than head: a claim changes no state by
// itself. What two identities claim is an alarm, and publishes are refused until an operator
// adopts the store.
type claims struct {
	ledger    ledger
	namespace string
	leaves    func() []*pb.LeafState
	origin    *origin
	events    *diary
	leads     func() bool
	log       hclog.Logger
	wake      chan struct{}
}

// look has claims be looked at: a child holds more than is known here.
func (c *claims) look() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run looks at claims until ctx ends: when a child holds more, and while any does.
func (c *claims) run(ctx context.Context) {
	tick := time.NewTicker(claimsAgain)
	defer tick.Stop()
	var due <-chan time.Time
	var until time.Time
	for behind := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			due, until = time.After(claimsPause), time.Now().Add(claimsFor)
			continue
		case <-due:
			behind = c.confirm(ctx)
		case <-tick.C:
			behind = (behind || time.Now().Before(until)) && c.confirm(ctx)
		}
		c.alarm(c.ledger.Regressed(c.namespace)) // the store may have seen it by itself
	}
}

// confirm takes each claim to the store, and says whether any is ahead of it.
func (c *claims) confirm(ctx context.Context) (behind bool) {
	head := c.origin.state().Head
	for _, l := range c.leaves() {
		v := l.GetVersion()
		if l.GetGone() || !ahead(v, head) {
			continue
		}
		is, err := c.ledger.Claim(ctx, c.namespace, identityOf(l), v)
		if err != nil && ctx.Err() == nil {
			c.log.Warn("a leaf holds more than head, and head cannot be confirmed", "leaf", l.GetLeaf(), "error", err)
		}
		behind = behind || is || err != nil
	}
	return behind
}

// ahead says whether a version is of the same store as head, and after it.
func ahead(v *pb.Version, head *pb.Head) bool {
	if v.GetStoreId() != head.GetStoreId() || head == nil {
		return false
	}
	return v.GetEpoch() > head.GetEpoch() || v.GetEpoch() == head.GetEpoch() && v.GetGeneration() > head.GetGeneration()
}

// identityOf is who claims: by its connection, or else the node that it is on.
func identityOf(l *pb.LeafState) string {
	switch {
	case l.GetIdentity() != "":
		return l.GetIdentity()
	case l.GetNode() != "":
		return "node " + l.GetNode()
	}
	return "leaf " + l.GetLeaf()
}

// alarm raises or ends the alarm, and tells of it once.
func (c *claims) alarm(r *store.Regression) {
	var now []string
	if r != nil {
		now = []string{fmt.Sprintf("%s: %s hold generation %d of epoch %d, above head: publishes are refused until operator adopt-store",
			regressed, r.By, r.Generation, r.Epoch)}
	}
	if slices.Equal(now, c.origin.state().Alarms) {
		return
	}
	c.origin.note(func() { c.origin.live.Alarms = now })
	if r == nil {
		c.log.Info("the store is no longer behind")
		return
	}
	c.log.Error(now[0])
	if c.leads() {
		c.events.put(&pb.FleetEvent{Kind: eventAlarm, Name: regressed, Evidence: now[0]}, time.Now())
	}
}
