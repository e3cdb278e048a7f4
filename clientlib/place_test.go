package clientlib

import (
	"net/url"
	"testing"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		place, address string
		want           bool
	}{
		{"a.example", "https://a.example/v1", true},
		{"a.example", "https://A.Example.:443/v1", true},
		{"a.example", "https://a.example:8443/v1", false},
		{"a.example", "http://a.example/v1", false},
		{"a.example", "http://a.example:443/v1", false},
		{"a.example", "https://b.a.example/v1", false},
		{"a.example:8443", "https://a.example:8443", true},
		{"a.example:8443", "https://a.example", false},
		{"http://a.example:8000", "http://a.example:8000/v1", true},
		{"http://a.example", "http://a.example/v1", true},
		{"http://a.example", "https://a.example/v1", true},
		{"127.0.0.1:1234", "http://127.0.0.1:1234/v1", true},
		{"127.0.0.1", "http://127.0.0.1:1234/v1", false},
		{"127.0.0.1:1", "http://127.0.0.1:1234/v1", false},
		{"127.0.0.1:1234", "http://127.0.0.2:1234/v1", false},
		{"[::1]:80", "http://[0:0:0:0:0:0:0:1]/v1", true},
		{"127.0.0.1:7", "http://[::ffff:127.0.0.1]:7/v1", true},
		{"127.0.0.1:7", "http://localhost:7/v1", false},
		{"10.0.0.1", "https://10.1/v1", false},
	} {
		p, err := parsePlace(c.place)
		if err != nil {
			t.Errorf("%s: %v", c.place, err)
			continue
		}
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.takes(u); got != c.want {
			t.Errorf("%s takes %s: %v", c.place, c.address, got)
		}
	}
	for _, bad := range []string{"", "*", "*.a.example", "a b", "a.example/x", "ftp://a.example", "u@a.example", "a..example", "ä.example", "a.example?x", "https://", ":443", "[fe80::1%25eth0]"} {
		if p, err := parsePlace(bad); err == nil {
			t.Errorf("%q is %+v", bad, p)
		}
	}
}
