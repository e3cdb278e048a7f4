package rival

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings map[string]float64
		want     string
	}{
		{"best", nil, `rival "best" is not known: take one of round_robin, `},
		{"prequal", map[string]float64{"quantile": 84}, `rival "prequal": quantile = 84: give 0 to 1`},
		{"prequal", map[string]float64{"quantil": 0.84}, `rival "prequal" has no setting "quantil": it has quantile, `},
		{"wrr", map[string]float64{"x": 1}, `rival "wrr" has no setting "x": it has none`},
	} {
		if _, err := New(c.name, c.settings); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nwant %s…", err, c.want)
		}
	}
}

func TestOraclesAreRivals(t *testing.T) {
	for _, name := range append(Oracles(), Names()...) {
		if _, err := New(name, nil); err != nil {
			t.Error(err)
		}
	}
	if Settings("nobody") != nil || len(Settings("prequal")) != len(prequalSettings) {
		t.Error("settings of another")
	}
}

func TestMinimumTakesTheLeastPerSpeedOfWhatWasPushedWhateverItSentItself(t *testing.T) {
	f := &route.Fleet{Endpoints: []route.FleetEndpoint{
		{Name: "a", Speed: 1, Loads: []route.FleetLoad{{InFlight: 4}, {Locality: "x", InFlight: 4}}},
		{Name: "b", Speed: 2, Loads: []route.FleetLoad{{InFlight: 10}}},
		{Name: "gone", Loads: []route.FleetLoad{{InFlight: 10}}},
		{Name: "c", Loads: []route.FleetLoad{{InFlight: 6}}},
	}}
	v := town(1, 1, 1, 1)
	v.Overlay = func(int32) *route.Fleet { return f }
	r := start(t, "minimum", v, nil)
	if got := counts(r, 50, all(3))[1]; got != 50 {
		t.Error(got, "of 50 to the minimum")
	}
	f = nil
	if got := counts(r, 60, all(3)); len(got) != 3 {
		t.Error("nothing known: drawn", got)
	}
}
