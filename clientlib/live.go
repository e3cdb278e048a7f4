package clientlib

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// liveBody passes a stream on while it comes, and settles the attempt at its end,
// whichever end that is.
type liveBody struct {
	exchange *exchange
	source   io.ReadCloser
	events   dialect.Stream
	pending  []byte       // read, not yet passed on
	passed   []byte       // on, for Validate
	left     int64        // of the stall limit, µs
	waiting  atomic.Bool  // for the endpoint, not for the caller
	settling sync.Once    // ends the call, too
	broken   *StreamError // after settling; nil: the end was good
	closing  sync.Once
	rest     io.LimitedReader // behind the end mark

	mu     sync.Mutex // guards what follows
	tally  tally
	err    error       // after pending
	forget func() bool // stops following the context
}

// open makes an answer live: what was held first, then what comes.
func (b *liveBody) open(answer *http.Response, held []byte) *http.Response {
	x := b.exchange
	x.visit.live = true
	b.pass(held)
	b.left = x.watch.limits.Stall
	x.watch.pause()
	b.follow(x.watch.ctx)
	x.sign(answer.Header)
	answer.Header.Del("Content-Length")
	answer.ContentLength, answer.Body, answer.Request = -1, b, x.visit.caller
	return answer
}

// follow ends the stream with the context, which may be at once.
func (b *liveBody) follow(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget = context.AfterFunc(ctx, b.expire)
}

// expire ends a stream whose time is over, read or not. Whom it waited for is to blame.
func (b *liveBody) expire() {
	cause := context.Cause(b.exchange.watch.ctx)
	o := b.exchange.blame(cause)
	if o.Kind == TimedOut && !b.waiting.Load() {
		o = Outcome{Kind: Cancelled, Detail: "not read in time"}
	}
	b.finish(o, cause)
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
	b.finish(Outcome{Kind: Cancelled, Status: http.StatusOK}, http.ErrBodyReadAfterClose)
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
	b.mu.Lock()
	b.forget()
	b.mu.Unlock()
	b.exchange.watch.release()
	_ = b.source.Close() // of a body that is read, or given up
}

// advance waits for the next event. Only waiting counts as a stall, and only data ends
// one: not what the caller takes its time for, nor comments.
func (b *liveBody) advance() {
	x, left := b.exchange, b.left
	began := x.client.clock.now()
	b.waiting.Store(true)
	x.watch.phaseFrom(began, "stall", left)
	e, err := b.events.Next()
	x.watch.pause()
	if err != nil {
		b.breaks(err)
		return
	}
	b.waiting.Store(false)
	if b.left = x.watch.limits.Stall; e.Kind == dialect.Comment {
		b.left = max(left-(x.client.clock.now()-began), 0)
	}
	b.pass(b.count(&e))
	switch {
	case e.Kind == dialect.Done:
		b.finish(b.valid(b.good()), nil)
	case e.Kind == dialect.Failed:
		b.finish(e.Outcome, errFailed)
	case e.Kind == dialect.Malformed && b.tally.malformed > maxMalformed:
		b.breaks(errMalformed)
	}
}

// pass gives the caller what comes next, and keeps it for Validate as long as it is not
// too much.
func (b *liveBody) pass(raw []byte) {
	b.pending = raw
	config := &b.exchange.visit.transport.config
	if config.Validate != nil && int64(len(b.passed)+len(raw)) <= config.MaxAnswer {
		b.passed = append(b.passed, raw...)
	}
}

// valid asks Validate, if it can be given all that was passed on.
func (b *liveBody) valid(o Outcome) Outcome {
	if int64(len(b.passed)) < b.tally.bytes {
		return o
	}
	return b.exchange.valid(o, b.passed)
}

// breaks ends a stream that does not go on.
func (b *liveBody) breaks(err error) {
	if errors.Is(err, io.EOF) {
		err = errNoEnd
	}
	o := b.exchange.blame(err)
	if cause := context.Cause(b.exchange.watch.ctx); cause != nil {
		err = cause
	}
	b.finish(o, err)
}

// finish settles the attempt and ends the call, once; whoever comes second waits for the
// first. Without a cause the end is good.
func (b *liveBody) finish(o Outcome, cause error) {
	b.settling.Do(func() {
		x := b.exchange
		b.shut()
		b.identify()
		why := errPanic // an observer's
		defer func() { x.client.endCall(&x.visit.call, why) }()
		o = b.judged(o)
		if cause == nil {
			x.settle(o)
			why = nil
			return
		}
		b.cut() // before anybody else is sent there
		b.broken = b.fault(o, cause)
		x.settle(o)
		why = b.broken
	})
	if b.broken != nil {
		b.end(b.broken)
	} else {
		b.end(io.EOF)
	}
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

// drainTime and maxDrained bound what is waited for after the end mark, to keep the connection.
const (
	drainTime  = 50 * time.Millisecond
	maxDrained = 1 << 20
)

// drain reads what follows the end mark: from most endpoints nothing.
func (b *liveBody) drain() {
	if !errors.Is(b.ended(), io.EOF) {
		return
	}
	b.exchange.watch.phase("end", drainTime.Microseconds())
	b.rest = io.LimitedReader{R: b.source, N: maxDrained}
	_, _ = io.Copy(io.Discard, &b.rest)
	b.exchange.watch.pause()
}
