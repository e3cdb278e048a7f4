package traffic

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
)

// said is a trace whose file says so.
func said(format, text string) *Trace {
	return &Trace{Name: "t", Path: "t.txt", Format: format, File: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func azure(rows ...string) *Trace {
	return said("azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n"+strings.Join(rows, "\n"))
}

func mooncake(rows ...string) *Trace { return said("mooncake", strings.Join(rows, "\n")) }

func squeezed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

type opener interface{ Open(uint64) (Source, error) }

// each shows up to n arrivals to f.
func each(t *testing.T, o opener, seed uint64, n int, f func(*Arrival)) {
	t.Helper()
	s, err := o.Open(seed)
	if err != nil {
		t.Fatal(err)
	}
	follow(t, s, n, f)
}

func follow(t *testing.T, s Source, n int, f func(*Arrival)) {
	t.Helper()
	var a Arrival
	for range n {
		more, err := s.Next(&a)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
		f(&a)
	}
}

// play is up to n arrivals, with slices of their own.
func play(t *testing.T, o opener, seed uint64, n int) (all []Arrival) {
	t.Helper()
	each(t, o, seed, n, func(a *Arrival) { all = append(all, copied(a)) })
	return all
}

func drain(t *testing.T, s Source, n int) (all []Arrival) {
	t.Helper()
	follow(t, s, n, func(a *Arrival) { all = append(all, copied(a)) })
	return all
}

func copied(a *Arrival) Arrival {
	c := *a
	c.Blocks = slices.Clone(a.Blocks)
	return c
}

// failure is what opening a trace or reading it to its end says.
func failure(o opener) error {
	s, err := o.Open(1)
	if err != nil {
		return err
	}
	var a Arrival
	for range 1_000_000 {
		if more, err := s.Next(&a); err != nil || !more {
			return err
		}
	}
	return nil
}

func times(all []Arrival) (at []int64) {
	for i := range all {
		at = append(at, all[i].At)
	}
	return at
}

const everything = 1 << 30
