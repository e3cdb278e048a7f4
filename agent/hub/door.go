package hub

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Bounds limits streams; zero fields mean defaults.
type Bounds struct {
	PerHost     int // streams from one address, whoever they say they are
	PerIdentity int // streams of one identity from one address
	PerSecond   int // new streams, in bursts of one second's worth
}

// What zero bounds mean.
const (
	DefaultPerHost     = 1000
	DefaultPerIdentity = 8 // control-plane.md, who may do what
	DefaultPerSecond   = 500
)

func (b Bounds) filled() Bounds {
	fill := func(n *int, by int) {
		if *n == 0 {
			*n = by
		}
	}
	fill(&b.PerHost, DefaultPerHost)
	fill(&b.PerIdentity, DefaultPerIdentity)
	fill(&b.PerSecond, DefaultPerSecond)
	return b
}

// door counts the streams that are in, and paces those that come.
type door struct {
	bounds Bounds
	hosts  map[string]int
	named  map[string]int // by identity and host
	pace   int64          // when the streams let in so far would have come at an even pace
	turn   int64          // when the last that was turned away may come back
}

func newDoor(b Bounds) door {
	return door{bounds: b.filled(), hosts: map[string]int{}, named: map[string]int{}, pace: math.MinInt64}
}

// enter lets one more stream of a host in, or says why not. Those that come too fast are told
// when it is their turn: a crowd comes back one after the other, and nobody is left out.
func (d *door) enter(now int64, host string) error {
	if d.hosts[host] >= d.bounds.PerHost {
		return later(someTime(), "%d streams from %s are open already", d.hosts[host], host)
	}
	const second = 1e6
	each := second / int64(d.bounds.PerSecond)
	pace := max(d.pace, now-second) + each
	if pace > now {
		return later(d.wait(now, each), "more than %d new streams a second", d.bounds.PerSecond)
	}
	d.pace = pace
	d.hosts[host]++
	return nil
}

// bounded tells whether an identity has a bound of its own: nobody in particular has none, and
// a user of a host, who may run many programs there, has the host's.
func bounded(identity string) bool { return identity != "" && !strings.HasPrefix(identity, "uid/") }

// name counts a stream that is in towards its identity.
func (d *door) name(host, identity string) error {
	key := identity + "@" + host
	if !bounded(identity) {
		return nil
	}
	if d.named[key] >= d.bounds.PerIdentity {
		return later(someTime(), "%d streams of %s are open already", d.named[key], key)
	}
	d.named[key]++
	return nil
}

// unname takes a stream that was counted towards its identity back.
func (d *door) unname(host, identity string) {
	if bounded(identity) {
		less(d.named, identity+"@"+host)
	}
}

// leave takes a stream back that was let in.
func (d *door) leave(host string) { less(d.hosts, host) }

func less(counts map[string]int, key string) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// maxTurn is how long at most somebody is told to wait: protocol.md, rule 12.
const maxTurn = 30 * time.Second

// wait is until the next turn. Of a crowd that is too large for turns the rest comes any time.
func (d *door) wait(now, each int64) time.Duration {
	next := max(d.turn, now+us(time.Second)) + each
	if next-now > us(maxTurn) {
		return maxTurn/2 + rand.N(maxTurn/2)
	}
	d.turn = next
	return time.Duration(next-now) * time.Microsecond
}

// someTime is a second or some more: not all come back at once.
func someTime() time.Duration {
	return time.Second + time.Duration(rand.Int64N(int64(4*time.Second)))
}

// later refuses for now: come back after that long.
func later(delay time.Duration, format string, args ...any) error {
	s := status.New(codes.ResourceExhausted, fmt.Sprintf(format, args...))
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}); err == nil {
		s = detailed
	}
	return s.Err()
}

// hostOf names the host behind an address. All peers of a unix socket are one.
func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.Network()
}

// local says whether a lost connection means that the process at its other end is gone.
func local(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
