package traffic

import (
	"slices"
	"testing"
)

func TestSourcesAreMergedByTimeAndTheEarlierSourceComesFirst(t *testing.T) {
	a := azure("2023-11-16 18:00:00,1,1", "2023-11-16 18:00:02,2,1", "2023-11-16 18:00:02,3,1")
	b := azure("2023-11-16 18:00:00,4,1", "2023-11-16 18:00:01,5,1", "2023-11-16 18:00:02,6,1", "2023-11-16 18:00:03,7,1")
	x, _ := a.Open(1)
	y, _ := b.Open(1)
	var got []int64
	for _, r := range drain(t, Merge(x, Merge(), y), everything) {
		got = append(got, r.Input)
	}
	if !slices.Equal(got, []int64{1, 4, 5, 2, 3, 6, 7}) {
		t.Errorf("%v", got)
	}
	z, _ := azure("2023-11-16 18:00:00,1,1", "x").Open(1)
	if more, err := Merge(z).Next(new(Arrival)); !more || err != nil {
		t.Errorf("a later error is told early: %v", err)
	}
}

func TestMergedSlicesAreGoodUntilTheNext(t *testing.T) {
	tr := shipped("mooncake-conversation.jsonl.gz", "mooncake")
	want := map[int64]uint64{}
	for _, a := range play(t, tr, 1, 200) {
		want[a.At] = a.Blocks[len(a.Blocks)-1]
	}
	x, _ := tr.Open(1)
	y, _ := shipped("azure-code.csv.gz", "azure").Open(1)
	seen := 0
	for _, a := range drain(t, Merge(x, y), 200) {
		if id, ok := want[a.At]; ok && len(a.Blocks) > 0 {
			if seen++; a.Blocks[len(a.Blocks)-1] != id {
				t.Fatalf("at %d block %d, want %d", a.At, a.Blocks[len(a.Blocks)-1], id)
			}
		}
	}
	if seen < 50 || seen > 150 {
		t.Errorf("%d of 200 are of the one trace", seen)
	}
}
