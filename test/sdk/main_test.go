// Package sdk holds the official SDKs of OpenAI and Anthropic to what an application
// would see whose http.Client is routed, and nothing else of it changed. It is a module of
// its own, so that the library needs neither.
package sdk

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
