package clienttest_test

import (
	"context"
	"fmt"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// A tenant at its cap is shed, whoever else may go on.
func ExampleTenant() {
	endpoint := clienttest.Start("own")
	defer endpoint.Close()
	catalog := clienttest.Pool("chat", endpoint)
	acme, batch := clienttest.Tenant("acme"), clienttest.Tenant("batch")
	batch.Priority, batch.Caps.Concurrency = route.PriorityBatch, 1
	catalog.Tenants = []route.Tenant{acme, batch}
	c, err := clienttest.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, tenant := range []string{"batch", "batch", "acme"} {
		a, err := c.Workload("chat").Pick(clientlib.Request{Tenant: tenant})
		defer a.Abandon() // none has ended when the next one is picked
		fmt.Println(tenant, err)
	}
	// Output:
	// batch <nil>
	// batch workload "chat": shed: tenant at its cap: 1 tenant_cap
	// acme <nil>
}

// Endpoints that name a quota share it. A twentieth of a minute's requests may go at once.
func ExampleQuota() {
	first, second := clienttest.Start("first"), clienttest.Start("second")
	defer first.Close()
	defer second.Close()
	catalog := clienttest.Pool("chat", first, second)
	account := clienttest.Quota("account")
	account.Requests = 40
	catalog.Quotas = []route.Quota{account}
	for i := range catalog.Endpoints {
		catalog.Endpoints[i].Quotas = []string{"account"}
	}
	c, err := clienttest.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for range 3 {
		a, err := c.Workload("chat").Pick(clientlib.Request{})
		a.Settle(clientlib.Outcome{Kind: clientlib.Served})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// workload "chat": shed: all limited: 2 quota_requests
}
