package deployed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// In is the command with files of dir in the place of those that it names below /etc/pointsman:
// a certificate that signed itself, and its key.
func (c Command) In(dir string) (Command, error) {
	if err := write(dir); err != nil {
		return c, err
	}
	out := Command{Where: c.Where, Program: c.Program}
	for _, a := range c.Args {
		out.Args = append(out.Args, in(dir, a))
	}
	for _, e := range c.Environ {
		out.Environ = append(out.Environ, in(dir, e))
	}
	return out, nil
}

// in replaces the value of a flag or a variable.
func in(dir, setting string) string {
	name, value, _ := strings.Cut(setting, "=")
	switch {
	case !strings.HasPrefix(value, "/etc/pointsman/"):
		return setting
	case strings.HasSuffix(value, "key.pem"), strings.HasSuffix(value, ".key"):
		return name + "=" + filepath.Join(dir, "key.pem")
	}
	return name + "=" + filepath.Join(dir, "cert.pem")
}

func write(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "example"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	put := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(put("cert.pem", "CERTIFICATE", der), put("key.pem", "PRIVATE KEY", secret))
}
