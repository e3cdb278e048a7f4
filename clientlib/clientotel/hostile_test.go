package clientotel_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pointsman/pointsman/clientlib"
)

// Whoever calls may send any bytes as its tenant and its workload. One span that is not
// valid UTF-8 would cost an exporter all that go with it.
func TestNamesThatAreNoTextDoNotSpoilASpan(t *testing.T) {
	r := newRig(t)
	for _, workload := range []string{"chat", "\xff" + strings.Repeat("w", 5000)} {
		_, _ = clientlib.Do(t.Context(), r.Workload(workload), clientlib.Request{Tenant: "a\xff" + strings.Repeat("t", 5000)},
			func(context.Context, clientlib.Attempt) (int, error) { return 0, nil })
	}
	spans := r.spans.Ended()
	if len(spans) != 3 {
		t.Errorf("%d spans", len(spans))
	}
	for _, s := range spans {
		if !utf8.ValidString(s.Name()) || len(s.Name()) > 300 {
			t.Errorf("span %q", s.Name())
		}
		for _, a := range s.Attributes() {
			if v := a.Value.String(); !utf8.ValidString(v) || len(v) > 256 {
				t.Errorf("%s: %q", a.Key, v)
			}
		}
	}
}
