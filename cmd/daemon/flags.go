package daemon

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// List is a flag that may be repeated, or hold several values separated by commas.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

// Set adds to the list.
func (l *List) Set(s string) error {
	*l = append(*l, strings.Split(s, ",")...)
	return nil
}

// own are the flags of every daemon.
type own struct {
	level   string
	json    bool
	metrics string
	given   bool // metrics was, and is no default
	pprof   string

	version, check, healthcheck bool
}

func (o *own) flags(f *flag.FlagSet, p Program) {
	f.StringVar(&o.level, "log-level", "info", "`level`: trace, debug, info, warn or error")
	f.BoolVar(&o.json, "log-json", false, "log JSON")
	f.StringVar(&o.metrics, "metrics-listen", p.Metrics, "`address` of /metrics, /healthz and /readyz; beyond loopback by TLS, with -tls-cert and -tls-key; empty: none")
	f.StringVar(&o.pprof, "pprof", "", "loopback `address` of /debug/pprof; empty: none")
	f.StringVar(&p.TLS.CA, "tls-ca", "", "`file` of the CA whose signature is believed of others; \"system\": whom the system believes")
	f.StringVar(&p.TLS.Cert, "tls-cert", "", "`file` of the certificate that is shown, with its chain; read again when it changes, as are the others")
	f.StringVar(&p.TLS.Key, "tls-key", "", "`file` of its key")
	for name, act := range o.acts() {
		f.BoolVar(act.asked, name, false, act.usage)
	}
}

// act is a flag that has something done instead of serving: no setting.
type act struct {
	asked *bool
	usage string
}

func (o *own) acts() map[string]act {
	return map[string]act{
		"version":     {&o.version, "print the version and exit"},
		"check":       {&o.check, "check what the flags say and exit"},
		"healthcheck": {&o.healthcheck, "ask the program that runs at -metrics-listen whether it lives, and exit"},
	}
}

// CheckLevel says whether there is a log level of this name.
func CheckLevel(name string) error {
	if hclog.LevelFromString(name) == hclog.NoLevel {
		return fmt.Errorf("log level %q: none of trace, debug, info, warn, error", name)
	}
	return nil
}

func (o *own) logger(program string, w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: strings.TrimPrefix(program, "pointsman-"), Level: hclog.LevelFromString(o.level), JSONFormat: o.json, Output: w,
	})
}

func (p Program) flags(o *own) *flag.FlagSet {
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // Run says what is wrong
	p.Flags(f)
	o.flags(f, p)
	return f
}

// Variable is what the environment calls a flag: each program has names of its own, since
// two of them on one host mean different things by -listen.
func (p Program) Variable(name string) string {
	return strings.ToUpper(strings.ReplaceAll(p.Name+"-"+name, "-", "_"))
}

// Variables are all settings by what the environment calls them.
func (p Program) Variables() map[string]bool {
	var o own
	all := map[string]bool{}
	p.flags(&o).VisitAll(func(f *flag.Flag) {
		if _, act := o.acts()[f.Name]; !act {
			all[p.Variable(f.Name)] = true
		}
	})
	return all
}

// parse reads flags, and the environment where a flag is not given: POINTSMAN_AGENT_STATE_DIR
// stands for the agent's -state-dir; an empty variable is none.
func (p Program) parse(o *own, in Process) error {
	f := p.flags(o)
	if err := f.Parse(in.Args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("argument %q: there are flags only", f.Arg(0))
	}
	if err := p.stand(f, o, in.Environ); err != nil {
		return err
	}
	f.Visit(func(a *flag.Flag) { o.given = o.given || a.Name == "metrics-listen" })
	return nil
}

// stand sets from the environment what is not given.
func (p Program) stand(f *flag.FlagSet, o *own, environ []string) (err error) {
	given := map[string]bool{}
	for name := range o.acts() {
		given[name] = true
	}
	f.Visit(func(a *flag.Flag) { given[a.Name] = true })
	f.VisitAll(func(a *flag.Flag) {
		value := lookup(environ, p.Variable(a.Name))
		if given[a.Name] || value == "" || err != nil {
			return
		}
		if err = f.Set(a.Name, value); err != nil {
			err = fmt.Errorf("%s: %w", p.Variable(a.Name), err)
		}
	})
	return err
}

func lookup(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (p Program) help(w io.Writer) {
	fmt.Fprint(w, p.About, `
Each flag can be set as `, p.Variable(""), ` and its name, such as `, p.Variable("log-level"), `; several values of
one are separated by commas. Logs go to stderr. Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage.

Flags:
`)
	f := p.flags(&own{})
	f.SetOutput(w)
	f.PrintDefaults()
}
