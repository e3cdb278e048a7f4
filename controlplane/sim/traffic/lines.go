package traffic

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// lineMax is how long a line may be, in bytes: one of four million tokens is as long.
const lineMax = 64 << 10

// text is what a file says, plain or gzip: that is seen from its content.
func text(file io.Reader) (*bufio.Reader, error) {
	raw := bufio.NewReaderSize(file, lineMax)
	if magic, _ := raw.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	plain, err := gzip.NewReader(raw)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w: fetch the file again", err)
	}
	return bufio.NewReaderSize(plain, lineMax), nil
}

// lines are those of a file.
type lines struct {
	path string
	n    int // the line that was read last, from 1
	file io.ReadCloser
	text *bufio.Reader
}

func openLines(path string, open func() (io.ReadCloser, error)) (*lines, error) {
	file, err := open()
	if err != nil {
		return nil, fmt.Errorf("open trace %s: %w", path, err)
	}
	content, err := text(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &lines{path: path, file: file, text: content}, nil
}

// shut closes the file, which was only read: nothing is lost if that fails.
func (l *lines) shut() { _ = l.file.Close() }

// next is a line without its end (LF or CRLF; the last may have none), good until the next;
// io.EOF: there is none. One blank line may end a file and be nowhere else.
func (l *lines) next() ([]byte, error) {
	line, err := l.read()
	if err != nil || len(line) > 0 {
		return line, err
	}
	blank := l.n
	if _, err := l.read(); !errors.Is(err, io.EOF) {
		return nil, l.at(blank, errors.New("blank line: take it out"))
	}
	return nil, io.EOF
}

func (l *lines) read() ([]byte, error) {
	line, err := l.text.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil, io.EOF
	}
	l.n++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, l.wrong(fmt.Errorf("line of more than %d bytes: this is no trace of that format", lineMax))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, l.wrong(fmt.Errorf("the file is cut off (%w): fetch it again", err))
	case err != nil && !errors.Is(err, io.EOF):
		return nil, l.wrong(err)
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), nil
}

// wrong puts the place before what is wrong with the last line.
func (l *lines) wrong(err error) error { return l.at(l.n, err) }

func (l *lines) at(n int, err error) error { return fmt.Errorf("%s:%d: %w", l.path, n, err) }
