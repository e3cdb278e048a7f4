package store

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	root    = "/pointsman/v1/"
	metaKey = root + "meta"

	tokens      = root + "token/"
	roles       = root + "role/"
	revocations = root + "revoked/"
)

// reserved are the words that stand where a namespace does.
var reserved = []string{"meta", "token", "role", "revoked", "elect"}

var (
	namespaceForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	nameForm      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	endpointForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(@[A-Za-z0-9._:\[\]-]{1,300})?$`) // an instance by its own name
)

// keys builds the keys of one namespace.
type keys string

func keysOf(namespace string) (keys, error) {
	if !namespaceForm.MatchString(namespace) {
		return "", fmt.Errorf("namespace %q: %w: want a lower-case letter, then lower-case letters, digits and dashes, 63 at most", namespace, ErrInvalid)
	}
	if slices.Contains(reserved, namespace) {
		return "", fmt.Errorf("namespace %q: %w: the store uses this name itself", namespace, ErrInvalid)
	}
	return keys(root + namespace + "/"), nil
}

func (k keys) head() string             { return string(k) + "head" }
func (k keys) revisions() string        { return string(k) + "rev/" }
func (k keys) revision(n uint64) string { return k.revisions() + number(n) }
func (k keys) allChunks() string        { return string(k) + "chunk/" }
func (k keys) chunks(id string) string  { return k.allChunks() + id + "/" }
func (k keys) chunk(id string, i int) string {
	return k.chunks(id) + strconv.Itoa(i)
}
func (k keys) tags() string                      { return string(k) + "tag/" }
func (k keys) tag(name string) string            { return k.tags() + name }
func (k keys) overrides() string                 { return string(k) + "override/" }
func (k keys) override(kind, name string) string { return k.overrides() + kind + "/" + name }
func (k keys) audits() string                    { return string(k) + "audit/" }
func (k keys) tail() string                      { return string(k) + "tail" } // the last audit record again
func (k keys) audit(n uint64) string             { return k.audits() + number(n) }
func (k keys) auditFrom() string                 { return string(k) + "audit-from" } // number of the oldest record that is kept
func (k keys) events() string                    { return string(k) + "event/" }
func (k keys) event(n uint64) string             { return k.events() + number(n) }   // by the last event in it
func (k keys) eventTail() string                 { return string(k) + "event-tail" } // number of the last event

// elections is where the replicas of one namespace elect their leader. There is one key at
// most under it.
func elections(namespace string) string { return root + "elect/leader/" + namespace + "/" }

// number is fixed in width, so that keys sort as numbers do.
func number(n uint64) string { return fmt.Sprintf("%020d", n) }

// numberIn is the number at the end of a key; 0: there is none.
func numberIn(key string) uint64 {
	n, err := strconv.ParseUint(key[strings.LastIndexByte(key, '/')+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// CheckNamespace says whether a namespace may have this name.
func CheckNamespace(name string) error {
	_, err := keysOf(name)
	return err
}
