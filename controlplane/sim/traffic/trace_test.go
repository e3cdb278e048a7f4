package traffic

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSameSeedGivesTheSameArrivals(t *testing.T) {
	tr := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	tr.Crowd, tr.Sticky, tr.Labels.Cancel = Crowd{Clients: 50, Zipf: 0.8}, true, 0.1
	a, b, other := play(t, tr, 1, 3000), play(t, tr, 1, 3000), play(t, tr, 2, 3000)
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
	same := 0
	for i := range a {
		if a[i].Input != other[i].Input || a[i].Key != other[i].Key {
			t.Fatal("a seed changes what was recorded")
		}
		if a[i].Chance == other[i].Chance {
			same++
		}
	}
	if same > 3 {
		t.Errorf("%d of %d chances are the same with another seed", same, len(a))
	}
}

func TestWhatIsDrawnForOnePurposeMovesNothingElse(t *testing.T) {
	plain := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	full := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	full.Crowd, full.Labels = Crowd{Clients: 50, Zipf: 1}, Labels{Cancel: 0.5, MaxOutput: 100, Deadline: 5, Tenant: "acme"}
	a, b := play(t, plain, 1, 1000), play(t, full, 1, 1000)
	for i := range a {
		if a[i].At != b[i].At || a[i].Chance != b[i].Chance || a[i].Input != b[i].Input || a[i].Key != b[i].Key {
			t.Fatalf("arrival %d: %+v, with labels %+v", i, a[i], b[i])
		}
	}
	sticky := *full
	sticky.Sticky = true
	keyless := azure("2023-11-16 18:17:03,5,1", "2023-11-16 18:17:04,5,1", "2023-11-16 18:17:05,5,1")
	keyless.Crowd.Clients = 50
	also := *keyless
	also.Sticky = true
	if d := cmp.Diff(play(t, keyless, 1, 9), play(t, &also, 1, 9)); d != "" {
		t.Errorf("requests without a key have other clients: %s", d)
	}
}

func TestRowsOfOneTickAreSpreadOverItInOrder(t *testing.T) {
	tr := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	all := play(t, tr, 1, everything)
	if !slices.IsSorted(times(all)) {
		t.Fatal("not in order of time")
	}
	raw := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	raw.Tick = -1
	var within []float64
	for i, r := range play(t, raw, 1, everything) {
		if r.Input != all[i].Input || r.Output != all[i].Output {
			t.Fatalf("row %d is another", i)
		}
		d := all[i].At - r.At
		if d < 0 || d >= tickDefault {
			t.Fatalf("row %d is moved by %d µs", i, d)
		}
		within = append(within, float64(d)/tickDefault)
	}
	// Uniform: mean ½, variance 1/12, each within 4 standard errors (of ticks rounded to 3 s).
	mean, cv := moments(within)
	if se := math.Sqrt(1.0/12) / math.Sqrt(float64(len(within))); math.Abs(mean-0.5) > 4*se {
		t.Errorf("mean place in a tick %.4f", mean)
	}
	if v := cv * mean * cv * mean; math.Abs(v-1.0/12) > 0.003 {
		t.Errorf("variance in a tick %.4f, want %.4f", v, 1.0/12)
	}
	gaps := gapsOf(all)
	if _, cv := moments(gaps); cv > 1.2 {
		t.Errorf("CV of gaps %.2f, of the clock's ticks it is 3.03", cv)
	}
}

func TestOnlyRowsThatShareATimeAreSpreadAndNotBeyondTheNext(t *testing.T) {
	row := `{"timestamp": %d, "input_length": 5, "output_length": 5, "hash_ids": [%d]}`
	tr := mooncake(fmt.Sprintf(row, 0, 1), fmt.Sprintf(row, 700, 2), fmt.Sprintf(row, 700, 3), fmt.Sprintf(row, 700, 4), fmt.Sprintf(row, 800, 5),
		fmt.Sprintf(row, 90_000, 6), fmt.Sprintf(row, 90_000, 7))
	at := times(play(t, tr, 3, everything))
	if at[0] != 0 || at[4] != 800_000 || at[1] < 700_000 || at[3] >= 800_000 || at[5] < 90_000_000 || at[6] >= 93_000_000 || !slices.IsSorted(at) {
		t.Errorf("at %v", at)
	}
	if at[1] == at[2] || at[6] < 90_100_000 {
		t.Errorf("not spread: %v", at)
	}
}

func TestKeysDoNotCountWhatEverybodyShares(t *testing.T) {
	all := play(t, shipped("mooncake-conversation.jsonl.gz", "mooncake"), 1, everything)
	groups, common := map[string]int{}, all[0].Blocks[0]
	for i := range all {
		if all[i].Blocks[0] != common {
			t.Fatal("block 0 is not in all")
		}
		groups[all[i].Key]++
	}
	largest := 0
	for _, n := range groups {
		largest = max(largest, n)
	}
	if groups[""] != 0 || len(groups) != 7373 || largest != 43 {
		t.Errorf("%d keys, the largest of %d requests, %d without; block 1 has 7,373 values, one of them in 43 requests", len(groups), largest, groups[""])
	}
}

func TestAPromptOfNothingButTheCommonHasNoKey(t *testing.T) {
	var rows []string
	for i := range 100 {
		switch i {
		case 50:
			rows = append(rows, `{"timestamp": 50, "input_length": 512, "output_length": 5, "hash_ids": [0]}`)
		case 60:
			rows = append(rows, `{"timestamp": 60, "input_length": 512, "output_length": 5, "hash_ids": [9]}`)
		default:
			rows = append(rows, fmt.Sprintf(`{"timestamp": %d, "input_length": 1024, "output_length": 5, "hash_ids": [0, %d]}`, i, 1000+i/2))
		}
	}
	all := play(t, mooncake(rows...), 1, everything)
	if all[50].Key != "" || all[60].Key == "" || all[0].Key != all[1].Key || all[0].Key == all[2].Key {
		t.Errorf("keys %q, %q, %q %q %q", all[50].Key, all[60].Key, all[0].Key, all[1].Key, all[2].Key)
	}
}

func TestBlocksOfAnotherFileAreOthersAndOfTheSameTheSame(t *testing.T) {
	row := `{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}`
	a, b, again := mooncake(row), mooncake(row), mooncake(row)
	b.Path = "other.txt"
	again.Name = "other"
	if x, y := play(t, a, 1, 1)[0], play(t, b, 1, 1)[0]; x.Blocks[0] == y.Blocks[0] || x.Key == y.Key {
		t.Error("another file has the same prompts")
	}
	if x, y := play(t, a, 1, 1)[0], play(t, again, 2, 1)[0]; !slices.Equal(x.Blocks, y.Blocks) {
		t.Error("the same file has other prompts")
	}
}

func TestLabelsAreOnEveryArrival(t *testing.T) {
	tr := shipped("azure-conversation.csv.gz", "azure")
	tr.Labels = Labels{Workload: "chat", Tenant: "acme", Needs: []string{"tools"}, Stream: true, MaxOutput: 100, Deadline: 7, Cancel: 0.2, Patience: 3_000_000}
	all := play(t, tr, 1, everything)
	left, after := 0, 0.0
	for i := range all {
		a := &all[i]
		if a.Workload != "chat" || a.Tenant != "acme" || !slices.Equal(a.Needs, []string{"tools"}) || !a.Stream || a.MaxOutput != 100 || a.Deadline != 7 || a.Output > 100 {
			t.Fatalf("%+v", a)
		}
		if a.Cancel != 0 {
			left++
			after += float64(a.Cancel)
		}
	}
	if share := float64(left) / float64(len(all)); math.Abs(share-0.2) > 0.01 {
		t.Errorf("%.3f left", share)
	}
	if mean := after / float64(left); math.Abs(mean/3e6-1) > 0.06 {
		t.Errorf("they left after %.0f µs in the mean", mean)
	}
}

func TestAStickyKeyHasOneClient(t *testing.T) {
	tr := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	tr.Crowd, tr.Sticky = Crowd{First: 10, Clients: 50, Zipf: 0.8}, true
	of, counts := map[string]int32{}, make([]float64, 60)
	for _, a := range play(t, tr, 1, everything) {
		if was, ok := of[a.Key]; ok && was != a.Client {
			t.Fatalf("key %s has clients %d and %d", a.Key, was, a.Client)
		}
		of[a.Key] = a.Client
	}
	for _, client := range of {
		counts[client]++
	}
	parts := zipf(50, 0.8)
	for i := range 10 {
		if got := counts[10+i] / float64(len(of)); math.Abs(got-parts[i]) > 4*math.Sqrt(parts[i]/float64(len(of))) {
			t.Errorf("client %d has %.4f of the keys, want %.4f", 10+i, got, parts[i])
		}
	}
}

func TestMemoryDoesNotGrowWithATraceLength(t *testing.T) {
	tr := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	s, err := tr.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	var a Arrival
	next := func() {
		if more, err := s.Next(&a); !more || err != nil {
			t.Fatal(more, err)
		}
	}
	for range 500 {
		next()
	}
	if n := testing.AllocsPerRun(5000, next); n > 1 { // the key's name
		t.Errorf("%v allocations a row", n)
	}
	z := shipped("azure-conversation.csv.gz", "azure")
	if s, err = z.Open(1); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(5000, next); n > 0 {
		t.Errorf("%v allocations a row of azure's", n)
	}
}

func TestSettingsThatMakeNoSenseAreNamedAllAtOnce(t *testing.T) {
	tr := &Trace{Name: "chat", Format: "csv", Window: Window{From: 5, Until: 5, Speed: math.NaN(), Shift: -1}, Crowd: Crowd{Clients: -1, Zipf: math.Inf(1)}, Labels: Labels{Cancel: 2, Deadline: -1}}
	err := tr.Check()
	for _, want := range []string{`traffic "chat"`, `format: "csv", want azure or mooncake`, "trace: no file", "until: 5µs, want it after from", "speed: NaN", "shift: -1", "clients: -1", "zipf: +Inf", "cancel: 2, want 0 to 1", "deadline: -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
	if _, again := tr.Open(1); again == nil {
		t.Error("it opens")
	}
	if _, again := tr.Stats(); again == nil {
		t.Error("it has stats")
	}
	tr = azure("2023-11-16 18:00:00,1,1")
	tr.File = func() (io.ReadCloser, error) { return nil, io.ErrClosedPipe }
	if err := failure(tr); err == nil || !strings.Contains(err.Error(), "open trace t.txt: ") {
		t.Error(err)
	}
}

func moments(x []float64) (mean, cv float64) {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	mean = sum / n
	return mean, math.Sqrt(squares/n-mean*mean) / mean
}

func gapsOf(all []Arrival) (gaps []float64) {
	for i := 1; i < len(all); i++ {
		gaps = append(gaps, float64(all[i].At-all[i-1].At))
	}
	return gaps
}
