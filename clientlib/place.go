package clientlib

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// place is where something may be sent: a host and port, in one spelling only.
type place struct {
	host  string
	port  string // empty: the usual one of the scheme
	plain bool   // without TLS too
}

// parsePlace reads "host", "host:port" or, to allow it without TLS, "http://host[:port]".
// Loopback needs no TLS.
func parsePlace(text string) (place, error) {
	address := text
	if !strings.Contains(text, "://") {
		address = "https://" + text
	}
	u, host, err := parseBase(address)
	if err != nil || u.Path != "" {
		return place{}, fmt.Errorf("%q is no host: want host, host:port or http://host:port", text)
	}
	return place{host: host, port: u.Port(), plain: u.Scheme == "http" || loopback(host)}, nil
}

// takes says whether something for p may go to u.
func (p place) takes(u *url.URL) bool {
	host, err := hostOf(u)
	if err != nil || host != p.host || u.Scheme == "http" && !p.plain {
		return false
	}
	return portOf(u.Scheme, u.Port()) == portOf(u.Scheme, p.port)
}

func portOf(scheme, port string) string {
	switch {
	case port != "":
		return port
	case scheme == "http":
		return "80"
	}
	return "443"
}

// parseBase reads an address that others are made of by what is put after it.
func parseBase(text string) (*url.URL, string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "", errors.New("no address") // whose error quotes it
	case u.Opaque != "", u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return nil, "", errors.New("an address with more than scheme, host, port and path")
	}
	host, err := hostOf(u)
	return u, host, err
}

// hostOf is the one spelling of the host of an address that can be sent to: lower case,
// no dot at its end. It refuses what could mean another host to another reader.
func hostOf(u *url.URL) (string, error) {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("scheme %q: want https or http", u.Scheme)
	case u.User != nil:
		return "", errors.New("an address with a user")
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Zone() == "" {
		return ip.Unmap().String(), nil
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("%q is no host", host)
		}
	}
	return host, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
