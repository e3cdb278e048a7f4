package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	redrawEvery = time.Second
	recentMost  = 10 // changes below the table
)

func newBreakerWatch(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Watch the fleet's breakers until interrupted",
		Long: `Shows each breaker that is not closed or is forced, and each change as it comes: on a terminal as a table that stays up to
date, else one a line, with -json one WatchBreakersResponse a line. It goes on when the control plane comes back.`,
		Example: "  pointsman breaker watch\n  pointsman breaker watch -json | jq -c .breaker",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isTerminal(e.stdout) && !e.json {
				return e.watchLive(cmd.Context())
			}
			l := liner{env: e, heading: columns(watchWidths, append([]string{"TIME"}, breakerHeading...)...)}
			return e.again(cmd.Context(), e.away, func() (bool, error) {
				return e.watchOnce(cmd.Context(), streaming[pb.WatchBreakersResponse]{
					each: func(m *pb.WatchBreakersResponse) error { return l.print(m, watchLine(m)) },
				})
			})
		},
	}
}

var watchWidths = []int{24, 18, 6, 10, 22, 5, 7}

func watchLine(m *pb.WatchBreakersResponse) string {
	return columns(watchWidths, append([]string{instant(m.GetTime().AsTime().UnixMicro())}, breakerRow(m.GetBreaker(), 0)...)...)
}

func (e *env) watchOnce(ctx context.Context, take streaming[pb.WatchBreakersResponse]) (reached bool, err error) {
	take.follow = true
	take.open = func(ctx context.Context, s services) (grpc.ServerStreamingClient[pb.WatchBreakersResponse], error) {
		return s.WatchBreakers(ctx, &pb.WatchBreakersRequest{Namespace: e.namespace})
	}
	return streamOnce(ctx, e, take)
}

// board is the live table: what is not closed now, and the last changes.
type board struct {
	mu     sync.Mutex
	rows   map[string]pinned
	recent []string
	away   string // why there is no stream; empty: there is
}

// pinned is a breaker with when it was told.
type pinned struct {
	info *pb.BreakerInfo
	at   time.Time
}

// watchLive redraws the table in place: at each change, and each second.
func (e *env) watchLive(ctx context.Context) error {
	b := &board{away: "asking " + e.address()}
	poke := make(chan struct{}, 1)
	changed := func() {
		select {
		case poke <- struct{}{}:
		default:
		}
	}
	drawing, stop := context.WithCancel(ctx)
	var drawer sync.WaitGroup
	drawer.Go(func() { e.redraw(drawing, b, poke) })
	lost := func(err error, pause time.Duration) { b.lose(err, pause); changed() }
	err := e.again(ctx, lost, func() (bool, error) {
		return e.watchOnce(ctx, streaming[pb.WatchBreakersResponse]{
			begun: func() { b.begin(); changed() },
			each:  func(m *pb.WatchBreakersResponse) error { b.take(m, time.Now()); changed(); return nil },
		})
	})
	stop()
	drawer.Wait()
	return err
}

func (e *env) redraw(ctx context.Context, b *board, poke <-chan struct{}) {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for wipe := "\x1b[2J"; ; wipe = "" {
		select {
		case <-ctx.Done():
			return
		case <-poke:
		case <-tick.C:
		}
		text := b.draw(time.Now())
		fmt.Fprint(e.stdout, wipe+"\x1b[H"+strings.ReplaceAll(text, "\n", "\x1b[K\n")+"\x1b[J")
	}
}

// begin forgets what an earlier stream said: this one says it anew.
func (b *board) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows, b.away = map[string]pinned{}, ""
}

// lose keeps what was said last.
func (b *board) lose(err error, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = fmt.Sprintf("%v; trying again in %v; what it said last:", err, pause)
}

func (b *board) take(m *pb.WatchBreakersResponse, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	info := m.GetBreaker()
	key := info.GetEndpoint() + "\x00" + info.GetBreaker().GetLocality() + "\x00" + className(info.GetBreaker().GetClass())
	if b.rows[key] = (pinned{info, now}); isClosed(info) {
		delete(b.rows, key)
	}
	b.recent = append(b.recent, watchLine(m))
	b.recent = b.recent[max(0, len(b.recent)-recentMost):]
}

func isClosed(b *pb.BreakerInfo) bool {
	return b.GetForced() == nil && b.GetBreaker().GetState() == pb.BreakerState_BREAKER_STATE_CLOSED
}

// draw is the picture of one moment.
func (b *board) draw(now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out bytes.Buffer
	state := fmt.Sprintf("%s not closed", plural(len(b.rows), "breaker"))
	if b.away != "" {
		state = oneLine(b.away)
	}
	fmt.Fprintf(&out, "%s  %s\n\n", now.UTC().Format("15:04:05Z"), state)
	rows := [][]string{breakerHeading}
	for _, p := range b.rows {
		rows = append(rows, breakerRow(p.info, now.Sub(p.at).Microseconds()))
	}
	slices.SortFunc(rows[1:], func(x, y []string) int { return slices.Compare(x[:3], y[:3]) })
	if len(rows) > 1 {
		table(&out, rows)
	}
	if len(b.recent) > 0 {
		fmt.Fprintf(&out, "\nlatest changes\n%s\n", strings.Join(b.recent, "\n"))
	}
	fmt.Fprintln(&out, "\nInterrupt to stop.")
	return out.String()
}
