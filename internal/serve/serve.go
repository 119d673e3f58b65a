package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"hostlab/internal/explain/connect"
)

// Metrics begins to answer Prometheus: requests for this host and for a name. It ends with the context.
func Metrics(ctx context.Context, l net.Listener, name string, metrics io.WriterTo) {
	server := &http.Server{
		Handler:           Named(func(asked string) bool { return strings.EqualFold(asked, name) }, pageOf(metrics)),
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       2 * time.Second,
		WriteTimeout:      2 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that breaks off must not scribble over the screen
	}
	server.SetKeepAlivesEnabled(false) // a scrape a connection: one that idles keeps no place
	context.AfterFunc(ctx, func() { _ = server.Close() })
	// ends when it is closed, or with the process
	go func() { _ = (&Listener{Listener: l, Most: mostScrapes}).Serve(server, nil) }()
}

// mostScrapes are the connections of Metrics at a time.
const mostScrapes = 16

// Named answers requests for this host, for the address that was listened to, and for names that are ours. A
// page from elsewhere can have its own name lead to 127.0.0.1 and then read what its
// browser gets from there (DNS rebinding); its name stays in the Host header.
func Named(ours func(name string) bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		asked := r.Host
		if name, _, err := net.SplitHostPort(asked); err == nil {
			asked = name
		}
		asked = strings.Trim(asked, "[]")
		came := ""
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
			came = at.IP.String()
		}
		if !connect.Loopback(asked) && (asked == "" || !ours(asked) && asked != came) {
			http.Error(out,
				"hostlab: this is another host; ask for the address that it listens to, or start it with --listen NAME:PORT",
				http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(out, r)
	})
}

func pageOf(metrics io.WriterTo) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		if _, err := metrics.WriteTo(&b); err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = out.Write(b.Bytes()) // the client may have gone
	})
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(out, "hostlab watch: the metrics are at /metrics")
	})
	return mux
}

// Until serves until the context ends, and then ends what has begun.
func Until(ctx context.Context, h http.Handler, l *Listener, secure *tls.Config) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute, // a document of 16 MiB over a slow line
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug), // what clients do wrong
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(server, secure) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	l.quiet()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(server.Close(), fmt.Errorf("some answers were not sent completely: %w", err))
	}
	return nil
}

// Network is tcp4 for an IPv4 address: for 0.0.0.0 under tcp, Go would listen on [::], which is every
// IPv6 address as well.
func Network(addr string) string {
	if ap, err := netip.ParseAddrPort(addr); err == nil && ap.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}
