package simulate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

func TestThePageNeedsNoNetworkAndIsTheSameTwice(t *testing.T) {
	encode := func() string {
		data, err := report(t, plan(fleet, 12, 2), "violations == 0", "predictive.ttft_p99 < 1ms").Page()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	page := encode()
	if diff := cmp.Diff(page, encode()); diff != "" {
		t.Error(diff)
	}
	for _, outside := range []string{"src=", "href=", "url(", "@import", "fetch("} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	if at := strings.Index(strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, ""), "http"); at >= 0 {
		t.Error("the page has an address of somewhere else")
	}
	for _, want := range []string{"Who waits how long", "Latency", "Over time", "Cost against latency", "Between tenants", "Breakers", "Who got how much", "Assertions",
		"✗", "✓", "one in ten slow: avoided by all after 4.20 s, 17 failed attempts until then", "prefers-color-scheme:dark", "load", "Forty endpoints of three speeds."} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestNamesOfFilesCannotBreakOutOfThePage(t *testing.T) {
	const evil = `</title></svg><script>alert("x")</script>&amp;'`
	world := made{endpoints: 2, calls: 60, tenants: []string{evil, "b"}, faults: []measure.Fault{{Name: evil, From: 10 * second, To: 90 * second, Endpoints: []string{evil, "gpu-01"}}}}
	p := plan(world, 2, 2)
	p.Points[0].Policies[1] = sim.Policy{Name: evil}
	p.Points[0].Variables = map[string]string{evil: evil, "load": "1"}
	other := p.Points[0]
	other.Variables = map[string]string{evil: evil, "load": "2"}
	p.Points = append(p.Points, other)
	r := report(t, p)
	r.Title, r.Text, r.File, r.Sweep = evil, evil, evil, "load"
	r.Points[0].Verdicts = []Verdict{{Text: evil, Found: evil}}
	many, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	r.Points, r.Sweep = r.Points[:1], ""
	one, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{string(many), string(one)} {
		if strings.Contains(page, "<script>alert") || strings.Count(page, "<script") != 1 || strings.Count(page, "</title></svg>") > 0 {
			t.Error("a name became a part of the page")
		}
		checkSVGs(t, page)
	}
}

func TestEveryPictureIsWellFormed(t *testing.T) {
	r := report(t, plan(fleet, 12, 1))
	o := &r.Points[0]
	for _, f := range slices.Concat(o.Figures(), o.Shares(), o.Breakers()) {
		checkXML(t, f.Standalone())
		if strings.Contains(f.SVG, "NaN") || strings.Contains(f.SVG, "Inf") {
			t.Errorf("%s has what is no number", f.Name)
		}
	}
}

func TestWhereNobodyIsServedThereIsStillAPage(t *testing.T) {
	p := plan(made{}, 3, 2)
	p.Play = func(s *sim.Scenario, policy sim.Policy, seed uint64, _ func(int64) bool) (*measure.Result, error) {
		r := measure.New(measure.Plan{Policy: policy.Name, Seed: seed, Duration: s.Duration, Endpoints: []string{"a"}})
		r.Call(&measure.Call{At: second, Asker: measure.Asker{Tenant: "x"}, Ending: measure.Ending{Shed: "full"}})
		r.Call(&measure.Call{At: second, Asker: measure.Asker{Tenant: "y"}, Ending: measure.Ending{Shed: "full"}})
		return r.Result(), nil
	}
	page, err := report(t, p).Page()
	if err != nil {
		t.Fatal(err)
	}
	checkSVGs(t, string(page))
	if bytes.Contains(page, []byte("NaN")) || bytes.Contains(page, []byte(`"Inf`)) {
		t.Error("the page has what is no number")
	}
	if page, err = (&Report{File: "x.hcl"}).Page(); err != nil || !bytes.Contains(page, []byte("Nothing was run.")) {
		t.Error(err)
	}
}

func checkSVGs(t *testing.T, page string) {
	t.Helper()
	pictures := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	if len(pictures) == 0 {
		t.Error("no pictures")
	}
	for _, p := range pictures {
		checkXML(t, []byte(p))
	}
}

func checkXML(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %.200s", err, data)
		}
	}
}

func TestLabelsAreMovedApartAndKeepTheirOrder(t *testing.T) {
	for _, ys := range [][]float64{{10, 10, 10}, {0, 5, 90, 95, 99}, {50}, {}, {99, 99, 99, 99}} {
		got := spread(ys, 14, 10, 100)
		for i := range got {
			if got[i] > 100 || i > 0 && got[i]-got[i-1] < 14-1e-9 {
				t.Errorf("%v became %v", ys, got)
			}
		}
	}
}

func TestTicksAscendWithinTheirAxis(t *testing.T) {
	for _, values := range [][]float64{{1, 2}, {5, 5}, {0.001, 1e6}, {math.NaN()}, {}, {0}, {120, 130}, {1e-9, 2e-9}, {1e8}} {
		for _, a := range []axis{logAxis(values, measure.Time, 0, 100), evenAxis(values, measure.Plain, 0, 100)} {
			if len(a.ticks) == 0 || len(a.ticks) > 30 {
				t.Errorf("%v: %d ticks", values, len(a.ticks))
			}
			for i, tick := range a.ticks {
				if at := a.px(tick.at); at < -1 || at > 101 || i > 0 && tick.at <= a.ticks[i-1].at {
					t.Errorf("%v: tick %g at %g", values, tick.at, at)
				}
			}
		}
	}
}

func TestAPageSortsWhatIsNotKnownLast(t *testing.T) {
	for v, want := range map[float64]string{0.25: "0.25", math.Inf(1): "1e308"} {
		if got := sortable(v); got != want {
			t.Errorf("%g: %s", v, got)
		}
	}
	if got := sortable(math.NaN()); got != "1.5e308" {
		t.Error(got)
	}
	o := Outcome{Policies: []string{"dead", "quick"}}
	for _, p := range o.Policies {
		r := measure.New(measure.Plan{Policy: p, Seed: 1, Duration: second})
		r.Call(&measure.Call{First: 1000, End: 2000, Ending: measure.Ending{Served: p == "quick", Late: p != "quick"}})
		o.Results = append(o.Results, r.Result())
	}
	if svg := o.ranking("ttft_p99", "p99").SVG; strings.Index(svg, ">dead<") < strings.Index(svg, ">quick<") || strings.Contains(svg, "NaN") {
		t.Errorf("who serves nobody is ranked before who serves: %s", svg)
	}
}
