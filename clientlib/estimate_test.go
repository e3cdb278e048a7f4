package clientlib

import (
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// measured is a client without connections on a catalog with workloads of one, both and no
// models.
func measured(t *testing.T, count func(string, []byte) int64) *Client {
	t.Helper()
	c := &Client{count: count}
	c.view.Store(&view{terms: termsOf(models("small", "large"), nil)})
	return c
}

func models(names ...string) *route.Catalog {
	c := &route.Catalog{}
	both := route.Workload{Name: "both", Tiers: []route.Tier{{}, {}}}
	for i, name := range names {
		c.Endpoints = append(c.Endpoints, route.Endpoint{Name: "at-" + name, Model: name}, route.Endpoint{Name: "near-" + name, Model: name})
		tier := route.Tier{Endpoints: []string{"at-" + name, "near-" + name}}
		c.Workloads = append(c.Workloads, route.Workload{Name: name, Tiers: []route.Tier{tier}})
		both.Tiers[i] = tier
	}
	c.Workloads = append(c.Workloads, both)
	return c
}

// teach has an endpoint of a model answer so often that its ratio is known.
func teach(c *Client, model string, q *dialect.Ask, input int64) {
	for range 100 {
		c.calibrate(&route.Endpoint{Name: "at-" + model, Model: model}, q, input)
	}
}

func TestEstimates(t *testing.T) {
	c := measured(t, nil)
	teach(c, "small", &dialect.Ask{Text: 1000}, 200)
	teach(c, "large", &dialect.Ask{Text: 1000}, 500)
	teach(c, "gone", &dialect.Ask{Text: 1000}, 900)
	teach(c, "small", &dialect.Ask{Text: 1000, Media: 7}, 900) // whose text, and whose media?
	for _, e := range []struct {
		rule, workload string
		text, media    int64
		want           int64
	}{
		{"by the model", "small", 1000, 0, 200},
		{"of the larger ratio", "both", 1000, 0, 500},
		{"media on top", "large", 1000, 85, 585},
		{"nothing known", "other", 1000, 0, 250},
		{"no text", "small", 0, 3, 3},
	} {
		if got := c.estimate(e.workload, &dialect.Ask{Text: e.text, Media: e.media}); got < e.want-1 || got > e.want+1 {
			t.Errorf("%s: %d, want %d", e.rule, got, e.want)
		}
	}
}

func TestWhatWasLearnedOutlivesACatalog(t *testing.T) {
	c := measured(t, nil)
	teach(c, "large", &dialect.Ask{Text: 1000}, 500)
	was := c.view.Load().terms
	c.view.Store(&view{terms: termsOf(models("large", "new"), was)})
	for workload, want := range map[string]int64{"large": 499, "new": 250, "small": 250, "both": 499} {
		if got := c.estimate(workload, &dialect.Ask{Text: 1000}); got != want {
			t.Errorf("%s: %d, want %d", workload, got, want)
		}
	}
}

func TestATokenizerKnowsBetter(t *testing.T) {
	c := measured(t, func(workload string, body []byte) int64 {
		if workload == "large" {
			return -1
		}
		return int64(strings.Count(string(body), " "))
	})
	for body, want := range map[string]int64{"a b c": 2, "abc": 0} {
		q, err := dialect.Parse(dialect.PlainHTTP, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Text = 100
		if want == 0 {
			want = 25
		}
		if got := c.estimate("small", q); got != want {
			t.Errorf("%q: %d, want %d", body, got, want)
		}
		if got := c.estimate("large", q); got != 25 {
			t.Errorf("not known: %d", got)
		}
	}
}

func TestAnEstimateAllocatesNothing(t *testing.T) {
	c, q, e := measured(t, nil), &dialect.Ask{Text: 4000}, &route.Endpoint{Model: "small"}
	if n := testing.AllocsPerRun(100, func() {
		c.calibrate(e, q, c.estimate("both", q)+1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMeters(t *testing.T) {
	for _, c := range []struct {
		rule         string
		text, tokens int64
		want         float64 // after one request
	}{
		{"moves an eighth of the way", 1000, 500, 0.28125},
		{"down as well", 1600, 200, 0.234375},
		{"as expected moves nothing", 1000, 250, 0.25},
		{"a short text says nothing", 255, 255, 0.25},
		{"the shortest that does", 256, 256, 0.34375},
		{"no usage says nothing", 1000, 0, 0.25},
		{"a negative one neither", 1000, -5, 0.25},
		{"a token a byte at most", 1000, 90000, 0.34375},
		{"a token for 16 bytes at least", 100000, 1, 0.2265625},
	} {
		m := newMeter()
		m.learn(c.text, c.tokens)
		if got := m.ratio(); got != c.want {
			t.Errorf("%s: %v, want %v", c.rule, got, c.want)
		}
	}
}

func TestAMeterComesToWhatItSees(t *testing.T) {
	m := newMeter()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				m.learn(3000, 1500)
			}
		})
	}
	wg.Wait()
	if got := m.ratio(); got < 0.4999 || got > 0.5 {
		t.Errorf("%v", got)
	}
}
