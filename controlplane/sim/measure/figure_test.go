package measure

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatFiguresAre(t *testing.T) {
	for text, want := range map[string]string{
		"a.ttft_mean":                         "1.05 ± 0.64 s",
		"b-2.ttft_mean  /  a.ttft_mean":       "2.00",
		`a.tenant."acme corp".calls`:          "1",
		"a.endpoint.gpu.share":                "100 %",
		"a.errors / b-2.errors":               "-",
		"b-2.workload.chat.calls / a.calls":   "1.00",
		"a.ttft_p98":                          "error: no metric",
		"ttft_p99":                            "error: every policy",
		"c.ttft_p99":                          `error: no policy "c" was played`,
		"a.tenant.acme.ttft_p99":              "error: had no calls",
		"a.ttft_mean / b-2.tenant.x.ttft_p99": "error: had no calls",
	} {
		f, err := ParseFigure(text)
		var e Estimate
		if err == nil {
			e, err = f.Estimate(runs())
		}
		wrong, isError := strings.CutPrefix(want, "error: ")
		switch {
		case isError && (err == nil || !strings.Contains(err.Error(), wrong)):
			t.Errorf("%s: %v, want %s", text, err, wrong)
		case !isError && (err != nil || e.Text != want):
			t.Errorf("%s: %q, %v, want %q", text, e.Text, err, want)
		}
	}
}

func TestTheIntervalOfAFigureIsThatOfItsWords(t *testing.T) {
	f, err := ParseFigure("a.ttft_mean")
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Estimate(runs())
	if err != nil || math.Abs((e.High-e.Low)/2-0.635e6) > 0.01e6 || math.Abs(e.Value-1.05e6) > 1 {
		t.Errorf("%+v, %v", e, err)
	}
	values, err := f.Values(runs())
	if diff := cmp.Diff([]float64{1e6, 1.1e6}, values); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if f.Unit() != Time {
		t.Errorf("of the unit %v", f.Unit())
	}
}

func TestAnAssertionHoldsSurelyOfItsWholeInterval(t *testing.T) {
	for text, want := range map[string]bool{
		"a.ttft_mean < 2s":                      true,
		"a.ttft_mean < 1600ms":                  false, // the mean is, the interval is not
		"a.ttft_mean > 300ms":                   true,
		"a.ttft_mean > 2s":                      false,
		"b-2.ttft_mean / a.ttft_mean == 2":      true,
		"b-2.ttft_mean > a.ttft_mean":           true, // of two figures: as Check has it
		"violations == 0":                       true,
		"c.ttft_mean < 2s":                      false,
		"a.tenant.\"acme corp\".ttft_mean < 2s": true,
	} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if ok, found := a.Surely(runs()); ok != want {
			t.Errorf("%s: %v (%s)", text, ok, found)
		}
	}
}
