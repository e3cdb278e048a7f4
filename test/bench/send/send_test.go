package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBothWaysGetTheWholeAnswer(t *testing.T) {
	server := httptest.NewServer(handler())
	defer server.Close()
	p, err := newPair(server.URL+"/0/40/v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, f := range []form{whole, streamed} {
		want := []int64{int64(len(wholeAnswer)), int64(40*len(event) + len(streamEnd))}[f]
		for _, w := range p.ways {
			for range 2 {
				if _, err := w.send(f); err != nil {
					t.Error(err)
				}
			}
			got := w.length[f].Load()
			if hidden := int64(strings.LastIndex(streamEnd, "data: [DONE]") - strings.Index(streamEnd, "\n\n") - 2); f == streamed && w.name == "routed" {
				got += hidden // the usage that nobody asked for
			}
			if got != want {
				t.Errorf("%s, %v: %d bytes, want %d", w.name, f, got, want)
			}
		}
	}
}

func TestAnAnswerOfAnotherLengthIsAnError(t *testing.T) {
	var w way
	for _, c := range []struct {
		status int
		length int64
		good   bool
	}{{200, 100, true}, {200, 100, true}, {200, 99, false}, {500, 100, false}} {
		if err := w.check(whole, c.status, c.length); (err == nil) != c.good {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func samplesOf(us ...int) []sample {
	var all []sample
	for _, v := range us {
		d := time.Duration(v) * time.Microsecond
		all = append(all, sample{late: 10 * time.Microsecond, first: d, total: 2 * d})
	}
	return all
}

func TestFiguresOfARound(t *testing.T) {
	got, err := figuresOf(samplesOf(1000, 1010, 1020, 1030), samplesOf(1100, 1110, 1120, 1130))
	want := figures{
		Bare50: 1020, Bare99: 1030, Added50: 100, Added99: 100, Ratio50: 1.098, Total50: 200,
		Noise50: 10, Noise99: 10, Late50: 10, Late99: 10,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff(figures{Added50: 3, Noise99: 2.5}, middle([]figures{{Added50: 9, Noise99: 2}, {Added50: 3, Noise99: 3}, {Added50: 1, Noise99: 2.5}})); diff != "" {
		t.Error(diff)
	}
}

func TestTheVerdict(t *testing.T) {
	good := figures{Added50: 25, Added99: 150, Ratio50: 1.1, Late50: mostLate}
	for _, c := range []struct {
		rule   string
		change func(*report)
		want   string
	}{
		{"at the limits", func(*report) {}, pass},
		{"slower streams alone", func(r *report) { r.Streamed.Added50 = 25.1 }, fail},
		{"a longer tail", func(r *report) { r.Whole.Added99 = 151 }, fail},
		{"a larger ratio", func(r *report) { r.Whole.Ratio50 = 1.11 }, fail},
		{"more allocations of streams", func(r *report) { r.AllocsStreamed = 30.5 }, fail},
		{"costlier events", func(r *report) { r.PerEvent = 1001 }, fail},
		{"noise above a limit", func(r *report) { r.Whole.Noise99, r.PerEvent = 151, 1001 }, void},
		{"requests that begin late", func(r *report) { r.Streamed.Late50++ }, void},
		{"a slow machine", func(r *report) { r.Yardstick = 41 }, void},
	} {
		r := &report{Yardstick: 20, Whole: good, Streamed: good, AllocsWhole: 30, AllocsStreamed: 30, PerEvent: 1000}
		c.change(r)
		if r.judge(); r.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.rule, r.Verdict, c.want)
		}
	}
}
