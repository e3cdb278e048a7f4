package clientlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// BodyTooLargeError is what RoundTrip fails with when a request's body is above
// TransportConfig.MaxBody: nothing was sent.
type BodyTooLargeError struct {
	Limit int64 // bytes
}

func (e *BodyTooLargeError) Error() string {
	return fmt.Sprintf("the request's body is above %d bytes", e.Limit)
}

// body reads and closes the request's body: every attempt sends it again.
func (t *transport) body(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	defer r.Body.Close()
	if r.ContentLength > t.config.MaxBody {
		return nil, &BodyTooLargeError{t.config.MaxBody}
	}
	b, err := t.read(r)
	if errors.Is(err, errTooLarge) {
		return nil, &BodyTooLargeError{t.config.MaxBody}
	}
	return b, err
}

func (t *transport) read(r *http.Request) ([]byte, error) {
	read := func() ([]byte, error) { return readUpTo(r.Body, r.ContentLength, t.config.MaxBody) }
	if r.GetBody != nil || r.Context().Done() == nil {
		return read()
	}
	return awaited(r.Context(), read)
}

// awaited reads what is not at hand, and may never come, nor end by being closed: it is
// waited for no longer than its caller does.
func awaited(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	var body []byte
	var err error
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		body, err = read()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if panicked != nil {
		panic(panicked) // where the caller expects it
	}
	return body, err
}

var errTooLarge = errors.New("too large")

// How much room is made for what does not say its length, and at most for what does.
const (
	firstRead = 4 << 10
	mostRead  = 1 << 20
	mostIdle  = 100 // reads that give nothing
)

// readUpTo reads so many bytes at most. Length is what is expected; below 0: it is not known.
func readUpTo(from io.Reader, length, most int64) ([]byte, error) {
	if length > most {
		return nil, errTooLarge
	}
	if length < 0 {
		length = firstRead - 1
	}
	b := make([]byte, 0, min(length, mostRead)+1) // the end is read without more room
	for idle := 0; ; idle++ {
		n, err := from.Read(b[len(b):cap(b)])
		if b = b[:len(b)+n]; n > 0 {
			idle = 0
		}
		switch {
		case int64(len(b)) > most:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		case idle == mostIdle:
			return nil, io.ErrNoProgress
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

// held is the body of an answer that is there.
type held struct{ bytes.Reader }

func (h *held) Close() error { return nil }

func holding(body []byte) io.ReadCloser {
	h := &held{}
	h.Reset(body)
	return h
}
