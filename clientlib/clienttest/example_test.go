package clienttest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// What an application does when an endpoint loses its stream in the middle.
func Example() {
	first, second := clienttest.Start("first"), clienttest.Start("second")
	defer first.Close()
	defer second.Close()
	catalog := clienttest.Pool("chat", first, second)
	catalog.Workloads[0].Tiers = []route.Tier{{Name: "one", Endpoints: []string{"first"}}, {Name: "two", Endpoints: []string{"second"}}}
	c, err := clienttest.Open(context.Background(), clientlib.Config{Catalog: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	first.Next(clienttest.Fail(503, "overloaded"))
	resp, err := c.HTTP().Post("https://api.example/v1/chat/completions", "application/json", strings.NewReader(`{"model":"chat"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, c.Decisions())
	fmt.Println(len(first.Requests()), second.Requests()[0].Model)
	// Output:
	// 200 [first faulted second served]
	// 1 model-at-second
}
