package clientprom_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientprom"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

// A service that shows what its client does where Prometheus looks for it.
func Example() {
	endpoint := clienttest.Start("first")
	defer endpoint.Close()

	metrics := clientprom.New(clientprom.Config{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("chat", endpoint), Observer: metrics})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	metrics.Watch(c)

	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
	answer, err := sdk.Post("https://api.example/v1/chat/completions", "application/json", strings.NewReader(`{"model":"chat"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()

	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "pointsman_attempts_total") || strings.HasPrefix(line, "pointsman_tenant_tokens_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// pointsman_attempts_total{endpoint="first",outcome="served",workload="chat"} 1
	// pointsman_tenant_tokens_total{tenant="default",workload="chat"} 12
}
