// Package dial says which addresses an agent connects to by itself, and connects. The names
// come from the catalog, so from whoever may publish: an agent must not become their way to
// what only its own host can reach.
//
// It judges the address that a name led to, in the moment it connects: a name that means
// something else a moment later gains nothing.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrForbidden says that an address is none that this agent may connect to.
var ErrForbidden = errors.New("not an allowed host")

// None as the only entry allows nothing.
const None = "none"

// Hosts are those that may be connected to. Without an entry: all but loopback, links without a
// router, and the addresses that clouds serve a host's own secrets at.
type Hosts struct {
	some  bool // entries: nothing else is allowed
	names map[string]bool
	nets  []netip.Prefix
}

// Parse reads entries: host, host:port, or a range of addresses like 10.0.0.0/8. Those that are
// named are allowed whatever they are.
func Parse(entries []string) (Hosts, error) {
	h := Hosts{some: len(entries) > 0, names: map[string]bool{}}
	var faults []error
	for _, entry := range entries {
		switch prefix, err := netip.ParsePrefix(entry); {
		case entry == None && len(entries) == 1:
		case err == nil:
			h.nets = append(h.nets, prefix.Masked())
		case named(entry):
			h.names[spell(entry)] = true
		default:
			faults = append(faults, fmt.Errorf("%q: want host, host:port, a range like 10.0.0.0/8, or %q alone", entry, None))
		}
	}
	return h, errors.Join(faults...)
}

func named(entry string) bool {
	host, port, err := net.SplitHostPort(entry)
	if err != nil {
		host, port = entry, "1"
	}
	if _, err := netip.ParseAddr(host); err == nil && port != "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	letters := "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return err == nil && n > 0 && host != "" && strings.Trim(strings.ToLower(host), letters) == ""
}

// spell is the one spelling of a host, or host:port.
func spell(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), ""
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().WithZone("").String()
	}
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// secrets is where a cloud serves a host its own, beside link-local addresses.
var secrets = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"),
}

// takes tells whether a connection to an address is allowed that nobody named.
func (h Hosts) takes(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if h.some {
		return slices.ContainsFunc(h.nets, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	if within := within(ip); within.IsValid() {
		ip = within
	}
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast() &&
		!slices.Contains(secrets, ip) && ip != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

// within is the IPv4 address that an IPv6 address is another word for, on networks that translate;
// the zero address: it is none.
func within(ip netip.Addr) netip.Addr {
	all := ip.As16()
	switch {
	case nat64.Contains(ip):
		return netip.AddrFrom4([4]byte(all[12:]))
	case sixTo4.Contains(ip):
		return netip.AddrFrom4([4]byte(all[2:6]))
	}
	return netip.Addr{}
}

// named tells whether an entry has that very host.
func (h Hosts) named(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return h.names[spell(address)] || h.names[spell(host)]
}

// Dial connects to host:port if it is allowed.
func (h Hosts) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1, FallbackDelay: 50 * time.Millisecond}
	switch {
	case h.named(address):
		return d.DialContext(ctx, network, address)
	case h.some && len(h.nets) == 0:
		return nil, fmt.Errorf("%s: %w", address, ErrForbidden) // and its name is not even looked up
	}
	d.ControlContext = func(_ context.Context, _, to string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(to); err != nil || !h.takes(at.Addr()) {
			return fmt.Errorf("%s: %w", to, ErrForbidden)
		}
		return nil
	}
	return d.DialContext(ctx, network, address)
}
