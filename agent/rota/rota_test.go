package rota

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// log is who was visited when.
type log struct {
	mu      sync.Mutex
	visits  map[string][]time.Time
	members []string
	busy    int
	busiest int
}

func (l *log) set(members ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = members
}

func (l *log) count(member string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.visits[member])
}

// run visits the members each second; a visit takes so long.
func (l *log) run(atOnce int, takes time.Duration) (stop func()) {
	l.visits = map[string][]time.Time{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r := Rota[string]{Within: 400 * time.Millisecond, AtOnce: atOnce,
		Members: func() []string { l.mu.Lock(); defer l.mu.Unlock(); return l.members },
		Visit: func(ctx context.Context, m string) time.Duration {
			l.mu.Lock()
			l.visits[m] = append(l.visits[m], time.Now())
			l.busy++
			l.busiest = max(l.busiest, l.busy)
			l.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(takes):
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.busy--
			return time.Second
		}}
	go func() { defer close(done); r.Run(ctx) }()
	return func() { cancel(); <-done }
}

func TestEachMemberIsVisitedInItsOwnTimeAndNoMoreOnceItLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{members: []string{"a", "b"}}
		stop := l.run(4, time.Millisecond)
		time.Sleep(10 * time.Second)
		l.set("b", "c")
		time.Sleep(time.Second)
		a := l.count("a")
		time.Sleep(10 * time.Second)
		stop()
		for m, most := range map[string]int{"a": 10, "b": 21, "c": 11} {
			if n := l.count(m); n > most || n < most*2/3 {
				t.Errorf("%s was visited %d times, want about %d", m, n, most)
			}
		}
		if l.count("a") != a {
			t.Error("who left is visited on")
		}
	})
}

func TestSlowVisitsAreBoundedInNumberAndKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		for i := range 60 {
			l.members = append(l.members, string(rune('A'+i)))
		}
		stop := l.run(4, 2*time.Second)
		time.Sleep(65 * time.Second) // two rounds of 60 ÷ 4 × 2 s
		stop()
		if l.busiest != 4 {
			t.Errorf("%d at once", l.busiest)
		}
		for _, m := range l.members {
			if n := l.count(m); n < 2 {
				t.Errorf("%s was visited %d times in two rounds", m, n)
			}
		}
	})
}

func TestTheEndOfARotaWaitsForItsVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{members: []string{"a"}}
		stop := l.run(1, time.Hour)
		time.Sleep(3 * time.Second)
		stop()
		if l.busy != 0 || len(l.visits["a"]) != 1 {
			t.Errorf("%d visits are under way after the end", l.busy)
		}
	})
}
