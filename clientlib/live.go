package clientlib

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// liveBody passes a stream on while it comes, and settles the attempt at its end,
// whichever end that is.
type liveBody struct {
	exchange *exchange
	source   io.ReadCloser
	events   *dialect.Stream
	pending  []byte      // read, not yet passed on
	left     int64       // of the stall limit, µs
	forget   func() bool // stops following the context
	settling sync.Once
	settled  Outcome // after settling
	closing  sync.Once

	mu      sync.Mutex // guards what follows
	tally   tally
	waiting bool  // for the endpoint, not for the caller
	err     error // after pending
}

// open makes an answer live: what was held first, then what comes.
func (b *liveBody) open(answer *http.Response, held []byte) *http.Response {
	x := b.exchange
	b.pending, b.left = held, x.watch.limits.Stall
	x.watch.pause()
	b.forget = context.AfterFunc(x.watch.ctx, b.expire)
	live := *answer
	live.Header = answer.Header.Clone()
	live.Header.Set(EndpointHeader, x.attempt.f.endpoint.Name)
	live.Header.Del("Content-Length")
	live.ContentLength, live.Body, live.Request = -1, b, x.caller
	return &live
}

// expire ends a stream whose time is over. Whom it waited for is to blame.
func (b *liveBody) expire() {
	o := b.exchange.blame(context.Cause(b.exchange.watch.ctx))
	b.mu.Lock()
	waiting := b.waiting
	b.mu.Unlock()
	if o.Kind == TimedOut && !waiting {
		o = Outcome{Kind: Cancelled, Detail: "not read in time"}
	}
	b.settle(b.judged(o))
}

// wait says whether the endpoint is waited for.
func (b *liveBody) wait(waiting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = waiting
}

// Read gives events as they come. It is for one reader at a time.
func (b *liveBody) Read(p []byte) (int, error) {
	if errors.Is(b.ended(), http.ErrBodyReadAfterClose) {
		return 0, http.ErrBodyReadAfterClose
	}
	for len(b.pending) == 0 {
		if err := b.ended(); err != nil {
			b.done()
			return 0, err
		}
		b.advance()
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

// Close ends the stream; the endpoint learns it by the connection. Before the end mark
// that is the caller's cancelling.
func (b *liveBody) Close() error {
	b.end(http.ErrBodyReadAfterClose)
	b.settling.Do(func() {
		o := b.outcome(Cancelled)
		b.cut() // before anybody else is sent there
		b.settled = b.exchange.settle(o)
	})
	b.done()
	return nil
}

// done gives back what the stream held, once.
func (b *liveBody) done() {
	b.closing.Do(func() {
		b.drain()
		b.cut()
	})
}

// cut gives up what there is of the answer.
func (b *liveBody) cut() {
	b.forget()
	b.exchange.watch.release()
	_ = b.source.Close() // of a body that is read, or given up
}

// advance waits for the next event. Only waiting counts as a stall, and only data ends
// one: not what the caller takes its time for, nor comments.
func (b *liveBody) advance() {
	x, clock := b.exchange, b.exchange.transport.client.clock
	began := clock.now()
	x.watch.phase("stall", b.left)
	b.wait(true)
	e, err := b.events.Next()
	x.watch.pause()
	if err != nil {
		b.broke(err)
		return
	}
	b.wait(false)
	if b.left = max(b.left-(clock.now()-began), 0); e.Kind != dialect.Comment {
		b.left = x.watch.limits.Stall
	}
	b.pending = b.count(e)
	switch e.Kind {
	case dialect.Done:
		b.settle(b.outcome(Served))
		b.end(io.EOF)
	case dialect.Failed:
		b.fail(b.judged(e.Outcome), errFailed)
	}
}

// broke ends a stream that does not go on.
func (b *liveBody) broke(err error) {
	if errors.Is(err, io.EOF) {
		err = errNoEnd
	}
	o := b.judged(b.exchange.blame(err))
	if cause := context.Cause(b.exchange.watch.ctx); cause != nil {
		err = cause
	}
	b.fail(o, err)
}

func (b *liveBody) fail(o Outcome, err error) {
	o = b.settle(o)
	b.mu.Lock()
	t := b.tally
	b.mu.Unlock()
	b.end(&StreamError{Endpoint: b.exchange.attempt.f.endpoint.Name, Events: t.content, Bytes: t.bytes, Outcome: o, Err: err})
}

// end says what Read ends in; the first word stands.
func (b *liveBody) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

func (b *liveBody) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// settle settles the attempt, once, and says how; whoever comes second waits for the first.
func (b *liveBody) settle(o Outcome) Outcome {
	b.settling.Do(func() { b.settled = b.exchange.settle(o) })
	return b.settled
}

// drainTime bounds what is waited for after the end mark, to keep the connection.
const drainTime = 50 * time.Millisecond

// drain reads what follows the end mark: from most endpoints nothing.
func (b *liveBody) drain() {
	if !errors.Is(b.ended(), io.EOF) {
		return
	}
	b.exchange.watch.phase("end", drainTime.Microseconds())
	_, _ = io.CopyN(io.Discard, b.source, dialect.MaxEvent)
	b.exchange.watch.pause()
}
