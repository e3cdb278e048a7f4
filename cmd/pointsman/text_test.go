package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestAHeadInOneLine(t *testing.T) {
	pins := []*pb.WorkloadPin{{Workload: "chat", Revision: 3}}
	for want, head := range map[string]*pb.Head{
		"nothing published yet":                                                              {Epoch: 1},
		"generation 9 serves revision 4":                                                     {Generation: 9, Published: 4, Serving: 4},
		"generation 9 serves revision 2, pinned; 4 is published":                             {Generation: 9, Published: 4, Serving: 2, Pin: 2},
		"generation 9 serves revision 4, pinned":                                             {Generation: 9, Published: 4, Serving: 4, Pin: 4},
		"generation 9 serves revision 5, which is 4 with pins; workload chat is pinned to 3": {Generation: 9, Published: 4, Serving: 5, Pins: pins},
	} {
		if got := headLine(head); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestASpanHasTwoFiguresThatMatter(t *testing.T) {
	for us, want := range map[int64]string{
		0: "0s", 900: "1ms", 1_500_000: "1.5s", 61_000_000: "1m1s", 7_200_000_000: "2h", 5_430_000_000: "1h31m", 3_600_000_000: "1h", 3_599_900_000: "1h", 60_000_000: "1m", 70_000_000: "1m10s", 30_000_000: "30s",
	} {
		if got := span(us); got != want {
			t.Errorf("%d: %q, want %q", us, got, want)
		}
	}
}

func TestAnOldRowIsShownAsStale(t *testing.T) {
	row := &pb.FleetEndpoint{}
	if got := []string{age(nil, 0), age(row, 29_999_000), age(row, 41_000_000)}; !slices.Equal(got, []string{"", "30s", "41s, stale"}) {
		t.Errorf("%q", got)
	}
}

func TestWordsForStates(t *testing.T) {
	overrides := []*pb.Override{
		{What: &pb.Override_Drain{Drain: &pb.Drain{}}},
		{What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{Open: true}}},
		{What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{}}},
		{What: &pb.Override_Weight{Weight: 0}},
		{},
	}
	if diff := cmp.Diff("drained, forced open, forced closed, weight 0, unknown", overrideWords(overrides)); diff != "" {
		t.Error(diff)
	}
	breakers := []*pb.FleetBreaker{
		{State: pb.BreakerState_BREAKER_STATE_RAMP, RampUs: 30_000_000, RampAgeUs: 9_000_000},
		{State: pb.BreakerState_BREAKER_STATE_OPEN, OpenUs: 500_000},
		{State: pb.BreakerState_BREAKER_STATE_CLOSED},
	}
	if got := breakerWord(breakers); got != "open, ramp" {
		t.Error(got)
	}
	for i, want := range []string{"20s", "0s", ""} {
		if got := remaining(breakers[i], 1_000_000); got != want {
			t.Errorf("%v: %q, want %q", breakers[i], got, want)
		}
	}
}

func TestAStoreOutOfReachIsSaid(t *testing.T) {
	var out bytes.Buffer
	printStatus(&out, "default", &pb.StatusResponse{Head: &pb.Head{}, HeadAgeUs: 42_000_000})
	for _, want := range []string{"OUT OF REACH: head confirmed 42s ago", "leader     none: each process goes by its own breakers", "look at: the store is OUT OF REACH, NOBODY LEADS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %q", &out, want)
		}
	}
}

func TestACompiledSnapshotIsWhatALibraryStartsFrom(t *testing.T) {
	code, stdout, stderr := pointsman(nil, "catalog", "compile", "testdata/catalog", "-out", "-")
	if code != 0 {
		t.Fatal(stderr)
	}
	state, err := wire.Read(0, []byte(stdout))
	if err != nil {
		t.Fatal(err)
	}
	catalog, unusable, err := wire.Catalog(state, true)
	if err != nil || len(unusable) != 0 || len(catalog.Endpoints) != 2 || len(catalog.Workloads) != 1 {
		t.Errorf("%+v %v %v", catalog, unusable, err)
	}
}

func TestAnEmptyCatalogIsASnapshotToo(t *testing.T) {
	state := snapshot(nil)
	if state.Empty != pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY {
		t.Errorf("%v: a library would refuse it", state.Empty)
	}
}

func TestOnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "\n": false, "": false, "yep\n": false} {
		released := false
		e := &env{stdin: strings.NewReader(answer), stderr: &bytes.Buffer{}, release: func() { released = true }}
		if err := e.confirm("?"); (err == nil) != want || !released {
			t.Errorf("%q: %v, released %v", answer, err, released)
		}
	}
}

func TestPullWritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	to := target{dir: filepath.Join(dir, "in")}
	good := &pb.SourceFile{Name: "a.hcl", Content: []byte("# a\n")}
	for _, name := range []string{"../b.hcl", "/b.hcl", ""} {
		if err := to.write([]*pb.SourceFile{good, {Name: name}}); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if _, err := os.Stat(to.dir); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	if err := to.write([]*pb.SourceFile{good, {Name: "sub/b.hcl"}}); err != nil {
		t.Error(err)
	}
}

func TestAPlanOfAnotherFormatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan")
	for content, want := range map[string]string{
		`{"format_version":2,"namespace":"default"}`: "format version 2, and this program reads 1",
		`not a plan`: "invalid character",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := pointsman(nil, "catalog", "publish", path); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
}

func TestATextCannotBreakATableOrATerminal(t *testing.T) {
	var out bytes.Buffer
	table(&out, [][]string{{"A", "B"}, {"one\ttwo\n", "\x1b[31mred\x1b[0m\x07"}})
	if diff := cmp.Diff("A        B\none two  [31mred [0m\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsPublishedAlreadyIsNotSaidToBePublishedAgain(t *testing.T) {
	answer := &pb.PublishResponse{Head: &pb.Head{Generation: 9}, Revision: 4}
	for base, want := range map[uint64]string{
		3: "published revision 4, generation 9\n",
		4: "nothing to publish: it is revision 4, generation 9\n",
	} {
		var out bytes.Buffer
		if printPublished(&out, base, answer); out.String() != want {
			t.Errorf("on %d: %s", base, out.String())
		}
	}
}

func TestReleasingInterruptsInterruptsNothing(t *testing.T) {
	ctx, release, stop := interruptible()
	defer stop()
	release()
	if ctx.Err() != nil {
		t.Error("what was to be done after the question is cancelled")
	}
}
