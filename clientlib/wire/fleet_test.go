package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/limit"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// fleetRow is a fleet state of one row, made at.
func fleetRow(at int64, r *pb.Resource) *State {
	return NewState(fleetTrack, &pb.Version{Epoch: 1, Term: 2, Sequence: 3},
		map[Key]Entry{{r.Kind, r.Name}: {Body: r.Body, Hash: HashOf(r.Body), At: at}})
}

func sampleRow() *route.FleetEndpoint {
	return &route.FleetEndpoint{
		Name: "a", Identity: 1 << 60, At: 1000, Speed: 1.5,
		Breakers: []route.FleetBreaker{
			{Class: breaker.Any, State: route.FleetOpen, Round: 7, Soft: true, Reason: "3 of 4 nodes", OpenUntil: 5000},
			{Class: breaker.Stream, State: route.FleetHalfOpen, Round: 2, Locality: "eu"},
			{Class: breaker.Tools, State: route.FleetRamp, Round: 3, RampFrom: 400, RampFor: 30, RampSuccesses: 9},
			{Class: breaker.Long, State: route.FleetClosed, Round: 1},
		},
		Loads: []route.FleetLoad{{
			Locality: "eu", InFlight: 3, PendingPromptTokens: 4, OutstandingTokens: 5,
			Successes: 6, Samples: 7, Slowdown: 1.1, SlowdownSamples: 8, Witnesses: 9,
		}},
	}
}

func TestAFleetRowRoundTrips(t *testing.T) {
	const now, shift = 1000, 50_000 // the reader's clock reads 50 ms more
	r, err := EncodeFleetEndpoint(now, sampleRow())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Fleet(fleetRow(now+shift, r))
	if err != nil {
		t.Fatal(err)
	}
	want := sampleRow()
	want.At += shift
	want.Breakers[0].OpenUntil += shift
	want.Breakers[2].RampFrom += shift
	if diff := cmp.Diff(&route.Fleet{Version: route.FleetVersion{Epoch: 1, Term: 2, Sequence: 3}, Endpoints: []route.FleetEndpoint{*want}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnOpeningThatIsOverHasNothingLeft(t *testing.T) {
	r, err := EncodeFleetEndpoint(9000, sampleRow())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Fleet(fleetRow(1, r))
	if err != nil || got.Endpoints[0].Breakers[0].OpenUntil != 1 {
		t.Errorf("%v, error %v", got, err)
	}
}

func TestARowWithoutADateIsStale(t *testing.T) {
	r, err := EncodeFleetEndpoint(1000, sampleRow())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Fleet(fleetRow(0, r))
	if err != nil || got.Endpoints[0].At > -1e15 || got.Endpoints[0].Breakers[0].OpenUntil > -1e15 {
		t.Errorf("%v, error %v", got, err)
	}
}

func TestFleetSkipsWhatIsNotKnownAndRefusesWhatCannotBeRight(t *testing.T) {
	row := func(m *pb.FleetEndpoint) *pb.Resource { return resource(t, pb.Kind_KIND_FLEET_ENDPOINT, "a", m) }
	for name, r := range map[string]*pb.Resource{
		"a class": row(&pb.FleetEndpoint{Endpoint: "a", Breakers: []*pb.FleetBreaker{{Class: 9, State: pb.BreakerState_BREAKER_STATE_OPEN}}}),
		"a state": row(&pb.FleetEndpoint{Endpoint: "a", Breakers: []*pb.FleetBreaker{{Class: pb.Class_CLASS_ANY, State: 9}}}),
		"none":    row(&pb.FleetEndpoint{Endpoint: "a", Breakers: []*pb.FleetBreaker{{}}}),
	} {
		got, err := Fleet(fleetRow(1, r))
		if err != nil || len(got.Endpoints) != 1 || len(got.Endpoints[0].Breakers) > 0 {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
	if got, err := Fleet(fleetRow(1, &pb.Resource{Kind: 40, Name: "x", Body: []byte{0xff}})); err != nil || len(got.Endpoints) > 0 {
		t.Errorf("a kind: %v, error %v", got, err)
	}
	for want, r := range map[string]*pb.Resource{
		"does not decode":   {Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "a", Body: []byte{0xff}},
		"another name":      row(&pb.FleetEndpoint{Endpoint: "b"}),
		"speed is NaN":      row(&pb.FleetEndpoint{Endpoint: "a", Speed: math.NaN()}),
		"negative":          row(&pb.FleetEndpoint{Endpoint: "a", Breakers: []*pb.FleetBreaker{{OpenUs: -1}}}),
		"impossible":        row(&pb.FleetEndpoint{Endpoint: "a", Loads: []*pb.FleetLoad{{Slowdown: math.Inf(1)}}}),
		"retry_factor is -": resource(t, pb.Kind_KIND_FLEET_WORKLOAD, "w", &pb.FleetWorkload{Workload: "w", RetryFactor: -1}),
	} {
		if _, err := Fleet(fleetRow(1, r)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestARetryFactorIsDatedByItsRow(t *testing.T) {
	r, err := EncodeFleetWorkload(route.FleetWorkload{Name: "w", RetryFactor: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]int64{7: 7, -7: -7, 0: math.MinInt64 / 2} { // without a date it is stale
		got, err := Fleet(fleetRow(at, r))
		if err != nil || len(got.Workloads) != 1 || got.Workloads[0] != (route.FleetWorkload{Name: "w", At: want, RetryFactor: 0.5}) {
			t.Errorf("made at %d: %v, error %v", at, got, err)
		}
	}
}

func sampleReport() *route.Report {
	return &route.Report{
		Leaf: "l", Node: "n", Locality: "eu", Incarnation: 3, Sequence: 4, At: 700, Interval: 1000, Term: 5, LastGrant: 6,
		Rows: []route.Row{{
			Endpoint: "a", Identity: 7, Class: breaker.Long, Workload: "chat",
			Admitted: 1, AdmitFailed: 2, Finished: 3, FinishFailed: 4, Slow: 5, Limited: 6, Excluded: 7, Invalid: 12,
			InFlight: 8, PendingPromptTokens: 9, OutstandingTokens: 10, TTFT: []route.Bucket{{Index: 3, Count: 2}}, Cost: 11,
			WorkUS: 13, BusyUS: 14, WaitedUS: 15, ExplainedUS: 16,
		}},
		Votes:  []route.Vote{{Endpoint: "a", Identity: 7, Class: breaker.Tools, Phase: breaker.Finish, Round: 2, Soft: true, Reason: "slow"}},
		Probes: []route.ProbeResult{{Permit: 1, Endpoint: "a", Identity: 7, Class: breaker.Any, Round: 2, Outcome: route.ProbeBad}},
		Sheds:  []route.Shed{{Workload: "chat", Kind: route.ShedTenantCap, Count: 3}},
		Spent:  []route.SpentQuota{{Quota: "q", Until: 9000}},
	}
}

func TestAReportRoundTrips(t *testing.T) {
	const now, dated = 1000, 51_000
	got, err := Report(dated, EncodeReport(now, sampleReport()))
	if err != nil {
		t.Fatal(err)
	}
	want := sampleReport()
	want.At += dated - now
	want.Spent[0].Until += dated - now
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryKindOfShedHasAWordOfItsOwn(t *testing.T) {
	seen := map[string]bool{"": true}
	for k := range route.ShedKind(6) {
		if word := ShedWord(k); seen[word] {
			t.Errorf("kind %v is told as %q", k, word)
		}
		seen[ShedWord(k)] = true
	}
}

func TestAReportSkipsWhatIsNotKnownAndRefusesWhatCannotBeRight(t *testing.T) {
	m := &pb.LeafReport{
		Leaf: "l", AgeUs: -5, Rows: []*pb.Row{{Class: 9}, {}, {Class: pb.Class_CLASS_ANY, CostNanoUsd: -5}}, Votes: []*pb.Vote{{Class: pb.Class_CLASS_ANY}, {Phase: pb.Phase_PHASE_ADMIT}},
		Probes: []*pb.ProbeResult{{Class: pb.Class_CLASS_ANY}, {Class: pb.Class_CLASS_ANY, Outcome: 9}},
		Sheds:  []*pb.Shed{nil, {Workload: "w", Reason: "a whim"}, {Reason: "open"}}, Spent: []*pb.Spent{nil, {Quota: "q"}, {Quota: "q", RemainingUs: -1}, {RemainingUs: 5}},
	}
	got, err := Report(100, m)
	if diff := cmp.Diff(route.Report{Leaf: "l", At: 100, Rows: make([]route.Row, 1)}, got); err != nil || diff != "" {
		t.Errorf("error %v, %s", err, diff)
	}
	for _, m := range []*pb.LeafReport{nil, {}, {Leaf: "l", IntervalUs: -1}, {Leaf: "l", IntervalUs: math.MaxInt64}} {
		if _, err := Report(0, m); err == nil {
			t.Errorf("%v was taken", m)
		}
	}
}

func TestAPermitRoundTrips(t *testing.T) {
	p := route.Permit{Number: 3, Endpoint: "a", Identity: 7, Class: breaker.Stream, Phase: breaker.Finish, Round: 2, UseBy: 3000}
	g := EncodePermit(1000, "l", 9, p)
	if g.Leaf != "l" || g.Term != 9 {
		t.Errorf("grant %v", g)
	}
	got, ok := Permit(51_000, g)
	p.UseBy = 53_000
	if !ok || got != p {
		t.Errorf("got %v, %v", got, ok)
	}
}

func TestAPermitIsNeverOverBeforeItWasSent(t *testing.T) {
	m := &pb.Permit{Class: pb.Class_CLASS_ANY, Phase: pb.Phase_PHASE_ADMIT, UseByUs: -9}
	if p, ok := Permit(100, &pb.Grant{What: &pb.Grant_Permit{Permit: m}}); !ok || p.UseBy != 100 {
		t.Errorf("%v, %v", p, ok)
	}
}

func TestWhatIsNoPermitHere(t *testing.T) {
	for _, g := range []*pb.Grant{
		nil, {}, {What: &pb.Grant_Lease{Lease: &pb.Lease{}}}, {What: &pb.Grant_Permit{}},
		{What: &pb.Grant_Permit{Permit: &pb.Permit{Class: 9, Phase: pb.Phase_PHASE_ADMIT}}},
		{What: &pb.Grant_Permit{Permit: &pb.Permit{Class: pb.Class_CLASS_ANY}}},
	} {
		if p, ok := Permit(0, g); ok {
			t.Errorf("%v gave %v", g, p)
		}
	}
}

func TestALeaseRoundTrips(t *testing.T) {
	part := func(d limit.Dimension, rate, from, until int64) route.Lease {
		return route.Lease{Quota: "q", Dimension: d, Lease: limit.Lease{Rate: rate, Safe: 1, From: from, Until: until}}
	}
	var sent, want []route.Lease
	for d := range limit.Dimensions {
		sent = append(sent, part(d, 10+int64(d), 1000, 3000))
		want = append(want, part(d, 10+int64(d), 51_000, 53_000))
	}
	g := EncodeLease(1000, "l", sent)
	if diff := cmp.Diff(want, Lease(51_000, g)); diff != "" || g.Leaf != "l" {
		t.Errorf("grant %v: %s", g, diff)
	}
	cap := route.Lease{Tenant: "acme", Dimension: limit.Tokens, Lease: limit.Lease{Rate: 5, Until: 9}}
	if diff := cmp.Diff([]route.Lease{cap}, Lease(0, EncodeLease(0, "l", []route.Lease{cap}))); diff != "" {
		t.Error(diff)
	}
}

func TestALeaseStaysInRange(t *testing.T) {
	m := &pb.Lease{Quota: "q", DurationUs: -9, Parts: []*pb.LeasePart{{Dimension: pb.Dimension_DIMENSION_DAILY, Rate: math.MaxInt64, Safe: -5}}}
	want := []route.Lease{{Quota: "q", Dimension: limit.Daily, Lease: limit.Lease{Rate: 1 << 40, From: 100, Until: 100}}}
	if diff := cmp.Diff(want, Lease(100, &pb.Grant{What: &pb.Grant_Lease{Lease: m}})); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoLeaseHere(t *testing.T) {
	parts := []*pb.LeasePart{{Dimension: pb.Dimension_DIMENSION_TOKENS, Rate: 1}}
	for _, m := range []*pb.Lease{
		nil, {}, {Parts: parts}, {Quota: "q"}, {Quota: "q", Tenant: "t", Parts: parts},
		{Endpoint: "a", Concurrency: 5, DurationUs: 9}, {Tenant: "t", NanoUsd: 5, DurationUs: 9},
		{Quota: "q", Parts: []*pb.LeasePart{nil, {}, {Dimension: 6}, {Dimension: -1}}},
	} {
		if got := Lease(0, &pb.Grant{What: &pb.Grant_Lease{Lease: m}}); len(got) > 0 {
			t.Errorf("%v gave %v", m, got)
		}
	}
	if got := Lease(0, &pb.Grant{What: &pb.Grant_Permit{Permit: &pb.Permit{}}}); len(got) > 0 {
		t.Errorf("a permit gave %v", got)
	}
}

func TestTimesStayInRange(t *testing.T) {
	for name, test := range map[string]struct{ got, want int64 }{
		"a date from ages ago": {dateOf(-10, math.MaxInt64), -10 - oldest},
		"an age of the future": {Age(-5), 0},
		"beyond any age":       {Age(math.MaxInt64), oldest},
		"no date is zero":      {dateOf(5, 5), -1},
		"for ever":             {plus(1, math.MaxInt64), math.MaxInt64},
		"an age of all time":   {ageOf(math.MaxInt64, math.MinInt64), math.MaxInt64},
		"nothing remains":      {remaining(9, 3), 0},
		"the rest remains":     {remaining(3, 9), 6},
		"what lies ahead":      {ageOf(3, 9), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", name, test.got, test.want)
		}
	}
}
