package sim

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// mixed is engines of the speeds ½, 1 and 2 (a quarter, six tenths, the rest), a number of times as
// fast as one GPU each, at load 0.6.
func mixed(endpoints, clients int, times float64) *Scenario {
	s := small(endpoints, clients, 2.6*float64(endpoints)*times)
	for i := range endpoints {
		own := &server.Own{Speed: times}
		switch {
		case i%20 < 5:
			own.Speed = 0.5 * times
		case i%20 >= 17:
			own.Speed = 2 * times
		}
		s.Servers[s.Catalog.Endpoints[i].Name] = server.Model{Own: own}
	}
	return s
}

// hosted is APIs whose limits are 10,000 requests a minute each, asked for eight tenths of that.
func hosted(endpoints, clients int) *Scenario {
	s := small(endpoints, clients, 130*float64(endpoints))
	l := &server.Latency{}
	for i := range 100 {
		l.Rows = append(l.Rows, server.Row{First: float64((200 + 6*int64(i)) * ms), Each: float64(8*ms) + 70*float64(i)})
	}
	for i := range s.Catalog.Endpoints {
		s.Servers[s.Catalog.Endpoints[i].Name] = server.Model{Hosted: &server.Hosted{Latency: l, RequestsPerMinute: 10_000}}
	}
	return s
}

// BenchmarkPlay: 50 clients, 40 endpoints, predictive, messages every second. At the rate that 40 GPUs
// take, two calls share a client's report and push of a second; at fifty times that they hardly count, and
// the cost is a call's own. APIs have as many calls and more of them at once: memory is what those wait for.
func BenchmarkPlay(b *testing.B) {
	for _, times := range []float64{1, 10, 50} {
		b.Run(fmt.Sprintf("%.0f_a_second", 104*times), func(b *testing.B) {
			s := mixed(40, 50, times)
			s.Duration = int64(min(1200, 3000/times) * float64(second))
			measured(b, s)
		})
	}
	b.Run("5200_a_second_of_apis", func(b *testing.B) {
		s := hosted(40, 50)
		s.Duration = 60 * second
		measured(b, s)
	})
}

// BenchmarkHour is the hour of conversations of the Azure trace, by 10 clients at 4 engines.
func BenchmarkHour(b *testing.B) {
	s := small(4, 10, 1)
	s.Duration = 3600 * second
	s.Traffic = func(seed uint64) (traffic.Source, error) {
		t := traffic.Trace{
			Name: "azure", Format: "azure", Crowd: traffic.Crowd{Clients: 10}, Labels: traffic.Labels{Workload: "chat", Stream: true},
			File: func() (io.ReadCloser, error) {
				return os.Open("../../deploy/examples/traces/azure-conversation.csv.gz")
			},
		}
		return t.Open(seed)
	}
	measured(b, s)
}

// measured reports the best run: others may use this machine too.
func measured(b *testing.B, s *Scenario) {
	b.Helper()
	s.Catalog.Workloads[0].Strategy = route.Predictive
	best, events := 0.0, 0.0
	for b.Loop() {
		began := spent(b)
		r, err := Play(s, Policy{}, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		best = max(best, float64(r.All.Calls)/(spent(b)-began))
		events = float64(r.Events) / float64(r.All.Calls)
	}
	b.ReportMetric(best, "requests/cpu-s")
	b.ReportMetric(events, "events/request")
}

// spent is the processor's time so far, in seconds.
func spent(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
