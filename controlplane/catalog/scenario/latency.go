package scenario

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// latencies reads the file of measured ones, if the scenario names one. Not ok: it cannot be
// read, which is said.
func (r *reader) latencies() (all map[string]*server.Latency, ok bool) {
	var path string
	if !r.root.Text("latencies", &path) {
		return nil, !r.root.Has("latencies")
	}
	f, err := r.open(r.place(path))
	if err != nil {
		r.root.Wrong("latencies", "a path from the scenario's folder on", "cannot be read: %v", err)
		return nil, false
	}
	all, err = readLatencies(f)
	if err = errors.Join(err, f.Close()); err != nil {
		r.root.Wrong("latencies", "", "cannot be read: %s: %v", path, err)
		return nil, false
	}
	return all, true
}

const maxLatencies = 16 << 20 // bytes

func readLatencies(f io.Reader) (map[string]*server.Latency, error) {
	in := bufio.NewReader(f)
	if head, _ := in.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return server.ReadLatencies(io.LimitReader(in, maxLatencies))
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	return server.ReadLatencies(io.LimitReader(z, maxLatencies))
}
