package clientlib

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFileIsReadAgainWhenItHasChanged(t *testing.T) {
	past := time.Now().Add(-time.Hour)
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	put := func(name, value string, at time.Time) {
		t.Helper()
		err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600)
		if err = errors.Join(err, os.Chtimes(filepath.Join(dir, name), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	rename := func() {
		t.Helper()
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to string) {
		t.Helper()
		if err := os.Symlink(filepath.Join(dir, to), path+".new"); err != nil {
			t.Fatal(err)
		}
		rename()
	}
	f := &file{path: path}
	for _, c := range []struct {
		rule   string
		change func()
		want   string
	}{
		{"first", func() { put("key", "one\n", past) }, "one"},
		{"written in place", func() { put("key", "two\n", past.Add(time.Microsecond)) }, "two"},
		{"longer", func() { put("key", "three\n", past.Add(time.Microsecond)) }, "three"},
		{"another file, as old and as long", func() { put("key.new", "four!\n", past.Add(time.Microsecond)); rename() }, "four!"},
		{"a link", func() { put("a", "five!\n", past.Add(time.Microsecond)); link("a") }, "five!"},
		{"the link leads elsewhere", func() { put("b", "seven\n", past.Add(time.Microsecond)); link("b") }, "seven"},
		{"nothing that shows: it is not read", func() { put("b", "eight\n", past.Add(time.Microsecond)) }, "seven"},
		{"just now", func() { put("b", "nine!\n", past.Add(2*time.Hour)) }, "nine!"},
		{"and again in the same instant", func() { put("b", "zero!\n", past.Add(2*time.Hour)) }, "zero!"},
	} {
		c.change()
		if got, err := f.read(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %q %v, want %q", c.rule, got, err, c.want)
		}
	}
}

// Secrets in Kubernetes are links to links, of which one is replaced.
func TestAMountedSecretIsFollowed(t *testing.T) {
	dir := t.TempDir()
	at := time.Now().Add(-time.Hour)
	f := &file{path: filepath.Join(dir, "key")}
	for i, value := range []string{"one", "two"} {
		version := filepath.Join(dir, fmt.Sprintf("..%d", i))
		if err := errors.Join(os.Mkdir(version, 0o700), os.WriteFile(filepath.Join(version, "key"), []byte(value), 0o600),
			os.Chtimes(filepath.Join(version, "key"), at, at), os.Symlink(version, filepath.Join(dir, "..new")),
			os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.Symlink(filepath.Join(dir, "..data", "key"), f.path); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := f.read(t.Context()); err != nil || got != value {
			t.Errorf("%q %v, want %q", got, err, value)
		}
	}
}

func TestWhatIsNoFileIsNotWaitedFor(t *testing.T) {
	for _, path := range []string{t.TempDir(), os.DevNull, filepath.Join(t.TempDir(), "none")} {
		if got, err := (&file{path: path}).read(t.Context()); !errors.Is(err, errFile) || strings.Contains(err.Error(), "/") {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
}

// script is a command that counts its runs.
func script(t *testing.T, text string) (*command, func() int) {
	t.Helper()
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	path := filepath.Join(dir, "script")
	if err := os.WriteFile(path, []byte("echo x >> "+runs+"\n"+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &command{arguments: []string{"/bin/sh", path}, turn: newTurn()}, func() int {
		b, err := os.ReadFile(runs)
		if err != nil {
			t.Fatal(err)
		}
		return len(b) / 2
	}
}

func TestACommandRunsOnceForAllWhoAsk(t *testing.T) {
	c, runs := script(t, "echo secret-x")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got, err := c.read(t.Context()); got != "secret-x" || err != nil {
				t.Errorf("%q %v", got, err)
			}
		})
	}
	wg.Wait()
	if n := runs(); n != 1 {
		t.Errorf("%d runs", n)
	}
	if left := time.Until(c.until); left > execKept || left < execKept-time.Minute {
		t.Errorf("kept for %v", left)
	}
	c.until = time.Now()
	if _, err := c.read(t.Context()); err != nil || runs() != 2 {
		t.Errorf("%d runs once it is old, %v", runs(), err)
	}
}

func TestARefusedSecretIsAskedForAnew(t *testing.T) {
	c, runs := script(t, "echo secret-$(($(date +%s%N)))")
	k := &keyring{keys: map[string]*key{"x": {source: c}, "y": {source: variable("Y")}}}
	first, err := c.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "x", "y", "z", ""} {
		k.refused(name)
	}
	for range 3 {
		if got, err := c.read(t.Context()); got == first || err != nil {
			t.Errorf("%q %v", got, err)
		}
	}
	if n := runs(); n != 2 {
		t.Errorf("%d runs", n)
	}
}

func TestAFailedCommandRestsAndSaysNothing(t *testing.T) {
	for text, want := range map[string]string{
		"echo secret-x; echo secret-x >&2; exit 3": "its command: exit status 3",
		"echo; echo":                   "is empty",
		"echo secret-x; echo secret-y": "is not one line of printable characters",
		`echo '{"token":"secret-x"}'`:  "is empty",
		`echo '{"secret":secret-x}'`:   `its command: want {"secret": …, "expires_at": "2006-01-02T15:04:05Z"}`,
		"kill -9 $$":                   "its command: signal: killed",
	} {
		c, runs := script(t, text)
		for range 3 {
			if got, err := c.read(t.Context()); got != "" || err == nil || err.Error() != want {
				t.Errorf("%s: %q %v", text, got, err)
			}
		}
		if n := runs(); n != 1 {
			t.Errorf("%s: %d runs", text, n)
		}
	}
	c := &command{arguments: []string{"/none/secret-x"}, turn: newTurn()}
	if _, err := c.read(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// Who gives up ends the command, and the next runs it for itself.
func TestACallersEndIsNoFailureOfTheCommand(t *testing.T) {
	c := &command{arguments: []string{"/bin/sleep", "600"}, turn: newTurn()}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
	if _, err := c.read(ctx); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	c.arguments = []string{"/bin/echo", "secret-x"}
	if got, err := c.read(t.Context()); got != "secret-x" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestHowLongACommandsAnswerIsUsed(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		rule, out string
		value     string
		kept      time.Duration
	}{
		{"a word", " secret-x\n", "secret-x", execKept},
		{"an object without an end", `{"secret":"secret-x"}`, "secret-x", execKept},
		{"a null end is none", `{"secret":"secret-x","expires_at":null}`, "secret-x", execKept},
		{"an end", `{"secret":"secret-x\n","expires_at":"2026-01-02T04:04:05Z"}` + "\n", "secret-x", time.Hour - execBefore},
		{"in another zone", `{"secret":"secret-x","expires_at":"2026-01-02T05:04:05+01:00"}`, "secret-x", time.Hour - execBefore},
		{"a near end", `{"secret":"secret-x","expires_at":"2026-01-02T03:04:25Z"}`, "secret-x", 10 * time.Second},
		{"more than is known", `{"version":1,"secret":"secret-x"}`, "secret-x", execKept},
		{"over", `{"secret":"secret-x","expires_at":"2026-01-02T03:04:05Z"}`, "", 0},
		{"no time", `{"secret":"secret-x","expires_at":"soon"}`, "", 0},
		{"no text", `{"secret":7}`, "", 0},
		{"two lines", `{"secret":"secret-x\nsecret-y"}`, "", 0},
		{"cut", `{"secret":"secret-x"`, "", 0},
		{"too long", `{"secret":"` + strings.Repeat("s", maxSecret+1) + `"}`, "", 0},
	} {
		value, until, err := said(now, []byte(c.out))
		if value != c.value || (err == nil) != (c.value != "") || err == nil && until.Sub(now) != c.kept {
			t.Errorf("%s: %q for %v, %v", c.rule, value, until.Sub(now), err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-") {
			t.Errorf("%s: shown: %v", c.rule, err)
		}
	}
}

func TestAHookIsAskedByOneAtATimeAndEveryTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, inside atomic.Int64
		h := &hook{turn: newTurn(), ask: func(context.Context) (string, error) {
			if inside.Add(1) > 1 {
				t.Error("asked by two at once")
			}
			time.Sleep(time.Second)
			inside.Add(-1)
			return fmt.Sprint("secret-", asked.Add(1)), nil
		}}
		seen := map[string]bool{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				got, err := h.read(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if seen[got] || err != nil {
					t.Errorf("%q %v", got, err)
				}
				seen[got] = true
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		if _, err := h.read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits in vain: %v", err)
		}
		wg.Wait()
	})
}
