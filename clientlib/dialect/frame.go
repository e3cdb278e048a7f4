package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent bounds one event of a stream, in bytes: as much as the official SDKs take of a
// line. The last event of a response repeats the whole of it, with images in base64. Room is
// made as bytes come, so only a stream with such an event takes it.
const MaxEvent = 32 << 20

var errEventTooLong = fmt.Errorf("stream: an event above %d bytes", MaxEvent)

// frames cuts a stream of server-sent events into these: lines that LF, CRLF or CR ends,
// up to a blank one. Every byte that came is in one of them. None waits for a byte that
// it does not need.
type frames struct {
	r          io.Reader
	buf        []byte
	start, end int  // of what was read and not given
	alone      bool // the last CR had no LF behind it
	open       bool // that CR was given before what is behind it had come
	err        error
}

const firstRoom = 4 << 10

// frame is the next event with its blank line, good until the next call. What is left at
// the end of the stream is not whole.
func (f *frames) frame() (raw []byte, whole bool, err error) {
	at, seen := 0, 0 // where a line begins, and how much of it has no end
	for {
		rest := f.buf[f.start+at : f.end]
		if f.open && len(rest) > 0 {
			if f.open = false; rest[0] == '\n' {
				at++
				continue
			}
		}
		text, size := f.line(rest, seen)
		switch {
		case at+max(size, text) > MaxEvent:
			return nil, false, errEventTooLong
		case size > 0 && text == 0:
			return f.give(at + size), true, nil
		case size > 0:
			at, seen = at+size, 0
		case errors.Is(f.err, io.EOF) && f.end > f.start:
			return f.give(f.end - f.start), false, nil
		case f.err != nil:
			return nil, false, f.err
		default:
			seen = text
			f.fill()
		}
	}
}

// line measures the first line of what is there: its text, and the whole with its end;
// zero: that has not come. A CR at the end of what is there is not known to be alone,
// unless others were.
func (f *frames) line(b []byte, seen int) (text, size int) {
	i := lineEnd(b[seen:])
	if i < 0 {
		return len(b), 0
	}
	text = seen + i
	switch last := text+1 == len(b); {
	case b[text] == '\n':
		return text, text + 1
	case last && !f.alone && f.err == nil:
		return text, 0
	case last:
		f.open = true
	case b[text+1] == '\n':
		f.alone = false
		return text, text + 2
	}
	f.alone = true
	return text, text + 1
}

// lineEnd is where the first line end is; below zero: there is none. It looks at pieces:
// the lines of a stream may all end with the other byte.
func lineEnd(b []byte) int {
	const piece = 512
	for at := 0; at < len(b); at += piece {
		p := b[at:min(at+piece, len(b))]
		lf := bytes.IndexByte(p, '\n')
		if lf >= 0 {
			p = p[:lf]
		}
		if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
			return at + cr
		}
		if lf >= 0 {
			return at + lf
		}
	}
	return -1
}

func (f *frames) give(n int) []byte {
	raw := f.buf[f.start : f.start+n]
	f.start += n
	return raw
}

// fill reads once, into room that it makes.
func (f *frames) fill() {
	if f.end == len(f.buf) {
		buf := f.buf
		if f.end-f.start > len(buf)/2 || buf == nil {
			buf = make([]byte, max(firstRoom, 2*len(buf)))
		}
		f.start, f.end = 0, copy(buf, f.buf[f.start:f.end])
		f.buf = buf
	}
	for range 100 {
		n, err := f.r.Read(f.buf[f.end:])
		f.end, f.err = f.end+n, err
		if n > 0 || err != nil {
			return
		}
	}
	f.err = io.ErrNoProgress
}

// fields reads an event: its name, and its lines of data as one.
func (s *Stream) fields(raw []byte) (name, data []byte, has bool) {
	if !s.begun {
		s.begun = true
		raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	}
	lines := 0 // of data
	for len(raw) > 0 {
		line := raw
		if i := lineEnd(raw); i >= 0 {
			line, raw = raw[:i], raw[i+1:]
		} else {
			raw = nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = value
		case "data":
			data, lines = s.join(data, value, lines), lines+1
		}
	}
	return name, data, lines > 0
}

// join is the data of an event with another line of it: most have one.
func (s *Stream) join(data, line []byte, lines int) []byte {
	if lines == 0 {
		return line
	}
	if lines == 1 {
		s.joined = append(s.joined[:0], data...)
	}
	s.joined = append(append(s.joined, '\n'), line...)
	return s.joined
}
