package traffic

import (
	"errors"
	"io"
	"maps"
	"slices"
)

// Trace is recorded traffic. Its file is read as a stream, by each run anew; plain or gzip.
type Trace struct {
	Name   string // whose streams of chance it has: no two sources of a run have the same
	Path   string // of the file, for errors and for what its blocks are: equal ids of one path are equal tokens
	Format string // one of Formats
	File   func() (io.ReadCloser, error)
	Window Window
	Tick   int64 // µs: rows that say the same time are spread over so much, or to the next row's; 0: tickDefault for mooncake, else none; < 0: none
	Crowd  Crowd // who asks: drawn for each request
	Sticky bool  // or once for all requests of a key
	Labels Labels
}

// Window is which part of a trace is played when. Times are µs.
type Window struct {
	From, Until int64   // of the trace, since its first row; Until 0: to its end
	Shift       int64   // of the run, when From is played
	Speed       float64 // of time: at 2 a trace is played in half of its time, at twice its rate; 0: 1
	Loop        bool    // begin anew at the end, with other prompts; else the end is the end
}

// Formats are those that can be read.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// tickDefault is how far apart the times of Mooncake's conversation trace are, in µs.
const tickDefault = 3_000_000

func (t *Trace) tick() int64 {
	if t.Tick == 0 {
		return formats[t.Format].tick
	}
	return t.Tick
}

// Open begins to read.
func (t *Trace) Open(seed uint64) (Source, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	kept := *t
	p, err := openPrompts(&kept, drawn(seed, t.Name, forTicks))
	if err != nil {
		return nil, err
	}
	s := &replay{prompts: p, labels: newLabels(&t.Labels, seed, t.Name), crowd: newCrowd(t, seed), shift: t.Window.Shift, speed: t.Window.Speed}
	if s.speed == 0 {
		s.speed = 1
	}
	return s, nil
}

// replay is a trace as it is played.
type replay struct {
	prompts *prompts
	labels  labels
	crowd   crowd
	shift   int64
	speed   float64
	row     row
}

func (s *replay) Next(a *Arrival) (bool, error) {
	key, err := s.prompts.next(&s.row)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.labels.next(a)
	a.At = s.shift + int64(min(float64(s.row.at)/s.speed, endOfTime))
	a.Client = s.crowd.next(key)
	s.labels.size(a, s.row.input, s.row.output)
	a.Blocks, a.Key = s.row.blocks, key
	return true, nil
}

func (s *replay) Close() error { return s.prompts.laps.Close() }
