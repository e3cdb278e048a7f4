package route_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// drill gives a router orders in any order and holds each answer against the model.
type drill struct {
	testing.TB
	dice   dice
	model  *model
	router *route.Router

	now      int64
	rounds   uint64
	granted  uint64
	snapshot *route.Snapshot
	weather  byte // which endpoints fail, by bits
	calls    [8]asking
	flights  []*told
	probes   map[uint64][]route.ProbeOutcome // by permit
	chooses  bool                            // a chooser does
	checked  int                             // orders that the model had a say in
}

// asking is one call and what it has tried.
type asking struct {
	call     *route.Call
	workload string
	request  route.Request
	began    int64
	sent     int64
	tried    []identity
	last     *told
	larger   int64
	from     int // the tier that it escalated from; nowhere: it has not
}

// told is one attempt, and what was told of it.
type told struct {
	attempt  route.Attempt
	sentAt   int64
	tenant   string
	quotas   []string
	at       identity
	window   int64
	lostAt   int64
	probe    bool
	over     bool
	answered bool
	again    bool // may go to the same endpoint
	outcome  route.Outcome
}

func newDrill(tb testing.TB) *drill {
	return &drill{TB: tb, model: newModel(), router: route.NewRouter(), now: sec, probes: map[uint64][]route.ProbeOutcome{}}
}

// run takes five bytes an order: what, how much later, and the seed of the rest.
func (d *drill) run(orders []byte) {
	d.apply()
	for ; len(orders) >= 5; orders = orders[5:] {
		d.dice = dice{seed: binary.LittleEndian.Uint32(orders[1:])}
		d.now += [...]int64{0, 0, 1, 1, 50, 50, 5_000, 20_000, 100_000, 300_000, sec, 5 * sec}[d.dice.n(12)]
		if d.dice.rarely(60) {
			d.now += 25 * sec
		}
		d.order(orders[0])
		d.listen(nil)
		d.counts()
	}
	d.finish()
}

func (d *drill) order(what byte) {
	switch what % 32 {
	case 0:
		d.apply()
	case 1:
		d.tick()
	case 2:
		d.grant()
	case 3:
		d.report()
	case 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15:
		d.next(&d.calls[d.dice.n(len(d.calls))])
	default:
		d.tell(what % 32)
	}
}

func (d *drill) apply() {
	c, f := randomCatalog(&d.dice, d.now), randomFleet(&d.dice, d.now, &d.rounds)
	unusable := pick(&d.dice, "", "", "k1", "k3")
	l := route.Local{Locality: "a", Wall: wall, Usable: func(e *route.Endpoint) route.Reason {
		if unusable != "" && e.Credential == unusable {
			return route.ReasonCredential
		}
		return route.Pass
	}}
	if d.snapshot != nil && d.dice.rarely(2) {
		c = d.snapshot.Catalog()
	}
	s, err := route.Compile(d.snapshot, c, f, l)
	if err != nil {
		d.Fatal(err)
	}
	some, others := d.dice.n(256), d.dice.n(256)
	d.snapshot, d.weather = s, byte(some&others) // a quarter of all
	d.router.Apply(d.now, s)
	d.model.apply(d.now, c, f, l)
}

func (d *drill) tick() {
	if next := d.router.Tick(d.now); next <= d.now {
		d.Fatalf("tick again at %d, which is not after %d", next, d.now)
	}
	for _, t := range d.flights {
		if !t.over && d.now >= t.lostAt {
			d.end(t, route.Outcome{})
		}
	}
}

func (d *drill) grant() {
	d.granted++
	d.rounds++
	e := fmt.Sprintf("e%d", d.dice.n(worldEndpoints))
	d.probes[d.granted] = []route.ProbeOutcome{}
	d.router.Grant(d.now, route.Permit{
		Number: d.granted, Endpoint: e, Identity: uint64(1 + d.dice.n(9)/8), Class: breaker.Class(d.dice.n(4)), Phase: breaker.Phase(d.dice.n(2)),
		Round: d.rounds, UseBy: d.now + int64(d.dice.n(5))*sec/2,
	})
}

// tell marks or ends an attempt, also one that has ended.
func (d *drill) tell(what byte) {
	if len(d.flights) == 0 {
		return
	}
	t := d.flights[max(len(d.flights)-1-d.dice.n(12), 0)]
	var moved, want bool
	switch what {
	case 16, 17, 18, 19, 20:
		moved, want = d.router.FirstToken(d.now, t.attempt), !t.over && !t.answered
		t.answered = true
	case 21:
		moved, want = d.router.Content(d.now, t.attempt), !t.over
	case 22:
		moved, want = d.router.Abandon(d.now, t.attempt), !t.over
		d.end(t, route.Outcome{})
	default:
		d.settle(t)
		return
	}
	d.moved(t, moved, want)
}

func (d *drill) settle(t *told) {
	o, want := randomOutcome(&d.dice, d.weather>>(t.at.name[1]-'0')&1 != 0), !t.over
	moved := d.router.Settle(d.now, t.attempt, o)
	d.end(t, o)
	d.moved(t, moved, want)
}

// moved hears what came of it, and holds it to it that what is over moves nothing.
func (d *drill) moved(t *told, moved, want bool) {
	d.listen(d.model.fates[t.at])
	if moved != want {
		d.Fatalf("moved %v, want %v: an attempt at %v, over %v", moved, want, t.at, t.over)
	}
}

func (d *drill) end(t *told, o route.Outcome) {
	if t.over {
		return
	}
	t.over, t.outcome = true, o
	d.model.fates[t.at].inFlight--
	d.model.inFlight[t.tenant]--
	d.model.told(d.now, t.at, o)
}

// listen hands what the router says of breakers to whom it is about: an attempt's endpoint,
// else the one of that name that is there, or that an attempt in flight went to.
func (d *drill) listen(about *fate) {
	for _, e := range d.router.Events(nil) {
		if e.Kind != route.EventOpened && e.Kind != route.EventClosed {
			continue
		}
		if about != nil {
			about.heard(e)
			continue
		}
		all := d.model.meant(e.Endpoint)
		for _, x := range all {
			x.heard(e)
			x.unsure = x.unsure || len(all) > 1
		}
	}
}

func (d *drill) report() {
	r := d.router.Report(d.now)
	for _, row := range r.Rows {
		if x := d.model.fates[identity{row.Endpoint, row.Identity}]; x == nil || row.InFlight > uint64(x.inFlight) {
			d.Fatalf("row %+v, in flight %+v", row, x)
		}
		if row.PendingPromptTokens > 1<<45 || row.OutstandingTokens > 1<<45 || row.InFlight == 0 && row.PendingPromptTokens+row.OutstandingTokens > 0 {
			d.Fatalf("row %+v", row)
		}
	}
	for _, p := range r.Probes {
		d.probes[p.Permit] = append(d.probes[p.Permit], p.Outcome)
	}
	d.permits()
}

// counts: what endpoints have in flight is what was taken and not given back.
func (d *drill) counts() {
	for _, e := range d.router.Endpoints(d.now, nil) {
		if want := d.model.fates[identity{e.Name, e.Identity}].inFlight; e.InFlight != want {
			d.Fatalf("%s: %d in flight, want %d", e.Name, e.InFlight, want)
		}
	}
}

// finish has everything end: nothing may be left counted.
func (d *drill) finish() {
	d.now += 3600 * sec
	d.tick()
	d.counts()
	for k, x := range d.model.fates {
		if x.inFlight != 0 {
			d.Fatalf("%v keeps %d in flight", k, x.inFlight)
		}
	}
	d.report()
}

// orders are some that a seed makes up.
func orders(seed uint32, n int) []byte {
	all := make([]byte, 5*n)
	for i := range all {
		all[i] = byte(route.Draw(seed, uint32(i)) >> 13)
	}
	return all
}

func TestAnyOrderIsAnsweredByTheRules(t *testing.T) {
	checked := 0
	for seed := range uint32(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := newDrill(t)
			d.run(orders(seed, 300))
			checked += d.checked
		})
	}
	if checked < 300*30 {
		t.Errorf("the model was asked %d times", checked)
	}
}

func FuzzOrders(f *testing.F) {
	for seed := range uint32(8) {
		f.Add(orders(seed, 200))
	}
	f.Fuzz(func(t *testing.T, orders []byte) { newDrill(t).run(orders) })
}

func TestTheSameOrdersGiveTheSameAnswers(t *testing.T) {
	run := func() (out string) {
		d := newDrill(t)
		d.run(orders(7, 2000))
		for _, f := range d.flights {
			out += fmt.Sprintln(f.at, f.attempt, f.outcome.Kind)
		}
		return out + fmt.Sprint(d.router.Endpoints(d.now, nil))
	}
	if first, second := run(), run(); first != second {
		t.Error("two runs of the same orders differ")
	}
}
