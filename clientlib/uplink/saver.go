package uplink

import (
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// file names the state of a view: of what is wanted, for the caller's numbers mean
// nothing after a restart.
func (w Want) file() string {
	h := wire.HashOf(fmt.Appendf(nil, "%q %s", w.Identity, w.Key()))
	return hex.EncodeToString(h[:]) + stateSuffix
}

// saveAgain is when a disk that failed is tried again.
const saveAgain = 10 * time.Second

// saver writes catalogs to disk, away from the loop: a slow disk delays nothing. Of each
// file the newest state waits, until the disk takes it.
type saver struct {
	folder  *folder // nil: nothing is kept
	now     func() int64
	kick    chan struct{} // holds one
	results chan Event
	failed  map[string]bool // files that could not be written last time; run's

	mu    sync.Mutex
	tasks map[string]task
}

type task struct {
	view  uint32
	state *wire.State
}

func newSaver(f *folder, now func() int64) *saver {
	return &saver{folder: f, now: now, kick: make(chan struct{}, 1), results: make(chan Event), failed: map[string]bool{}, tasks: map[string]task{}}
}

func (s *saver) save(file string, t task) {
	if s.folder == nil {
		return
	}
	s.mu.Lock()
	s.tasks[file] = t
	s.mu.Unlock()
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// run writes what comes until stop, and then what is left.
func (s *saver) run(stop <-chan struct{}) {
	again := time.NewTicker(saveAgain)
	defer again.Stop()
	for {
		select {
		case <-s.kick:
			s.write(stop)
		case <-again.C:
			s.write(stop)
		case <-stop:
			s.write(stop)
			return
		}
	}
}

func (s *saver) write(stop <-chan struct{}) {
	s.mu.Lock()
	tasks := s.tasks
	s.tasks = map[string]task{}
	s.mu.Unlock()
	for file, t := range tasks {
		e := Event{Kind: Saved, View: t.view, Track: t.state.Track(), Version: t.state.Version()}
		body, err := proto.Marshal(wire.Whole(s.now(), 0, t.state))
		if err == nil {
			err = s.folder.write(file, body)
		}
		told := s.failed[file]
		delete(s.failed, file)
		if err != nil {
			e.Kind, e.Err = Unsaved, err
			s.keep(file, t)
			if told {
				continue
			}
		}
		select {
		case s.results <- e:
		case <-stop:
		}
	}
}

// keep has a state that could not be written wait again, unless a newer one does.
func (s *saver) keep(file string, t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[file] = true
	if _, newer := s.tasks[file]; !newer && len(s.tasks) < maxStates {
		s.tasks[file] = t
	}
}

// offer gives the handler the saved catalog of a view that has none, once. What cannot be
// used is passed over: the parent has better.
func (l *Link) offer(number uint32) {
	v := l.views[number]
	if !l.loaded || l.folder == nil || v.tried || v.catalog().state != nil {
		return
	}
	v.tried = true
	s, err := l.read(v.want.file())
	if s == nil && err == nil {
		return
	}
	var unusable []*pb.Unusable
	if err == nil {
		unusable, err = l.handler.Apply(number, s, true)
	}
	if err != nil {
		l.observe(Event{Kind: Ignored, View: number, Err: err})
		return
	}
	v.catalog().state, v.catalog().cold, v.unusable = s, true, unusable
	l.observe(Event{Kind: Applied, View: number, Track: s.Track(), Version: s.Version()})
}

// read gives a saved state, dated when it was written: overrides grow older while nobody
// runs. Nil: there is none.
func (l *Link) read(file string) (*wire.State, error) {
	body, written, err := l.folder.read(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	age := max(0, l.wall()-written.UnixMicro())
	s, err := wire.Read(l.cfg.Now()-age, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.Track() != pb.Track_TRACK_CATALOG {
		return nil, fmt.Errorf("%s: not a catalog", file)
	}
	return s, l.sameStore(s.Version())
}
