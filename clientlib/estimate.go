package clientlib

import (
	"math"
	"sync/atomic"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// How tokens are expected of bytes.
const (
	firstRatio = 1.0 / 4 // tokens a byte, before anything is known
	minRatio   = 1.0 / 16
	maxRatio   = 1.0
	meterStep  = 1.0 / 8 // weight of the newest request
	minText    = 256     // bytes; what comes with every request would count for too much in less
)

// estimate is how many tokens a request's input is.
func (c *Client) estimate(workload string, q *dialect.Ask) int64 {
	if c.count != nil {
		if n := c.count(workload, q.Raw()); n > 0 {
			return n
		}
	}
	return int64(float64(q.Text)*c.view.Load().terms.ratio(workload)) + q.Media
}

// calibrate takes what the input of a settled request really was. Nobody knows how much
// of it was media.
func (c *Client) calibrate(e *route.Endpoint, q *dialect.Ask, input int64) {
	m := c.view.Load().terms.meters[e.Model]
	if m != nil && q.Media == 0 { // its model may have left the catalog
		m.learn(q.Text, input)
	}
}

// meter learns how many tokens a byte of text is for a model.
type meter struct{ bits atomic.Uint64 } // of a float64

func newMeter() *meter {
	m := &meter{}
	m.bits.Store(math.Float64bits(firstRatio))
	return m
}

func (m *meter) ratio() float64 { return math.Float64frombits(m.bits.Load()) }

// learn takes what a request really was.
func (m *meter) learn(text, tokens int64) {
	if text < minText || tokens <= 0 {
		return
	}
	seen := min(max(float64(tokens)/float64(text), minRatio), maxRatio)
	for {
		was := m.bits.Load()
		ratio := math.Float64frombits(was)
		if m.bits.CompareAndSwap(was, math.Float64bits(ratio+meterStep*(seen-ratio))) {
			return
		}
	}
}
