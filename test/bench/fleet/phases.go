package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	rounds  = 5
	changed = 10 // endpoints, of a publish
	outage  = 5 * time.Second
	calm    = 300 * time.Millisecond // before each round
	within  = 30 * time.Second
)

// bench is one run.
type bench struct {
	options
	report   *report
	crowd    *crowdProcess
	contents *contents
	hub      *served
	bare     *bare
	watch    *kept
	secure   *tls.Config
}

// measure runs all phases.
func measure(o options) (r *report, err error) {
	b := &bench{options: o, report: newReport(o), contents: newContents(), watch: &kept{CodecV2: hub.Codec()}}
	if o.tls {
		if b.secure, err = ownCertificate(); err != nil {
			return nil, err
		}
	}
	if b.crowd, err = startCrowd(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.crowd.end()) }()
	defer b.stop()
	for _, phase := range []func() error{b.idle, b.compare, b.whole, b.reconnect} {
		began := time.Now()
		if err := phase(); err != nil {
			return nil, err
		}
		b.note("%.1f s", time.Since(began).Seconds())
	}
	if err := b.writes(); err != nil {
		return nil, err
	}
	b.report.judge()
	return b.report, nil
}

func (b *bench) stop() {
	if b.hub != nil {
		b.hub.kill()
	}
	if b.bare != nil {
		b.bare.stop()
	}
}

// note tells on the way what a table does not.
func (b *bench) note(format string, args ...any) {
	if b.verbose {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// serverOptions are those that both servers have beside their own.
func (b *bench) serverOptions(more ...grpc.ServerOption) []grpc.ServerOption {
	if b.secure != nil {
		more = append(more, grpc.Creds(credentials.NewTLS(b.secure)))
	}
	return more
}

// bounds let all come from one host, at this pace; nought: the default's.
func (b *bench) bounds(pace int) hub.Bounds {
	return hub.Bounds{PerHost: 2 * b.clients, PerSecond: pace}
}

func (b *bench) serve(address string, pace int) (err error) {
	b.hub, err = serve(b.contents, address, b.bounds(pace), b.serverOptions(grpc.ForceServerCodecV2(b.watch))...)
	return err
}

func (b *bench) open(group, address string) error {
	_, err := b.crowd.do(order{
		Do: "open", Group: group, Address: address, N: b.clients, TLS: b.tls, Version: 1, From: time.Now().UnixNano(), Within: 60 * time.Second,
	})
	return err
}

// idle is what a stream costs that has all and hears nothing.
func (b *bench) idle() error {
	if err := b.serve("127.0.0.1:0", 5000); err != nil {
		return err
	}
	before, err := resident()
	if err != nil {
		return err
	}
	if err := b.open("hub", b.hub.address); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	after, err := resident()
	if err != nil {
		return err
	}
	b.report.Idle = float64(after-before) / 1024 / float64(b.clients)
	b.note("idle: %.1f KiB a client; %s", b.report.Idle, breakdown(b.clients))
	return nil
}

// round is when a version was there.
type round struct{ p50, p99 float64 } // ms

func (b *bench) round(group string, send func()) (round, error) {
	time.Sleep(calm)
	version, from := b.contents.version, time.Now().UnixNano()
	send()
	out, err := b.crowd.do(order{Do: "await", Group: group, Version: version, From: from, Within: within})
	return round{float64(out.P50) / 1e6, float64(out.P99) / 1e6}, err
}

// compare has hub and yardstick take turns at one trip, and at a catalog's change.
func (b *bench) compare() (err error) {
	if b.bare, err = serveBare(b.contents, b.serverOptions()...); err != nil {
		return err
	}
	if err := b.open("bare", b.bare.address); err != nil {
		return err
	}
	if b.report.Trip, err = b.ratio("trip", pb.Track_TRACK_FLEET, 1); err != nil {
		return err
	}
	if b.report.Publish, err = b.ratio("publish", pb.Track_TRACK_CATALOG, changed); err != nil {
		return err
	}
	b.bare.stop()
	b.bare = nil
	_, err = b.crowd.do(order{Do: "close", Group: "bare"})
	return err
}

// ratio is how much longer the hub takes until 99 of 100 clients have a change.
func (b *bench) ratio(name string, t pb.Track, rows int) (c comparison, err error) {
	var ours, yard []round
	for i := range rounds + 1 {
		hubs := func() error {
			r, err := b.hubRound(t, rows)
			ours = append(ours, r)
			return err
		}
		bares := func() error {
			r, err := b.bareRound(t, rows)
			yard = append(yard, r)
			return err
		}
		first, second := hubs, bares
		if i%2 == 1 {
			first, second = second, first
		}
		if err := errors.Join(first(), second()); err != nil {
			return c, err
		}
	}
	ours, yard = ours[1:], yard[1:] // the first round warms up
	b.note("%s: hub %.1f, bare %.1f ms", name, ours, yard)
	return newComparison(ours, yard), nil
}

func (b *bench) hubRound(t pb.Track, rows int) (round, error) {
	before, err := b.crowd.do(order{Do: "await", Group: "hub", From: time.Now().UnixNano(), Within: within})
	if err != nil {
		return round{}, err
	}
	was := b.contents.catalog
	s := b.contents.changed(t, rows)
	r, err := b.round("hub", func() { b.hub.hub.PublishUrgent(everything, s) })
	if err != nil || t != pb.Track_TRACK_CATALOG {
		return r, err
	}
	after, err := b.crowd.do(order{Do: "await", Group: "hub", From: time.Now().UnixNano(), Within: within})
	b.report.Bytes = float64(after.Bytes-before.Bytes) / float64(b.clients)
	b.report.Change = float64(proto.Size(difference(was, s)))
	return r, err
}

func (b *bench) bareRound(t pb.Track, rows int) (round, error) {
	was := b.contents.catalog
	if t == pb.Track_TRACK_FLEET {
		was = b.contents.fleet
	}
	s := b.contents.changed(t, rows)
	m := encode(difference(was, s))
	return b.round("bare", func() { b.bare.broadcast(m) })
}

// difference is the update from one state to the next.
func difference(was, s *wire.State) *pb.Update {
	u := &pb.Update{Track: s.Track(), View: 1, Since: was.Version(), Version: s.Version(), Digest: s.Digest(), HeadGeneration: s.Version().GetGeneration()}
	for k, e := range s.All() {
		if before, ok := was.Lookup(k); ok && before.Hash == e.Hash {
			continue
		}
		u.Upserts = append(u.Upserts, &pb.Resource{Kind: k.Kind, Name: k.Name, Body: e.Body})
		if e.At != 0 {
			u.Ages = append(u.Ages, &pb.Age{Kind: k.Kind, Name: k.Name, AgeUs: 1e6})
		}
	}
	return u
}

// whole sends the full catalog to all, in which every endpoint is another.
func (b *bench) whole() (err error) {
	b.watch.on.Store(true)
	s := b.contents.changed(pb.Track_TRACK_CATALOG, endpoints)
	if _, err = b.round("hub", func() { b.hub.hub.PublishUrgent(everything, s) }); err != nil {
		return err
	}
	b.watch.on.Store(false)
	gain, shared, plain, err := b.watch.gain()
	b.report.Gain = gain
	b.note("whole: %.1f µs shared, %.1f µs each by itself", shared/1e3, plain/1e3)
	return err
}

// reconnect kills the hub, and starts another after a while, that knows the same.
func (b *bench) reconnect() error {
	before, err := b.crowd.do(order{Do: "await", Group: "hub", From: time.Now().UnixNano(), Within: within})
	if err != nil {
		return err
	}
	address := b.hub.address
	b.hub.kill()
	b.hub = nil
	time.Sleep(outage)
	from := time.Now()
	if err := b.serve(address, 0); err != nil {
		return err
	}
	after, err := b.crowd.do(order{Do: "back", Group: "hub", From: from.UnixNano(), Within: 60 * time.Second})
	if err != nil {
		return err
	}
	b.report.Reconnect = time.Since(from).Seconds()
	time.Sleep(time.Second) // what would be sent again comes now
	last, err := b.crowd.do(order{Do: "await", Group: "hub", From: from.UnixNano(), Within: within})
	b.report.Again = float64(last.Bytes-before.Bytes) / float64(b.clients)
	b.note("reconnect: %d streams more, the middle after %.1f s", after.Streams-before.Streams, float64(after.P50)/1e9)
	return err
}

// comparison is hub against yardstick.
type comparison struct {
	Ours      float64 `json:"hub_ms_p99"`
	Yardstick float64 `json:"bare_ms_p99"`
	Ratio     float64 `json:"ratio_p99"`
	Spread    float64 `json:"bare_spread"` // the yardstick's slowest round by its middle one
}

func newComparison(ours, yard []round) comparison {
	var ratios, yards, hubs []float64
	for i := range ours {
		ratios = append(ratios, ours[i].p99/yard[i].p99)
		yards, hubs = append(yards, yard[i].p99), append(hubs, ours[i].p99)
	}
	return comparison{Ours: median(hubs), Yardstick: median(yards), Ratio: median(ratios), Spread: slices.Max(yards) / cmp.Or(median(yards), 1)}
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
