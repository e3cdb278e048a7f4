package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// opening is how many clients open their stream at once.
const opening = 64

// crowd is the clients of this process, in groups.
type crowd map[string]*group

type group struct {
	address string
	secure  *tls.Config
	stop    context.CancelFunc
	wg      sync.WaitGroup
	room    chan struct{} // for those that open their stream
	members []*member
	bytes   atomic.Int64
	streams atomic.Int64
}

// member is one client. It remembers what it holds, and when the newest came.
type member struct {
	group  *group
	name   string
	waited time.Duration // protocol.md, rule 12

	mu      sync.Mutex
	held    map[pb.Track]*pb.Held
	newest  uint64 // version, of any track
	at      int64  // when it came, unix ns
	greeted int64  // when the stream there is was greeted; 0: there is none
}

// runCrowd does what it is told until there is nothing more.
func runCrowd(in io.Reader, out io.Writer) error {
	c, enc := crowd{}, json.NewEncoder(out)
	for dec := json.NewDecoder(in); ; {
		var o order
		if err := dec.Decode(&o); err != nil {
			for name := range c {
				c.end(name)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := enc.Encode(c.obey(o)); err != nil {
			return err
		}
	}
}

func (c crowd) obey(o order) outcome {
	switch o.Do {
	case "open":
		c[o.Group] = begin(o)
		return c[o.Group].await(o, func(m *member) bool { return m.newest >= o.Version })
	case "await":
		return c[o.Group].await(o, func(m *member) bool { return m.newest >= o.Version })
	case "back":
		return c[o.Group].await(o, func(m *member) bool { return m.greeted > o.From })
	case "close":
		c.end(o.Group)
		return outcome{}
	}
	return outcome{Err: fmt.Sprintf("bug: an order %q", o.Do)}
}

func (c crowd) end(name string) {
	c[name].stop()
	c[name].wg.Wait()
	delete(c, name)
}

func begin(o order) *group {
	ctx, stop := context.WithCancel(context.Background())
	g := &group{address: o.Address, stop: stop, room: make(chan struct{}, opening)}
	if o.TLS {
		g.secure = &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}} //nolint:gosec // it is this program's own server
	}
	for i := range o.N {
		m := &member{group: g, name: fmt.Sprintf("%s-%d", o.Group, i), held: map[pb.Track]*pb.Held{}}
		g.members = append(g.members, m)
		g.wg.Go(func() { m.run(ctx) })
	}
	return g
}

// await waits until all are as wanted, and says how long after From that was.
func (g *group) await(o order, wanted func(*member) bool) outcome {
	end := time.Now().Add(o.Within)
	for {
		var at []int64
		for _, m := range g.members {
			m.mu.Lock()
			if wanted(m) {
				at = append(at, max(m.at, m.greeted)-o.From)
			}
			m.mu.Unlock()
		}
		out := outcome{Count: len(at), Bytes: g.bytes.Load(), Streams: int(g.streams.Load())}
		if len(at) == len(g.members) {
			slices.Sort(at)
			out.P50, out.P99 = at[len(at)/2], at[len(at)*99/100]
			return out
		}
		if time.Now().After(end) {
			out.Err = fmt.Sprintf("%d of %d clients within %v", len(at), len(g.members), o.Within)
			return out
		}
		time.Sleep(50 * time.Millisecond) // it must not take the processors from what is measured
	}
}

// run keeps a stream, as a link does.
func (m *member) run(ctx context.Context) {
	for ctx.Err() == nil {
		since, err := m.stream(ctx)
		m.mu.Lock()
		m.greeted = 0
		m.mu.Unlock()
		if since > time.Minute {
			m.waited = 0
		}
		pause := asked(err) + rand.N(time.Second)
		if asked(err) == 0 {
			pause = rand.N(min(m.waited+time.Second, 30*time.Second))
			m.waited += pause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// stream is one from its beginning to its end.
func (m *member) stream(ctx context.Context) (time.Duration, error) {
	m.group.room <- struct{}{}
	l, err := open(m.group.address, m.group.secure)
	if err == nil {
		err = l.send(&pb.SyncRequest{Sequence: 1, Message: &pb.SyncRequest_Hello{Hello: m.hello()}})
	}
	<-m.group.room
	if err != nil {
		return 0, err
	}
	m.group.streams.Add(1)
	defer context.AfterFunc(ctx, l.close)()
	defer l.close()
	began, sequence, read := time.Now(), uint64(1), 0
	for {
		r, err := l.receive()
		m.group.bytes.Add(int64(l.read - read))
		read = l.read
		if err != nil {
			return time.Since(began), err
		}
		if ack := m.take(r); ack != nil {
			sequence++
			if err := l.send(&pb.SyncRequest{Sequence: sequence, Seen: r.Sequence, Message: &pb.SyncRequest_Ack{Ack: ack}}); err != nil {
				return time.Since(began), err
			}
		}
	}
}

func (m *member) hello() *pb.Hello {
	h := &pb.Hello{Library: "light", Leaf: m.name, Node: m.name, Incarnation: 1, Subscribe: &pb.Subscribe{View: 1, All: true}}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range []pb.Track{pb.Track_TRACK_CATALOG, pb.Track_TRACK_FLEET} {
		if held := m.held[t]; held != nil {
			h.Held = append(h.Held, held)
		}
	}
	return h
}

// take notes what came, and gives the ack.
func (m *member) take(r *pb.SyncResponse) *pb.Ack {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.greeted == 0 {
		m.greeted = time.Now().UnixNano()
	}
	u := r.GetUpdate()
	if u == nil {
		if r.GetHeartbeat() != nil {
			return &pb.Ack{}
		}
		return nil
	}
	m.held[u.Track] = &pb.Held{Track: u.Track, View: u.View, Version: u.Version, Digest: u.Digest}
	if v := cmp.Or(u.Version.GetGeneration(), u.Version.GetSequence()); v > m.newest {
		m.newest, m.at = v, time.Now().UnixNano()
	}
	return &pb.Ack{Held: []*pb.Held{m.held[u.Track]}}
}
