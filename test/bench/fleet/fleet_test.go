package main

import (
	"math"
	"testing"
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// What takes turns must serve what a light client understands, or all ratios are of nothing.
func TestLightClientsFollowAHubAndTheYardstick(t *testing.T) {
	c := newContents()
	h, err := serve(c, "127.0.0.1:0", hub.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.kill()
	b, err := serveBare(c)
	if err != nil {
		t.Fatal(err)
	}
	defer b.stop()
	all := crowd{}
	for group, address := range map[string]string{"hub": h.address, "bare": b.address} {
		o := order{Do: "open", Group: group, Address: address, N: 5, Version: 1, From: time.Now().UnixNano(), Within: within}
		if out := all.obey(o); out.Err != "" || out.Count != 5 {
			t.Fatalf("%s: %+v", group, out)
		}
		defer all.end(group)
	}
	was := c.catalog
	s := c.changed(pb.Track_TRACK_CATALOG, changed)
	h.hub.PublishUrgent(everything, s)
	b.broadcast(encode(difference(was, s)))
	for group := range all {
		out := all.obey(order{Do: "await", Group: group, Version: c.version, From: time.Now().UnixNano(), Within: within})
		if out.Err != "" || out.Bytes < 5*endpoints*bodySize {
			t.Errorf("%s: %+v", group, out)
		}
	}
}

func TestVerdicts(t *testing.T) {
	good := measured{
		Idle: 40, Trip: comparison{Yardstick: 10, Ratio: 1.2, Spread: 1.5}, Publish: comparison{Yardstick: 10, Ratio: 1.2, Spread: 1.5},
		Gain: 9, Bytes: 2500, Change: 1000, Reconnect: 12, Again: 200,
	}
	for name, c := range map[string]struct {
		change func(*measured)
		want   string
	}{
		"all within":                        {func(*measured) {}, pass},
		"memory above":                      {func(m *measured) { m.Idle = 45.1 }, fail},
		"a gain below":                      {func(m *measured) { m.Gain = 2.9 }, fail},
		"a change sent more than thrice":    {func(m *measured) { m.Bytes = 3001 }, fail},
		"a ratio above":                     {func(m *measured) { m.Trip.Ratio = 1.51 }, fail},
		"a yardstick too uneven to tell":    {func(m *measured) { m.Trip.Ratio, m.Trip.Spread = 9, 3.5 }, void},
		"a yardstick too slow to tell":      {func(m *measured) { m.Publish.Yardstick = 2500 }, void},
		"a figure that is no number":        {func(m *measured) { m.Reconnect = math.NaN() }, fail},
		"etcd is written to while it idles": {func(m *measured) { m.Writes = &etcd{Idle: 1.5} }, fail},
	} {
		r := &report{measured: good}
		c.change(&r.measured)
		if r.judge(); r.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, r.Verdict, c.want)
		}
	}
}
