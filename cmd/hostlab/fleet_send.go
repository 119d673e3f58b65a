package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/explain/connect"
	"hostlab/internal/fleet"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// sendOptions are where documents go, and as whose.
type sendOptions struct{ to, token, ca, host string }

func newFleetSend(std streams) *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:   "send [flags] FILE...|-",
		Short: "Send documents of this host to 'fleet serve'",
		Long: `send posts documents of this host to 'hostlab fleet serve'. Use it where no one
logs in to collect them. Only the owner may read the token's file. A server on
another host needs https.

Exit status: 0 the server kept all, 1 some not kept, 2 unusable flag or file.`,
		Example: `  hostlab assess --quiet --out latest.json
  hostlab fleet send --to https://fleet:9753 --token-file token latest.json
  hostlab verify --format json | hostlab fleet send --to https://fleet:9753 \
    --token-file token -`,
		Args: takes(1, -1, "documents of this host, or -"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), std, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "`URL` of the server, such as https://fleet:9753")
	f.StringVar(&o.token, "token-file", "", "`FILE` with the token that 'hostlab fleet token' made")
	f.StringVar(&o.ca, "ca", "", "`FILE` of CA certificates to trust, beside the system's")
	f.StringVar(&o.host, "host", "", "`NAME` of this host in the fleet (default: its host name)")
	return cmd
}

func (o *sendOptions) run(ctx context.Context, std streams, files []string) error {
	at, err := o.server()
	if err != nil {
		return err
	}
	text, err := secretFile(o.token, false)
	if err != nil {
		return usagef("--token-file: %w", plain(err))
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usagef("--token-file %s: expected one token and nothing else", o.token)
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var failed []error
	for _, name := range files {
		body, err := o.document(std, name)
		if err != nil {
			return usagef("%s: %w", name, plain(err))
		}
		said, err := post(ctx, client, at, token, body)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		fmt.Fprintf(std.out, "%s: %s\n", screen.Clean(name), said)
	}
	return errors.Join(failed...)
}

func (o *sendOptions) server() (string, error) {
	u, err := url.Parse(o.to)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return "", usagef("--to %q: expected the server's address, such as https://fleet:9753",
			screen.Short(screen.Clean(o.to)))
	}
	if u.Scheme == "http" && !connect.Loopback(u.Hostname()) {
		return "", usagef("--to %s: hostlab sends a token to another host by https only", screen.Clean(o.to))
	}
	of := "--host"
	if o.host == "" {
		if o.host, err = os.Hostname(); err != nil {
			return "", err
		}
		of = "name this host by --host, since its own"
	}
	if err := fleet.NotHost(o.host); err != nil {
		return "", usagef("%s %w", of, err)
	}
	u = u.JoinPath("v1", "documents")
	u.RawQuery = url.Values{"host": {o.host}}.Encode()
	return u.String(), nil
}

func (o *sendOptions) client() (*http.Client, error) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.ca != "" {
		text, err := trust.ReadFile(o.ca, largestCertificates)
		if err != nil {
			return nil, usagef("--ca %s: %w", o.ca, plain(err))
		}
		if secure.RootCAs, err = x509.SystemCertPool(); err != nil {
			secure.RootCAs = x509.NewCertPool()
		}
		if !secure.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("--ca %s: no certificate is in it", o.ca)
		}
	}
	return &http.Client{
		Timeout:   2 * time.Minute,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure},
		// A token is for the server that was named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (o *sendOptions) document(std streams, name string) ([]byte, error) {
	in := std.in
	if name != "-" {
		f, err := openNamed(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(trust.Reader(in, fleet.MaxBody))
}

// post sends a document and returns what the server says of it.
func post(ctx context.Context, client *http.Client, at, token string, body []byte) (string, error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) { // a file that is packed already goes as it is
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(body); err != nil {
			return "", err
		}
		if err := z.Close(); err != nil {
			return "", err
		}
		body = packed.Bytes()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 500))
	said := screen.Clean(strings.TrimSpace(string(text)))
	switch {
	case answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated:
		return "", fmt.Errorf("the server answers %s: %s", answer.Status, said)
	case err != nil:
		return "", err
	}
	return said, nil
}
