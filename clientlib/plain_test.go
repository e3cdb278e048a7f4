package clientlib_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// plainly sends what no http.Client would let pass, as it is.
func (s *stage) plainly(method string, u url.URL) (*http.Response, string, error) {
	u.Scheme, u.Host = "https", "api.invalid"
	r := &http.Request{Method: method, URL: &u, Header: http.Header{"X-Pointsman-Workload": {"chat"}}}
	return s.read(s.http.Transport.RoundTrip(r.WithContext(s.t.Context())))
}

func TestPlainHTTPStaysBelowItsEndpoint(t *testing.T) {
	for _, c := range []struct{ path, raw, want string }{
		{"", "", ""},
		{"/", "", "/"},
		{"/a b", "", "/a%20b"},
		{"/a/b", "/a%2Fb", "/a%2Fb"},
		{"//b.test/x", "/%2Fb.test/x", "/%2Fb.test/x"},
		{"//b.test/x", "", "/b.test/x"},
		{"x", "", "/x"},
		{"/a//b/./c/", "", "/a//b/./c/"},
		{"/a..b/...", "", "/a..b/..."},
		{"/a\r\nX: 1", "", "/a%0D%0AX:%201"},
		{"/../x", "", "refused"},
		{"../x", "", "refused"},
		{"/a/../../x", "", "refused"},
		{"/..", "", "refused"},
		{"/../x", "/%2e%2E/x", "refused"},
		{"/a/../../x", "/a%2f..%2f..%2fx", "refused"},
		{"/..;v=1/x", "", "refused"},
		{`/..\x`, "", "refused"},
	} {
		for _, base := range []string{"https://a.test", "https://a.test/", "https://a.test/tools", "https://a.test/tools/"} {
			onStage(t, func(g *staging) {
				opaque(g)
				g.catalog.Endpoints[0].BaseURL = base
			}, func(s *stage) {
				s.at("a", says(200, "yes"))
				resp, body, err := s.plainly("GET", url.URL{Path: c.path, RawPath: c.raw, RawQuery: "q=%00"})
				if err != nil {
					s.t.Fatal(err)
				}
				want := []string{strings.TrimSuffix(base, "/") + c.want + "?q=%00"}
				if c.path == "" {
					want[0] = base + "?q=%00"
				}
				if c.want == "refused" {
					want = nil
				}
				var got []string
				for _, q := range s.got["a"] {
					got = append(got, q.url)
				}
				if diff := cmp.Diff(want, got); diff != "" || (want == nil) != (resp.StatusCode == 400) {
					s.t.Errorf("%q at %s: %d %s\n%s", c.path, base, resp.StatusCode, body, diff)
				}
			})
		}
	}
}

// What nobody could send is its caller's fault. Else a caller opens the breakers of all endpoints.
func TestWhatCannotBeSentBlamesNoEndpoint(t *testing.T) {
	for method, query := range map[string]string{"A B": "", "GET\r\nX: 1": "", "É": "", "GET": "a\r\nX: 1", "HEAD": "a b", "PUT": "a\x00", "DELETE": "\x7f"} {
		onStage(t, opaque, func(s *stage) {
			if resp, body, err := s.plainly(method, url.URL{Path: "/x", RawQuery: query}); err != nil || resp.StatusCode != 400 || code(s.t, body) != "invalid_body" {
				s.t.Errorf("%q %q: %d %s %v", method, query, resp.StatusCode, body, err)
			}
			s.decided()
		})
	}
}

// A method that nobody knows promises nothing.
func TestPlainHTTPRepeatsNoMethodThatPromisesNothing(t *testing.T) {
	for method, want := range map[string]int{"": 2, "GET": 2, "HEAD": 2, "OPTIONS": 2, "DELETE": 2, "post": 1, "LOCK": 1, "POST": 1} {
		onStage(t, opaque, func(s *stage) {
			s.at("a", says(500, "no"))
			s.at("b", says(200, "yes"))
			if _, _, err := s.plainly(method, url.URL{Path: "/x"}); err != nil || len(s.Decisions()) != want {
				s.t.Errorf("%s: %v %v", method, s.Decisions(), err)
			}
		})
	}
}

// An answer to HEAD tells the length of another; what is elsewhere, or as it was, blames nobody.
func TestAnswersOfPlainHTTPWithoutABody(t *testing.T) {
	const large = "Content-Length: 1000000000\r\n"
	for _, c := range []struct {
		rule, method, status, length, decision string
	}{
		{"HEAD", "HEAD", "200 OK", large, "a served"},
		{"HEAD of nothing", "HEAD", "200 OK", "Content-Length: 0\r\n", "a served"},
		{"HEAD of what was not changed", "HEAD", "304 Not Modified", large, "a served"},
		{"not changed", "GET", "304 Not Modified", "", "a served"},
		{"no content", "GET", "204 No Content", "", "a served"},
		{"elsewhere", "GET", "302 Found", "Content-Length: 0\r\n", "a refused"},
		{"HEAD of what is elsewhere", "HEAD", "301 Moved", large, "a refused"},
	} {
		_, change := goWild(bytesOf("HTTP/1.1 " + c.status + "\r\nConnection: close\r\nETag: x\r\nLocation: https://x.test/\r\n" + c.length + "\r\n"))
		r := setUp(t, change, func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
			for i := range c.Endpoints {
				c.Endpoints[i].Dialect, c.Endpoints[i].APIs = "http", []string{"http"}
			}
			c.Workloads[0].APIs = []string{"http"}
		})
		q, err := http.NewRequestWithContext(t.Context(), c.method, "https://api.invalid/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Pointsman-Workload", "chat")
		resp, err := r.http.Transport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.HasPrefix(c.status, resp.Status[:3]) || err != nil || len(body) > 0 || resp.Header.Get("ETag") != "x" || resp.StatusCode > 299 && resp.Header.Get("Location") != "" {
			t.Errorf("%s: %s %v %q %v", c.rule, resp.Status, resp.Header, body, err)
		}
		if c.method == "HEAD" && "Content-Length: "+resp.Header.Get("Content-Length")+"\r\n" != c.length {
			t.Errorf("%s: %v", c.rule, resp.Header)
		}
		r.decided(c.decision)
	}
}
