package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/explain/connect"
	"hostlab/internal/fleet/web"
	"hostlab/internal/screen"
	"hostlab/internal/serve"
	"hostlab/internal/trust"
)

type serveOptions struct {
	fleetOptions
	listen, cert, key, tokens string
	proxied                   bool
	accept                    exceptions
}

func newFleetServe(std streams) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Web pages of the fleet, metrics, and documents by POST",
		Long: `serve shows the store as web pages: hosts, checks, levers, changes, two hosts
compared, studies and roll-outs. The pages change nothing. Each page is also
JSON at the same address (?format=json, or the header Accept), and each of its
tables is CSV. /metrics is for Prometheus.

serve listens on this host alone. Another address needs --tls-cert, --tls-key
and --tokens; readers then give a token as the password. Or a proxy in front
does TLS and checks readers, and you say so with --behind-proxy.

With --tokens, hosts send documents to /v1/documents. A token is bound to the
names of hosts; 'hostlab fleet token' makes one. serve reads the files of
--tokens and --exceptions again within a second of a change.

On Ctrl-C or SIGTERM, serve finishes the answers that it has begun, and ends.

Exit status: 0 ended by you, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet serve
  hostlab fleet serve --listen 0.0.0.0:9753 --tls-cert fleet.pem \
    --tls-key fleet.key --tokens /etc/hostlab/tokens.toml
  hostlab check --format json | curl --data-binary @- --oauth2-bearer "$TOKEN" \
    https://fleet:9753/v1/documents`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, std) },
	}
	f := cmd.Flags()
	o.storeFlag(cmd)
	o.staleFlag(cmd)
	o.accept.flags(cmd)
	f.StringVar(&o.listen, "listen", "127.0.0.1:9753", "`ADDRESS`:PORT to listen on; port 0 takes a free one")
	f.StringVar(&o.cert, "tls-cert", "", "`FILE` of the certificate and its chain")
	f.StringVar(&o.key, "tls-key", "", "`FILE` of the certificate's key")
	f.StringVar(&o.tokens, "tokens", "", "`FILE` of tokens: who may send documents of which hosts, and who may read")
	f.BoolVar(&o.proxied, "behind-proxy", false, "a proxy in front does TLS and checks who may read")
	return cmd
}

func newFleetToken(std streams) *cobra.Command {
	var (
		hosts []string
		read  bool
	)
	cmd := &cobra.Command{
		Use:   "token [flags] NAME",
		Short: "Make a token for serve: to send documents, or to read",
		Long: `token prints a new token once, to standard error. To standard output it prints
the lines for the file of --tokens: the token's hash, and what it may do. That
file must have mode 0600.

Exit status: 0 done, 2 unusable flag.`,
		Example: `  hostlab fleet token --host db7 db7 >>/etc/hostlab/tokens.toml
  hostlab fleet token --read grafana >>/etc/hostlab/tokens.toml`,
		Args: takes(1, 1, "one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			token, hash := web.NewToken()
			entry := fmt.Sprintf("[[token]]\nname = %s\nsha256 = %q\n", tomlText(args[0]), hash)
			if len(hosts) > 0 {
				quoted := make([]string, len(hosts))
				for i, h := range hosts {
					quoted[i] = tomlText(h)
				}
				entry += "hosts = [" + strings.Join(quoted, ", ") + "]\n"
			}
			if read {
				entry += "read = true\n"
			}
			if _, err := web.ReadTokens([]byte(entry)); err != nil {
				return usageError{err}
			}
			fmt.Fprintln(std.err, token)
			_, err := fmt.Fprint(std.out, entry)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&hosts, "host", nil,
		"the token may send documents of host `NAME`, or of a pattern such as 'db*' (may be repeated)")
	cmd.Flags().BoolVar(&read, "read", false, "the token may read pages and metrics")
	return cmd
}

func tomlText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(screen.Clean(s)) + `"`
}

func (o *serveOptions) run(cmd *cobra.Command, std streams) error {
	addr, err := address(o.listen)
	if err != nil {
		return err
	}
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	here := connect.Loopback(name)
	switch {
	case (o.cert == "") != (o.key == ""):
		return usagef("--tls-cert and --tls-key belong together")
	case !here && !o.proxied && (o.cert == "" || o.tokens == ""):
		return usagef("--listen %s can be reached from other hosts: it takes --tls-cert, --tls-key and --tokens, or "+
			"--behind-proxy", addr)
	}
	config := web.Config{Stale: o.stale, Version: versionText(), Private: !here && !o.proxied}
	if file, ok := strings.CutPrefix(o.store, "sqlite:"); ok { // another address may hold a password
		if file, err = filepath.Abs(file); err != nil {
			return err
		}
		config.Address = "sqlite:" + file
	}
	if config.Exceptions, err = reread(cmp.Or(o.accept.file, exceptionsFile), o.accept.read); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" { // it reads a whole fleet now and then, and serves what it keeps of it
		debug.SetGCPercent(50)
	}
	if o.tokens != "" {
		if config.Tokens, err = reread(o.tokens, func() (web.Tokens, error) { return readTokens(o.tokens) }); err != nil {
			return err
		}
	}
	ours := func(asked string) bool { return strings.EqualFold(asked, name) }
	var secure *tls.Config
	if o.cert != "" {
		pair, err := keyPair(o.cert, o.key)
		if err != nil {
			return err
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		ours = func(asked string) bool {
			return strings.EqualFold(asked, name) || pair.Leaf.VerifyHostname(asked) == nil
		}
	}
	if config.Store, err = o.make(cmd); err != nil {
		return err
	}
	defer config.Store.Close()
	served, err := web.New(config)
	if err != nil {
		return err
	}
	l, err := listen(addr)
	if err != nil {
		return err
	}
	handler := served.Handler()
	if !o.proxied { // a proxy hands on the name that its callers use
		handler = serve.Named(ours, handler)
	}
	scheme, limits := "http", &serve.Listener{Listener: l, Most: mostReaders, Each: mostReaders / 4}
	if o.proxied || here { // all come from one address
		limits.Each = 0
	}
	if secure != nil {
		scheme = "https"
	}
	fmt.Fprintln(std.out, "hostlab: pages on "+screen.Clean(scheme+"://"+l.Addr().String()+"/"))
	return serve.Until(cmd.Context(), handler, limits, secure)
}

// mostReaders are the connections that fleet serve has at a time.
const mostReaders = 256

// secretFile reads a file that nobody but its owner may read or change.
func secretFile(name string, key bool) ([]byte, error) {
	f, err := trust.OpenLinked(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	defer f.Close()
	check := trust.Secret
	if key {
		check = trust.SecretKey
	}
	if err := check(f); err != nil {
		return nil, err
	}
	return trust.File(f, 1<<20)
}

func readTokens(name string) (web.Tokens, error) {
	text, err := secretFile(name, false)
	if err != nil {
		return nil, usagef("--tokens: %w", plain(err))
	}
	tokens, err := web.ReadTokens(text)
	if err != nil {
		return nil, usagef("--tokens %s: %w", name, err)
	}
	return tokens, nil
}

// largestCertificates bounds a file of them: that of a system's is a fifth of it.
const largestCertificates = 1 << 20

func keyPair(cert, key string) (pair tls.Certificate, err error) {
	public, err := trust.ReadFile(cert, largestCertificates)
	if err != nil {
		return pair, usagef("--tls-cert %s: %w", cert, plain(err))
	}
	private, err := secretFile(key, true)
	if err != nil {
		return pair, usagef("--tls-key: %w", plain(err))
	}
	if pair, err = tls.X509KeyPair(public, private); err != nil {
		return pair, usagef("--tls-cert and --tls-key: %w", err)
	}
	if pair.Leaf == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
	}
	return pair, err
}

// reread is what a file says now, as read returns it: a second after it has changed at the latest. While it cannot be
// used, what it said before stays, and the log says so once.
func reread[T any](name string, read func() (T, error)) (func() T, error) {
	last, _ := os.Stat(name)
	said, err := read()
	if err != nil {
		return nil, err
	}
	var (
		mu     sync.Mutex
		looked time.Time
		failed string // why it could not be used at the last look; "": it could
	)
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(looked) < time.Second {
			return said
		}
		looked = time.Now()
		is, _ := os.Stat(name)
		// A new mode or owner, which may make it usable, changes none of these.
		if failed == "" && (is == nil && last == nil ||
			is != nil && last != nil && os.SameFile(is, last) && is.ModTime().Equal(last.ModTime()) &&
				is.Size() == last.Size()) {
			return said
		}
		last = is
		now, err := read()
		switch {
		case err == nil:
			said, failed = now, ""
		case err.Error() != failed:
			failed = err.Error()
			slog.Error("fleet serve: what the file said before stays", "error", err) //nolint:gosec // slog quotes
		}
		return said
	}, nil
}
