package agent

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func drainsIn(t *testing.T, dir string) *drains {
	t.Helper()
	start := time.Now()
	d := newDrains(func() int64 { return time.Since(start).Microseconds() + 1 })
	if err := d.open(dir); err != nil {
		t.Fatal(err)
	}
	return d
}

func set(t *testing.T, d *drains, endpoint string, last time.Duration) {
	t.Helper()
	if kept, err := d.set(drain{Endpoint: endpoint, Actor: "me", Reason: "why"}, last); kept != nil || err != nil {
		t.Fatal(kept, err)
	}
}

// drained are the endpoints that a state drains, with what is left of it.
func drained(s *wire.State, now int64) map[string]time.Duration {
	out := map[string]time.Duration{}
	for k, e := range s.All() {
		if k.Kind == pb.Kind_KIND_OVERRIDE {
			out[k.Name] = time.Duration(min(wire.OverrideEnds(e)-now, int64(1e15))) * time.Microsecond
		}
	}
	return out
}

func TestDrainsOutliveTheProcessAndEndInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		set(t, drainsIn(t, dir), "a", time.Hour)
		set(t, drainsIn(t, dir), "b", 10*time.Minute)
		time.Sleep(30 * time.Minute)
		d := drainsIn(t, dir)
		all := d.list()
		if len(all) != 1 || all[0].Endpoint != "a" || all[0].Reason != "why" || all[0].until-d.now() != (30*time.Minute).Microseconds() {
			t.Errorf("after a restart: %+v", all)
		}
		if info, err := os.Stat(filepath.Join(dir, drainsFile)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		time.Sleep(30*time.Minute + time.Millisecond)
		if all := d.list(); len(all) > 0 {
			t.Errorf("past its end: %+v", all)
		}
	})
}

// Whatever becomes of the wall clock, a node drains for four hours at most.
func TestAClockThatWasSetBackDoesNotDrainForLonger(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		set(t, drainsIn(t, dir), "a", 4*time.Hour)
		d := newDrains(func() int64 { return 1 })
		d.wall = func() time.Time { return time.Now().Add(-48 * time.Hour) }
		if err := d.open(dir); err != nil {
			t.Fatal(err)
		}
		if left := d.list()[0].until; left > mostDrain.Microseconds()+1 {
			t.Errorf("drains for %d µs", left)
		}
	})
}

func TestAFileThatIsNoneDrainsNothingAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"broken": "[{", "other": `{"a":1}`, "large": "[" + string(make([]byte, drainsBytes+1))} {
		if err := os.WriteFile(filepath.Join(dir, drainsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := newDrains(func() int64 { return 1 })
		if err := d.open(dir); err == nil || len(d.list()) > 0 {
			t.Errorf("%s: %v, %v", name, err, d.list())
		}
	}
}

// It only adds caution: a drain of the control plane's that lasts longer stays as it is.
func TestANodesDrainTakesNothingAwayFromTheControlPlanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drainsIn(t, t.TempDir())
		set(t, d, "a", time.Hour)
		set(t, d, "b", time.Hour)
		set(t, d, "elsewhere", time.Hour)
		entries := map[wire.Key]wire.Entry{}
		for k, e := range catalog(3, "a", "b", "c").All() {
			entries[k] = e
		}
		for endpoint, last := range map[string]int64{"a": 0, "b": time.Minute.Microseconds()} {
			r, err := wire.Override(&pb.Override{Endpoint: endpoint, What: &pb.Override_Drain{Drain: &pb.Drain{}}, DurationUs: last})
			if err != nil {
				t.Fatal(err)
			}
			entries[wire.Key{Kind: r.Kind, Name: r.Name}] = wire.Entry{Body: r.Body, Hash: wire.HashOf(r.Body), At: d.now()}
		}
		s := d.over(wire.NewState(pb.Track_TRACK_CATALOG, catalog(3).Version(), entries))
		got := drained(s, d.now())
		if len(got) != 2 || got["drain/a"] < 1000*time.Hour || got["drain/b"] != time.Hour {
			t.Errorf("drained: %v", got)
		}
		plain := catalog(3, "c")
		if d.over(plain) != plain {
			t.Error("a view without those endpoints is another one")
		}
	})
}

// The control plane is away: what is drained on the node leaves every pool there, a library that
// comes later finds it so, and it is back by itself.
func TestANodeDrainsWithoutAControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startChain(t, catalog(1, "a", "b"))
		defer c.stop()
		time.Sleep(3 * time.Second)
		c.replica.stop()
		a := c.agents["far"]
		if !a.relay.shelf.has("a@10.0.0.1:80") {
			t.Error("an instance of an endpoint in view is not known")
		}
		set(t, a.relay.shelf.drains, "a", time.Hour)
		a.drained(nil)
		time.Sleep(time.Second)
		if got := drained(c.leaf.state(pb.Track_TRACK_CATALOG), now()); len(got) != 1 || got["drain/a"] > time.Hour || got["drain/a"] < 59*time.Minute {
			t.Errorf("drained: %v", got)
		}
		late := startLeaf(t, "late", c.leafParent)
		defer late.stop()
		time.Sleep(time.Second)
		if got := drained(late.state(pb.Track_TRACK_CATALOG), now()); len(got) != 1 {
			t.Errorf("one that came later: %v", got)
		}
		time.Sleep(time.Hour)
		for _, l := range []*leaf{c.leaf, late} {
			s := l.state(pb.Track_TRACK_CATALOG)
			if got := drained(s, now()); len(got) > 0 || s.Len() != 2 {
				t.Errorf("after its end: %v", got)
			}
		}
	})
}
