package clientlib

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Credential says what a credential's name in the catalog stands for in this process.
type Credential struct {
	From string // env:VARIABLE, file:/path or exec:/path argument…

	// Source is asked instead of From, before every request: it may keep what it has. It is
	// called by one at a time, with the context of that attempt. Its error is not shown: it
	// may quote the secret.
	Source func(ctx context.Context) (string, error)

	// The only hosts it is sent to: host or host:port by TLS, where no port means 443;
	// http://host[:port] without TLS too, where no port means 80. A loopback host needs
	// no TLS, but its port.
	Hosts []string
}

// The environment's way to say the same: names in upper case, - as _.
//
//	POINTSMAN_CREDENTIAL_OPENAI_A=env:OPENAI_KEY
//	POINTSMAN_CREDENTIAL_OPENAI_A_HOSTS=api.openai.example,eu.openai.example
//	POINTSMAN_ALLOWED_HOSTS=api.openai.example
const (
	credentialPrefix = "POINTSMAN_CREDENTIAL_"
	hostsSuffix      = "_HOSTS"
	allowedVariable  = "POINTSMAN_ALLOWED_HOSTS"
)

// errCredential is what sending fails with that this process's configuration does not allow.
var errCredential = errors.New("credential")

// keyring knows what this process lets be sent where. Nothing in it comes from a catalog.
type keyring struct {
	keys    map[string]*key // by name
	allowed []place         // nil: anywhere
	others  bool            // send: nothing is sent from here
}

type key struct {
	source source
	places []place
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func newKeyring(c Config, environ []string) (*keyring, error) {
	declared, allowed := fromEnvironment(environ)
	maps.Copy(declared, c.Credentials)
	k := &keyring{keys: map[string]*key{}, others: c.OthersSend}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		key, err := newKey(declared[name], c.AllowExec)
		if !nameForm.MatchString(name) {
			err = errors.Join(err, errors.New("a name is lower-case letters, digits and -"))
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("credential %q: %w", name, err))
		}
		k.keys[name] = key
	}
	var err error
	if k.allowed, err = parsePlaces(append(allowed, c.AllowedHosts...)); err != nil {
		faults = append(faults, fmt.Errorf("allowed hosts: %w", err))
	}
	return k, errors.Join(faults...)
}

// fromEnvironment reads the variables above. One that ends in _HOSTS is always hosts: a
// name that ends in -hosts can be mapped by Config only.
func fromEnvironment(environ []string) (map[string]Credential, []string) {
	declared := map[string]Credential{}
	var allowed []string
	for _, line := range environ {
		variable, value, _ := strings.Cut(line, "=")
		if variable == allowedVariable {
			allowed = list(value)
		}
		name, ok := strings.CutPrefix(variable, credentialPrefix)
		if !ok {
			continue
		}
		name, hosts := strings.CutSuffix(name, hostsSuffix)
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		c := declared[name]
		if hosts {
			c.Hosts = list(value)
		} else {
			c.From = value
		}
		declared[name] = c
	}
	return declared, allowed
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func newKey(c Credential, allowExec bool) (*key, error) {
	source, err := newSource(c, allowExec)
	places, bad := parsePlaces(c.Hosts)
	if len(c.Hosts) == 0 {
		bad = errors.New("no hosts that it may be sent to")
	}
	return &key{source, places}, errors.Join(err, bad)
}

func parsePlaces(hosts []string) (places []place, _ error) {
	var faults []error
	for _, text := range hosts {
		p, err := parsePlace(text)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		places = append(places, p)
	}
	return places, errors.Join(faults...)
}

// usable is the gate of what this process can send to: by dialect, address and credential.
func (k *keyring) usable(e *route.Endpoint) route.Reason {
	reason, _ := k.check(e)
	return reason
}

// check is usable with the cause, for people.
func (k *keyring) check(e *route.Endpoint) (route.Reason, error) {
	u, _, err := parseBase(e.BaseURL)
	switch {
	case e.Awaits():
		return route.ReasonUnsupported, errors.New("its instances are not known yet")
	case err != nil:
		return route.ReasonUnsupported, fmt.Errorf("base_url: %w", err)
	case k.others:
		return route.Pass, nil
	case !spoken(e):
		return route.ReasonUnsupported, fmt.Errorf("dialect %q with these APIs is not spoken by this version", e.Dialect)
	}
	if err := k.permits(e.Credential, u); err != nil {
		return route.ReasonCredential, err
	}
	return route.Pass, nil
}

// spoken says whether this version can ask an endpoint for anything.
func spoken(e *route.Endpoint) bool {
	d := dialect.Of(e.Dialect)
	return d != nil && (len(e.APIs) == 0 || slices.ContainsFunc(e.APIs, func(name string) bool { return d.Speaks(dialect.ParseAPI(name)) }))
}

// permits says why a credential, or with no name a request alone, may not go to u.
func (k *keyring) permits(name string, u *url.URL) error {
	if len(k.allowed) > 0 && !anyTakes(k.allowed, u) {
		return fmt.Errorf("%w: %s is not among the allowed hosts", errCredential, u.Host)
	}
	if name == "" {
		return nil
	}
	key, ok := k.keys[name]
	switch {
	case !ok:
		return fmt.Errorf("%w %q is not mapped here", errCredential, name)
	case !anyTakes(key.places, u):
		return fmt.Errorf("%w %q may not be sent to %s: its hosts do not list that host and port", errCredential, name, u.Host)
	}
	return nil
}

func anyTakes(places []place, u *url.URL) bool {
	return slices.ContainsFunc(places, func(p place) bool { return p.takes(u) })
}

// secret is what to send to u for a credential's name; an empty name needs none.
func (k *keyring) secret(ctx context.Context, name string, u *url.URL) (Secret, error) {
	if err := k.permits(name, u); err != nil || name == "" {
		return Secret{}, err
	}
	value, err := k.keys[name].source.read(ctx)
	if err != nil {
		return Secret{}, fmt.Errorf("%w %q: %w", errCredential, name, err)
	}
	return Secret{&value}, nil
}

// refused says that an endpoint did not take the credential of that name: what is kept of
// it may be no longer true.
func (k *keyring) refused(name string) {
	if key := k.keys[name]; key != nil {
		if c, ok := key.source.(*command); ok {
			c.doubted.Store(true)
		}
	}
}
