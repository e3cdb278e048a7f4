package dev

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/fake"
	"google.golang.org/protobuf/proto"
)

func TestTheExampleCatalogIsValidAndKeepsTheTTFTLimit(t *testing.T) {
	urls := map[string]string{}
	for i, m := range machines(1) {
		urls[m.Name] = fmt.Sprintf("http://127.0.0.1:%d/v1", i+1)
	}
	src := sources(urls)
	for _, f := range src.Files {
		if formatted, _ := catalog.Format(f.Name, f.Content); string(formatted) != string(f.Content) {
			t.Errorf("%s is not formatted", f.Name)
		}
	}
	r := catalog.Compile(src, catalog.Options{Now: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)})
	if len(r.Findings) > 0 {
		t.Fatalf("findings: %v", r.Findings)
	}
	var endpoints []string
	for _, resource := range r.Resources {
		if resource.Kind != pb.Kind_KIND_ENDPOINT {
			continue
		}
		var e pb.Endpoint
		if err := proto.Unmarshal(resource.Body, &e); err != nil {
			t.Fatal(err)
		}
		endpoints = append(endpoints, e.Name)
		if e.Breaker.TtftLimitUs != ttftLimit.Microseconds() {
			t.Errorf("%s: ttft_limit %d µs, ttftLimit says %v", e.Name, e.Breaker.TtftLimitUs, ttftLimit)
		}
	}
	var fakes []string
	for _, m := range machines(1) {
		fakes = append(fakes, m.Name)
	}
	slices.Sort(fakes)
	if diff := cmp.Diff(fakes, endpoints); diff != "" {
		t.Errorf("endpoints and fakes differ: %s", diff)
	}
}

// Three rows of the Azure LLM inference trace of 2023, conversation (CC BY 4.0, Patel et
// al., ISCA 2024).
const sampleTrace = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n" +
	"2023-11-16 18:15:46.6805900,374,44\r\n" +
	"2023-11-16 18:15:50.9951690,396,109\r\n" +
	"2023-11-16 18:15:51.2224670,879,55"

func TestATraceIsReadWithItsTimes(t *testing.T) {
	got, err := parseTrace(strings.NewReader(sampleTrace))
	if err != nil {
		t.Fatal(err)
	}
	want := []arrival{{0, 374, 44}, {4314579 * time.Microsecond, 396, 109}, {4541877 * time.Microsecond, 879, 55}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(arrival{})); diff != "" {
		t.Error(diff)
	}
}

func TestABadTraceNamesItsLine(t *testing.T) {
	for name, text := range map[string]string{
		"no header": "1,2,3\n",
		"no rows":   "TIMESTAMP,ContextTokens,GeneratedTokens\n",
		"line 3":    sampleTrace[:strings.Index(sampleTrace, "396")] + "many,1\n",
	} {
		_, err := parseTrace(strings.NewReader(text))
		if err == nil {
			t.Errorf("%s: read without an error", name)
		} else if strings.HasPrefix(name, "line") && !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %s", err, name)
		}
	}
}

func TestArrivalsGoOnWhenTheTraceEnds(t *testing.T) {
	trace := []arrival{{0, 1, 1}, {time.Second, 2, 2}}
	var last time.Duration
	n := 0
	for a := range arrivals(trace, nil) {
		if n > 0 && a.at <= last {
			t.Fatalf("arrival %d at %v, after one at %v", n, a.at, last)
		}
		if last, n = a.at, n+1; n == 5 {
			break
		}
	}
	if want := 4 * time.Second; last != want {
		t.Errorf("the fifth arrives at %v, want %v", last, want)
	}
}

func TestGeneratedArrivalsHaveTheirRate(t *testing.T) {
	n := 0
	for a := range arrivals(nil, rand.New(rand.NewPCG(1, 1))) {
		if a.at > 1000*time.Second {
			break
		}
		n++
	}
	if n < 5000 || n > 6000 {
		t.Errorf("%d arrivals in 1,000 s, want about 5,500", n)
	}
}

func TestLateIsAFirstAttemptPastTheReaction(t *testing.T) {
	begin := time.Now()
	for _, c := range []struct {
		name       string
		kind       fake.Kind
		try        try
		after      time.Duration // of the run's start; the fault is from 8 s to 18 s
		hits, late int
	}{
		{"before the fault", fake.Fail, try{number: 1}, 7 * time.Second, 0, 0},
		{"within the reaction", fake.Fail, try{number: 1}, 9400 * time.Millisecond, 1, 0},
		{"past it", fake.Fail, try{number: 1}, 9600 * time.Millisecond, 1, 1},
		{"past it, but a retry", fake.Fail, try{number: 2}, 9600 * time.Millisecond, 1, 0},
		{"past it, but a probe", fake.Fail, try{number: 1, probe: true}, 9600 * time.Millisecond, 0, 0},
		{"a hang shows at ttft_limit", fake.Hang, try{number: 1}, 10200 * time.Millisecond, 1, 0},
		{"a hang past it", fake.Hang, try{number: 1}, 10400 * time.Millisecond, 1, 1},
		{"after the fault", fake.Fail, try{number: 1}, 19 * time.Second, 0, 0},
	} {
		tally := newTally(map[string][]fake.Fault{"b": {{Kind: c.kind, From: 8 * time.Second, To: 18 * time.Second}}}, ttftLimit)
		tally.join("c")
		tally.start(begin)
		c.try.caller, c.try.endpoint, c.try.start = "c", "b", begin.Add(c.after)
		tally.attempt(c.try)
		got := tally.finish(1, 0).Callers[0]
		if got.Hits != c.hits || got.Late != c.late {
			t.Errorf("%s: %d hits, %d late; want %d, %d", c.name, got.Hits, got.Late, c.hits, c.late)
		}
	}
}

func TestAnOpeningIsCountedOnceUntilItCloses(t *testing.T) {
	begin := time.Now()
	tally := newTally(map[string][]fake.Fault{"b": {{Kind: fake.Fail, From: time.Second}}}, ttftLimit)
	tally.start(begin)
	tally.opened("b", byFleet, begin.Add(1200*time.Millisecond))
	tally.opened("b", byFleet, begin.Add(1300*time.Millisecond))
	tally.closed("b", byFleet, begin.Add(4*time.Second))
	tally.closed("b", byFleet, begin.Add(5*time.Second))
	closed := int64(3000)
	want := []Opening{{Endpoint: "b", By: byFleet, OpenedAfterMS: 200, ClosedAfterMS: &closed}}
	if diff := cmp.Diff(want, tally.finish(1, 0).Breaker); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsNameTheirEndpoint(t *testing.T) {
	if _, err := parseFaults([]string{"gpu-z=fail"}); err == nil || !strings.Contains(err.Error(), "gpu-a") {
		t.Errorf("an unknown endpoint gives %v", err)
	}
	faults, err := parseFaults([]string{"gpu-b=slow@2s", "gpu-b=fail@1s-2s"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]fake.Fault{"gpu-b": {{Kind: fake.Fail, From: time.Second, To: 2 * time.Second}, {Kind: fake.Slow, From: 2 * time.Second, Delay: late}}}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Error(diff)
	}
}

func TestConfigSaysEveryFaultAtOnce(t *testing.T) {
	err := Config{Speed: -1, Callers: 0, Duration: -1, Faults: []string{"x"}}.Check()
	for _, want := range []string{"speed", "callers", "duration", "fault"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
