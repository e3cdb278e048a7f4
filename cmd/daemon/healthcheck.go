package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const checkWithin = 5 * time.Second

// healthCheck asks the program that runs with the same flags: for containers, where there is
// nothing else that could. Whether it is ready is only said.
func (o *own) healthCheck(ctx context.Context, w io.Writer) error {
	url, err := address(o.metrics)
	if err != nil {
		return fmt.Errorf("-healthcheck asks at -metrics-listen: %w", err)
	}
	// It is this program's own address, and of the answer only yes or no counts: no name has to fit.
	client := &http.Client{Timeout: checkWithin, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
	}}
	alive, err := page(ctx, client, url+"/healthz", w)
	if err == nil && alive != http.StatusOK {
		err = fmt.Errorf("%s/healthz: status %d", url, alive)
	}
	if err != nil {
		return err
	}
	_, err = page(ctx, client, url+"/readyz", w)
	return err
}

// address is where to ask one that listens there.
func address(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if local, _ := loopback(listen); !local {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

// page writes what a page says, and returns its status.
func page(ctx context.Context, client *http.Client, url string, w io.Writer) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(w, io.LimitReader(answer.Body, 1<<10))
	return answer.StatusCode, err
}
