package main

import (
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"
)

// alone is the phase of one request after the other: allocations, and the time that is added
// when nothing else goes on.
func (r *report) alone(base string) error {
	p, err := newPair(base, nil)
	if err != nil {
		return err
	}
	defer p.close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	for f, added := range map[form]*float64{whole: &r.AllocsWhole, streamed: &r.AllocsStreamed} {
		bare, err := allocations(p.ways[0], f)
		if err != nil {
			return err
		}
		routed, err := allocations(p.ways[1], f)
		if err != nil {
			return err
		}
		*added = rounded(routed - bare)
	}
	r.Alone, err = turns(p, whole, 1000, 1000)
	return err
}

// turns is the time that being routed adds, in ns over a divisor, to requests of which bare
// and routed ones take turns.
func turns(p *pair, f form, n int, divisor float64) (float64, error) {
	var took [2][]float64
	for range n {
		for i, w := range p.ways {
			began := time.Now()
			if _, err := w.send(f); err != nil {
				return 0, err
			}
			took[i] = append(took[i], float64(time.Since(began).Nanoseconds())/divisor)
		}
	}
	return rounded(median(took[1]) - median(took[0])), nil
}

// allocations are those of one request.
func allocations(w *way, f form) (float64, error) {
	const warm, counted = 50, 500
	var before, after runtime.MemStats
	for i := range warm + counted {
		if i == warm {
			runtime.ReadMemStats(&before)
		}
		if _, err := w.send(f); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / counted, nil
}

// long is a stream's events when only they count.
const long = 2000

// eachEvent is the phase of long streams from memory: the time they add, an event.
func (r *report) eachEvent() error {
	p, err := newPair("http://127.0.0.1:1/v1", memory{})
	if err != nil {
		return err
	}
	defer p.close()
	r.PerEvent, err = turns(p, streamed, 60, long)
	return err
}

// memory answers with a long stream, without any network.
type memory struct{}

func (memory) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	h := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, ContentLength: -1, Body: &eventReader{left: long}, Request: r}, nil
}

// eventReader gives an event a read, as a network does when events come one by one.
type eventReader struct {
	left int
	rest string // of the event that is being read
}

func (e *eventReader) Read(p []byte) (int, error) {
	if e.rest == "" && e.left < 0 {
		return 0, io.EOF
	}
	if e.rest == "" {
		if e.rest = event; e.left == 0 {
			e.rest = streamEnd
		}
		e.left--
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *eventReader) Close() error { return nil }
