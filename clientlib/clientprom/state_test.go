package clientprom_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientprom"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

func gather(t *testing.T, m *clientprom.Metrics) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// gauges are those of a scrape, as text.
func gauges(t *testing.T, m *clientprom.Metrics) []string {
	t.Helper()
	var all []string
	for _, f := range gather(t, m) {
		for _, s := range f.GetMetric() {
			if f.GetType() != dto.MetricType_GAUGE {
				continue
			}
			name := strings.TrimPrefix(f.GetName(), "pointsman_")
			for _, l := range s.GetLabel() {
				name += " " + l.GetValue()
			}
			all = append(all, name+" "+time.Duration(s.GetGauge().GetValue()*1e9).String())
		}
	}
	slices.Sort(all)
	return all
}

// C4: an endpoint that is limited, and a tier that spills, for minutes show although calls succeed.
func TestAScrapeSaysWhatTheClientKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := clientprom.New(clientprom.Config{})
		c := open(t, m)
		chat := c.Workload("chat")
		for range 8 { // the first holds a, the others go to b
			a, err := chat.Pick(clientlib.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if a.Endpoint().Name == "b" {
				a.Settle(clientlib.Outcome{Kind: clientlib.Served})
			} else {
				defer a.Abandon()
			}
			time.Sleep(50 * time.Second)
		}
		full, err := chat.Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = clientlib.Do(context.Background(), chat, clientlib.Request{}, func(context.Context, clientlib.Attempt) (int, error) { return 0, nil })
		}()
		time.Sleep(2 * time.Second)
		want := []string{
			"endpoint_breaker a closed 1s", "endpoint_breaker b closed 1s", "endpoint_in_flight a 1s", "endpoint_in_flight b 1s",
			"endpoint_limited a 1s", "waiting_calls chat 1s", "waiting_oldest_seconds chat 2s", "workload_spilling chat 1s",
		}
		if diff := cmp.Diff(want, gauges(t, m)); diff != "" {
			t.Error(diff)
		}
		full.Settle(clientlib.Outcome{Kind: clientlib.Served})
		<-done
	})
}

// open is a client of two endpoints, one call each at a time, b below a.
func open(t *testing.T, m *clientprom.Metrics) *clientlib.Client {
	t.Helper()
	catalog := clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: "http://127.0.0.1:1"}, &clienttest.Endpoint{Name: "b", URL: "http://127.0.0.1:1"})
	catalog.Endpoints[0].Concurrency, catalog.Endpoints[1].Concurrency = 1, 1
	catalog.Workloads[0].Tiers = []route.Tier{{Name: "one", Endpoints: []string{"a"}}, {Name: "two", Endpoints: []string{"b"}}}
	c, err := clientlib.Open(t.Context(), clientlib.Config{Catalog: catalog, Observer: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m.Watch(c)
	return c
}
