package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

func parse(t *testing.T, entries ...string) Hosts {
	t.Helper()
	h, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// control-plane.md, who may do what: agents fetch only from allowed hosts.
func TestWithoutEntriesThisHostLinksAndCloudSecretsAreForbidden(t *testing.T) {
	h := parse(t)
	for text, want := range map[string]bool{
		"10.0.0.1": true, "192.168.1.1": true, "203.0.113.7": true, "fd00::1": true, "2001:db8::1": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false,
		"169.254.169.254": false, "::ffff:169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "fd00:ec2::254": false, "168.63.129.16": false, "100.100.100.200": false,
		"fd20:ce::254": false, "192.0.0.192": false,
		"64:ff9b::a9fe:a9fe": false, "64:ff9b::7f00:1": false, "64:ff9b::a00:1": true, "2002:7f00:1::1": false, "2002:a9fe:a9fe::": false, "2002:cb00:7107::1": true,
	} {
		if got := h.takes(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestWithEntriesNothingElseIsAllowed(t *testing.T) {
	h := parse(t, "10.1.0.0/16", "vllm.example", "127.0.0.1:9000", "[fd00::5]:80")
	for text, want := range map[string]bool{"10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": false} {
		if got := h.takes(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for address, want := range map[string]bool{
		"vllm.example:8000": true, "VLLM.example.:1": true, "other.example:80": false, "xvllm.example:80": false,
		"127.0.0.1:9000": true, "127.0.0.1:9001": false, "[fd00::5]:80": true, "[fd00:0::5]:80": true, "[fd00::5]:81": false,
	} {
		if got := h.named(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if h = parse(t, None); h.takes(netip.MustParseAddr("10.0.0.1")) || h.named("none:80") {
		t.Error("none allows something")
	}
}

func TestEntriesThatAreNone(t *testing.T) {
	for _, entry := range []string{"", "http://a", "a b", "a/b", "10.0.0.0/33", "a:0", "a:99999", ":80", "*"} {
		if _, err := Parse([]string{"ok.example", entry}); err == nil {
			t.Errorf("%q was taken", entry)
		}
	}
}

// A name is judged by where it leads in the moment of connecting.
func TestANameThatLeadsToThisHostIsForbiddenAndOneThatIsNamedIsNot(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
			c.Close()
		}
	}()
	defer func() { l.Close(); <-done }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dial := func(h Hosts, address string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c, err := h.Dial(ctx, "tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	}
	for _, address := range []string{"127.0.0.1:" + port, "localhost:" + port, "[::ffff:127.0.0.1]:" + port} {
		if err := dial(parse(t), address); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
		if err := dial(parse(t, "10.0.0.0/8"), address); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s, not in the range: %v", address, err)
		}
	}
	if len(accepted) > 0 {
		t.Error("a forbidden address was connected to")
	}
	for _, entry := range []string{"127.0.0.1", "127.0.0.0/8", "127.0.0.1:" + port} {
		if err := dial(parse(t, entry), "127.0.0.1:"+port); err != nil {
			t.Errorf("allowed by %s: %v", entry, err)
		}
	}
}
