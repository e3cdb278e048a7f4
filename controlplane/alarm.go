package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// The names of alarms.
const (
	regressed  = "store_regressed" // protocol.md, rule 3
	unresolved = "unresolved"      // names of instances do not resolve
)

// bell rings alarms: status has one while it lasts, and the leader's diary when it came and when it went.
type bell struct {
	origin *origin
	events *diary
	leads  func() bool
}

// ring raises an alarm by its name, or, without a text, ends it; true: it came or went.
func (b bell) ring(name, text string) (turned bool) {
	turned = b.origin.alarm(name, text)
	if turned && b.leads() {
		why := cmp.Or(strings.TrimPrefix(text, name+": "), "no more")
		b.events.put(&pb.FleetEvent{Kind: eventAlarm, Name: name, Evidence: why}, time.Now())
	}
	return turned
}

// ledger is the store's part of rule 3.
type ledger interface {
	// Claim takes what others hold, and says whether the store is behind any of it.
	Claim(ctx context.Context, namespace string, c store.Claims) (behind bool, err error)
	// Regressed is why publishes are refused; nil: they are not.
	Regressed(namespace string) *store.Regression
}

// claims asks the store about children that hold more than head: a claim changes no state by
// itself. What enough of them claim is an alarm, and publishes are refused until an operator
// adopts the store.
type claims struct {
	ledger    ledger
	namespace string
	leaves    func() []*pb.LeafState
	origin    *origin
	bell      bell
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
			behind = (behind || time.Now().Before(until) || c.ledger.Regressed(c.namespace) != nil) && c.confirm(ctx)
		}
		c.alarm(c.ledger.Regressed(c.namespace)) // the store may have seen it by itself
	}
}

// confirm takes the claims to the store, and says whether any is ahead of it.
func (c *claims) confirm(ctx context.Context) (behind bool) {
	all := claimed(c.leaves(), c.origin.state().Head)
	if len(all.Held) == 0 && c.ledger.Regressed(c.namespace) == nil {
		return false
	}
	behind, err := c.ledger.Claim(ctx, c.namespace, all)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("leaves hold more than head, and head cannot be confirmed", "leaves", slices.Sorted(maps.Keys(all.Held)), "error", err)
	}
	return behind || err != nil
}

// claimed are those of the leaves that hold more than head, and how many leaves that is of. One counts
// for each identity and each node: an agent can make up identities, and a library nodes, but neither both.
func claimed(leaves []*pb.LeafState, head *pb.Head) store.Claims {
	all, them := voices{}, voices{}
	out := store.Claims{Held: map[string]*pb.Version{}}
	for _, l := range leaves {
		if l.GetGone() {
			continue
		}
		if all.another(l) {
			out.Of++
		}
		if ahead(l.GetVersion(), head) && them.another(l) {
			out.Held[identityOf(l)] = l.GetVersion()
		}
	}
	return out
}

// voices are the identities and nodes that spoke.
type voices map[string]bool

// another takes a leaf that shares neither with one before.
func (v voices) another(l *pb.LeafState) bool {
	node := "on " + cmp.Or(l.GetNode(), "leaf "+l.GetLeaf())
	if v[identityOf(l)] || v[node] {
		return false
	}
	v[identityOf(l)], v[node] = true, true
	return true
}

// ahead says whether a version is of the same store as head, and after it.
func ahead(v *pb.Version, head *pb.Head) bool {
	if v.GetStoreId() != head.GetStoreId() || head == nil {
		return false
	}
	return v.GetEpoch() > head.GetEpoch() || v.GetEpoch() == head.GetEpoch() && v.GetGeneration() > head.GetGeneration()
}

// identityOf is who claims: by its connection, or else the node that it is on. A user of a host is
// somebody there alone, by the word of the host's agent.
func identityOf(l *pb.LeafState) string {
	switch {
	case strings.HasPrefix(l.GetIdentity(), "uid/") && l.GetVia() != "":
		return l.GetIdentity() + " on " + l.GetNode()
	case l.GetIdentity() != "":
		return l.GetIdentity()
	case l.GetNode() != "":
		return "node " + l.GetNode()
	}
	return "leaf " + l.GetLeaf()
}

// alarm raises or ends the alarm.
func (c *claims) alarm(r *store.Regression) {
	text := ""
	if r != nil {
		text = fmt.Sprintf("%s: %s hold generation %d of epoch %d, above head: publishes are refused until operator adopt-store",
			regressed, r.By, r.Generation, r.Epoch)
	}
	switch turned := c.bell.ring(regressed, text); {
	case turned && r == nil:
		c.log.Info("the store is no longer behind")
	case turned:
		c.log.Error(text)
	}
}
