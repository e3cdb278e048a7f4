package clientprom_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientprom"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

// pool is a client of one workload, "chat".
func pool(t *testing.T, m *clientprom.Metrics) *clientlib.Client {
	t.Helper()
	c, err := clientlib.Open(t.Context(), clientlib.Config{
		Catalog: clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: "http://127.0.0.1:1"}), Observer: m,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Whoever calls may send any bytes as its tenant and its workload: no label takes those that
// are no text, and a panic would be the caller's.
func TestNamesThatAreNoTextAreCounted(t *testing.T) {
	m := clientprom.New(clientprom.Config{})
	c := pool(t, m)
	chat := c.Workload("chat")
	send := func(context.Context, clientlib.Attempt) (int, error) { return 0, nil }
	if _, err := clientlib.Do(t.Context(), chat, clientlib.Request{Tenant: "a\xff\x9b"}, send); err != nil {
		t.Error(err)
	}
	if _, err := clientlib.Do(t.Context(), c.Workload("\xff"), clientlib.Request{}, send); err == nil {
		t.Error("a workload that is none was served")
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

// A workload that nobody declared has no label of its own, however its call ends.
func TestWorkloadsThatAreNoneHaveOneLabel(t *testing.T) {
	m := clientprom.New(clientprom.Config{})
	c := pool(t, m)
	send := func(context.Context, clientlib.Attempt) (int, error) { return 0, nil }
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 50 {
		w := c.Workload(fmt.Sprintf("hostile-%d", i))
		_, _ = clientlib.Do(over, w, clientlib.Request{}, send)
		_, _ = clientlib.Do(t.Context(), w, clientlib.Request{Input: -1}, send)
		_, _ = clientlib.Do(t.Context(), w, clientlib.Request{}, send)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if len(f.Metric) > 10 {
			t.Errorf("%s: %d series", f.GetName(), len(f.Metric))
		}
	}
}
