package daemon

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// got is what a program's flags said when it served.
type got struct {
	Places []string
	Folder string
	Level  hclog.Level
}

func example(g *got, serve error) Program {
	return Program{
		Name: "pointsman-example", About: "An example.\n", TLS: &cert.Files{},
		Flags: func(f *flag.FlagSet) {
			f.Var((*List)(&g.Places), "place", "`place`")
			f.StringVar(&g.Folder, "state-dir", "/usual", "`folder`")
		},
		Check: func() error {
			if g.Folder == "" {
				return errors.New("no folder")
			}
			return nil
		},
		Open: func(_ context.Context, log hclog.Logger) (*Running, error) {
			g.Level = log.GetLevel()
			return &Running{Run: func(context.Context) error { return serve }}, nil
		},
	}
}

func TestTheEnvironmentStandsInForFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args, environ []string
		want          got
	}{
		"defaults":               {nil, nil, got{nil, "/usual", hclog.Info}},
		"flags win":              {[]string{"-place", "a", "-place", "b", "-log-level", "warn"}, []string{"POINTSMAN_EXAMPLE_PLACE=c", "POINTSMAN_EXAMPLE_LOG_LEVEL=debug"}, got{[]string{"a", "b"}, "/usual", hclog.Warn}},
		"the environment":        {nil, []string{"POINTSMAN_EXAMPLE_PLACE=c,d", "POINTSMAN_EXAMPLE_STATE_DIR=/d", "POINTSMAN_EXAMPLE_LOG_LEVEL=debug"}, got{[]string{"c", "d"}, "/d", hclog.Debug}},
		"an empty one is none":   {nil, []string{"POINTSMAN_EXAMPLE_STATE_DIR="}, got{nil, "/usual", hclog.Info}},
		"another program's":      {nil, []string{"POINTSMAN_PLACE=c", "POINTSMAN_AGENT_STATE_DIR=/d", "POINTSMAN_STATE_DIR=/d"}, got{nil, "/usual", hclog.Info}},
		"two dashes are one too": {[]string{"--state-dir=/e"}, nil, got{nil, "/e", hclog.Info}},
	} {
		t.Run(name, func(t *testing.T) {
			var g got
			var out bytes.Buffer
			if code := example(&g, nil).Run(t.Context(), Process{Args: c.args, Environ: c.environ, Stdout: &out, Stderr: &out}); code != Done {
				t.Fatalf("exit %d: %s", code, &out)
			}
			if diff := cmp.Diff(c.want, g); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	for name, c := range map[string]struct {
		args, environ []string
		serve         error
		want          int
		says          string
	}{
		"failure":               {nil, nil, errors.New("the port is taken"), Failed, "the port is taken"},
		"check":                 {[]string{"-state-dir", ""}, nil, nil, Usage, "no folder"},
		"a level":               {[]string{"-log-level", "loud"}, nil, nil, Usage, `log level "loud"`},
		"both at once":          {[]string{"-log-level", "loud", "-state-dir", ""}, nil, nil, Usage, "no folder"},
		"an argument":           {[]string{"serve"}, nil, nil, Usage, `argument "serve"`},
		"an unknown flag":       {[]string{"-stat-dir", "x"}, nil, nil, Usage, "-stat-dir"},
		"a bad word":            {nil, []string{"POINTSMAN_EXAMPLE_LOG_JSON=perhaps"}, nil, Usage, "POINTSMAN_EXAMPLE_LOG_JSON"},
		"help":                  {[]string{"-h"}, nil, nil, Done, "-state-dir folder"},
		"version":               {[]string{"-version"}, nil, nil, Done, "pointsman-example "},
		"a check":               {[]string{"-check"}, nil, errors.New("served"), Done, "the flags are well"},
		"a check that fails":    {[]string{"-check", "-state-dir", ""}, nil, nil, Usage, "no folder"},
		"check is no setting":   {nil, []string{"POINTSMAN_EXAMPLE_CHECK=true"}, errors.New("served"), Failed, "served"},
		"its environment":       {[]string{"-h"}, nil, nil, Done, "POINTSMAN_EXAMPLE_LOG_LEVEL"},
		"no address":            {[]string{"-metrics-listen", "7401"}, nil, nil, Usage, `metrics listen "7401"`},
		"metrics for all":       {[]string{"-metrics-listen", ":7401"}, nil, nil, Usage, "-tls-cert and -tls-key"},
		"profiles for all":      {[]string{"-pprof", ":6060"}, nil, nil, Usage, "not a loopback address"},
		"profiles nowhere":      {[]string{"-pprof", "localhost"}, nil, nil, Usage, `pprof "localhost"`},
		"nobody to ask":         {[]string{"-healthcheck", "-metrics-listen", ""}, nil, nil, Failed, "-metrics-listen"},
		"version is no setting": {nil, []string{"POINTSMAN_EXAMPLE_VERSION=true"}, errors.New("served"), Failed, "served"},
	} {
		t.Run(name, func(t *testing.T) {
			var g got
			var out bytes.Buffer
			if code := example(&g, c.serve).Run(t.Context(), Process{Args: c.args, Environ: c.environ, Stdout: &out, Stderr: &out}); code != c.want {
				t.Errorf("exit %d, want %d", code, c.want)
			}
			if !strings.Contains(out.String(), c.says) {
				t.Errorf("it does not say %q:\n%s", c.says, &out)
			}
		})
	}
}
