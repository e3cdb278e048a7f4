package cert

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TokenPrefix begins every token, so that one is known where it should not be.
const TokenPrefix = "pmt_"

const maxToken = 4 << 10 // bytes of a token, which may be another issuer's

// NewToken is a random token of 256 bits.
func NewToken() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
}

// ReadToken reads the one token of a file. It refuses a file of this process's own user that all others
// may open. What a link names is mounted, and what is another user's this one cannot mend: their modes are theirs to choose.
func ReadToken(path string) (string, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o007 != 0 && mine(info) {
		return "", fmt.Errorf("token file %s: others may open it (%v): chmod 600 %s", path, info.Mode().Perm(), path)
	}
	data, err := readBounded(path)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("token file %s does not hold one token on one line", path)
	}
	return token, nil
}

// OwnToken is the token of a file that only this process's user may read: who shows it is that
// user, or root. A file that is missing is made.
func OwnToken(path string) (string, error) {
	token, err := readOwn(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := makeToken(path); err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	return readOwn(path)
}

func readOwn(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("token file: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("token file %s: not a file: take it away", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("token file %s: others may open it (%v): take it away, a new one is made", path, info.Mode().Perm())
	case !ownedByUs(info):
		return "", fmt.Errorf("token file %s: another user's: take it away, a new one is made", path)
	}
	return ReadToken(path)
}

// makeToken puts a whole file in place. One that another process put there meanwhile stays.
func makeToken(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".token-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it has its own name by then, or is of no use
	_, err = file.WriteString(NewToken() + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// tokenFile is the token of a file, read again when it changes.
type tokenFile struct {
	path string

	mu     sync.Mutex
	looked time.Time
	token  string
}

func newTokenFile(path string) *tokenFile {
	if path == "" {
		return nil
	}
	return &tokenFile{path: path}
}

// now is the newest token that could be read. It looks at most once a second, and each time while there is none.
func (f *tokenFile) now() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.token != "" && now.Sub(f.looked) < lookEach {
		return f.token, nil
	}
	f.looked = now
	token, err := ReadToken(f.path)
	switch {
	case err == nil:
		f.token = token
	case f.token == "":
		return "", status.Error(codes.Unauthenticated, err.Error())
	}
	return f.token, nil
}

// bearer gives a file's token to each call.
type bearer struct {
	file  *tokenFile
	plain bool // it stays on this host: nothing needs to be encrypted
}

// GetRequestMetadata is a call's authorization.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := b.file.now()
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity keeps a token from leaving this host in the clear.
func (b bearer) RequireTransportSecurity() bool { return !b.plain }
