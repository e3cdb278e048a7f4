package fake

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFaultsOnCommand(t *testing.T) {
	stream := hello + `,"stream":true,"max_tokens":40}`
	t.Run("fail answers 500", func(t *testing.T) {
		e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Fail}}})
		answer, _, err := post(t, e, client, stream)
		if err != nil || answer.StatusCode != 500 {
			t.Fatal(answer, err)
		}
		if diff := cmp.Diff(Counts{Requests: 1, Connections: 1, Faulted: 1}, e.Counts()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("throttle answers 429 and when to try again", func(t *testing.T) {
		e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Throttle, Delay: 1500 * time.Millisecond}}})
		answer, _, err := post(t, e, client, stream)
		if err != nil || answer.StatusCode != 429 {
			t.Fatal(answer, err)
		}
		if got := answer.Header.Get("Retry-After") + " " + answer.Header.Get("Retry-After-Ms"); got != "2 1500" {
			t.Error(got)
		}
	})
	t.Run("reset resets", func(t *testing.T) {
		e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Reset}}})
		if _, _, err := post(t, e, client, stream); !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
	})
	t.Run("cut breaks a stream off after some tokens", func(t *testing.T) {
		e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Cut, Tokens: 3}}})
		_, body, err := post(t, e, client, stream)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		if diff := cmp.Diff(`role, "the", " ferry leaves"`, events(t, body)); diff != "" {
			t.Error(diff)
		}
		if got := e.Counts().Faulted; got != 1 {
			t.Errorf("%d faulted", got)
		}
	})
	t.Run("cut breaks a whole answer off", func(t *testing.T) {
		e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Cut}}})
		if _, body, err := post(t, e, client, hello+"}"); !errors.Is(err, io.ErrUnexpectedEOF) || body == "" {
			t.Errorf("%q, %v", body, err)
		}
	})
	t.Run("set without faults mends", func(t *testing.T) {
		e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Fail}}})
		if err := e.Set(); err != nil {
			t.Fatal(err)
		}
		if answer, _, err := post(t, e, client, stream); err != nil || answer.StatusCode != 200 {
			t.Error(answer, err)
		}
	})
}

func TestWhatStreamsSufferMidway(t *testing.T) {
	for _, tc := range []struct {
		fault Fault
		want  string // in short, or what cannot be read
		took  time.Duration
	}{
		{Fault{Kind: Late, Delay: 3 * time.Second}, `role, "the", " ferry", " leaves", length, [DONE]`, 3300 * time.Millisecond},
		{Fault{Kind: Stall, Tokens: 2}, `role, "the", " ferry", " leaves", length, [DONE]`, 30300 * time.Millisecond},
		{Fault{Kind: Malformed, Tokens: 1}, `role, "the", odd, " ferry", " leaves", length, [DONE]`, 300 * time.Millisecond},
		{Fault{Kind: Unended}, `role, "the", " ferry", " leaves", length`, 300 * time.Millisecond},
		{Fault{Kind: Unended, Tokens: 2}, `role, "the", " ferry"`, 200 * time.Millisecond},
		{Fault{Kind: Filter, Tokens: 2}, `role, "the", " ferry", content_filter, [DONE]`, 200 * time.Millisecond},
	} {
		t.Run(tc.fault.Kind.String(), func(t *testing.T) {
			config := Config{Name: "a", TTFT: Latency{Base: 100 * time.Millisecond}, TPOT: 100 * time.Millisecond, Faults: []Fault{tc.fault}}
			bubble(t, config, func(t *testing.T, e *Endpoint, client *http.Client) {
				began := time.Now()
				_, body, err := post(t, e, client, hello+`,"stream":true,"max_tokens":3}`)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, events(t, body)); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(began); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

func TestALimitThatDoesNotSayForHowLong(t *testing.T) {
	e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Limit}}})
	answer, _, err := post(t, e, client, hello+"}")
	if err != nil || answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "" {
		t.Error(answer, err)
	}
}

func TestAFaultIsMetSoOften(t *testing.T) {
	e, client := start(t, Config{Name: "a", Faults: []Fault{{Kind: Fail, Times: 2}, {Kind: Refuse, Times: 1}}})
	for i, want := range []int{500, 500, 400, 200} {
		if answer, _, err := post(t, e, client, hello+"}"); err != nil || answer.StatusCode != want {
			t.Errorf("request %d: %v, %v, want %d", i, answer, err, want)
		}
	}
}

func TestFlappingComesAndGoes(t *testing.T) {
	want := []Fault{
		{Kind: Fail, To: 2 * time.Second}, {Kind: Fail, From: 4 * time.Second, To: 6 * time.Second},
		{Kind: Fail, From: 8 * time.Second, To: 9 * time.Second},
	}
	if diff := cmp.Diff(want, Flapping(Fault{Kind: Fail}, 2*time.Second, 9*time.Second)); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersNeedNotTellUsage(t *testing.T) {
	e, client := start(t, Config{Name: "a", NoUsage: true})
	for _, more := range []string{"}", `,"stream":true,"stream_options":{"include_usage":true}}`} {
		if _, body, err := post(t, e, client, hello+more); err != nil || strings.Contains(body, "prompt_tokens") {
			t.Errorf("%s, %v", body, err)
		}
	}
	if c := e.Counts(); c.Input != 12 || c.Output != 2*defaultOutputCount {
		t.Errorf("%+v", c)
	}
}

func TestFaultsFollowTheTimeline(t *testing.T) {
	config := Config{Name: "a", Faults: []Fault{{Kind: Fail, From: 8 * time.Second, To: 18 * time.Second}}}
	bubble(t, config, func(t *testing.T, e *Endpoint, client *http.Client) {
		time.Sleep(time.Minute)
		begin := time.Now()
		e.Begin(begin)
		for _, tc := range []struct {
			at     time.Duration
			status int
		}{{0, 200}, {8*time.Second - 1, 200}, {8 * time.Second, 500}, {18*time.Second - 1, 500}, {18 * time.Second, 200}} {
			time.Sleep(time.Until(begin.Add(tc.at)))
			answer, _, err := post(t, e, client, hello+"}")
			if err != nil || answer.StatusCode != tc.status {
				t.Errorf("at %v: %v, %v", tc.at, answer, err)
			}
		}
	})
}

func TestParseFault(t *testing.T) {
	for _, tc := range []struct {
		text, name string
		want       Fault
	}{
		{"gpu-b=fail@8s-18s", "gpu-b", Fault{Kind: Fail, From: 8 * time.Second, To: 18 * time.Second}},
		{"a=hang", "a", Fault{Kind: Hang}},
		{"a=reset@1m", "a", Fault{Kind: Reset, From: time.Minute}},
		{"a=slow:x4", "a", Fault{Kind: Slow, Factor: 4}},
		{"a=slow:2s@1s-", "a", Fault{Kind: Slow, Delay: 2 * time.Second, From: time.Second}},
		{"a=throttle:20s", "a", Fault{Kind: Throttle, Delay: 20 * time.Second}},
		{"a=cut:12", "a", Fault{Kind: Cut, Tokens: 12}},
		{"a=late:20s", "a", Fault{Kind: Late, Delay: 20 * time.Second}},
		{"a=unended:12", "a", Fault{Kind: Unended, Tokens: 12}},
		{"a=refuse", "a", Fault{Kind: Refuse}},
	} {
		name, got, err := ParseFault(tc.text)
		if err != nil || name != tc.name || got != tc.want {
			t.Errorf("%s: %q %+v %v", tc.text, name, got, err)
		}
	}
}

func TestParseFaultSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"fail":            "want ENDPOINT=KIND",
		"=fail":           "want ENDPOINT=KIND",
		"a=broken":        `kind "broken": want one of fail, slow,`,
		"a=fail:3":        `fail takes no "3"`,
		"a=healthy":       `kind "healthy"`,
		"a=fail@18s-8s":   "from 18s to 8s is no time",
		"a=fail@x-8s":     `invalid duration "x"`,
		"a=cut:-1":        "negative",
		"a=slow:fast@1s":  `invalid duration "fast"`,
		"a=nope:1@y":      `kind "nope"`,
		"a=throttle:-10s": "negative",
	} {
		if _, _, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
