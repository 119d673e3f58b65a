package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"hostlab/internal/screen"
)

// serve begins to answer Prometheus; it ends with the context.
func (w *watcher) serve(ctx context.Context, note io.Writer) error {
	addr, err := address(w.o.listen)
	if err != nil {
		return err
	}
	l, err := net.Listen(network(addr), addr)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err
		}
		return usagef("--listen %s: %w", addr, err)
	}
	w.url = "http://" + l.Addr().String() + "/metrics"
	fmt.Fprintln(note, "hostlab: metrics on "+screen.Clean(w.url))
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(note, "hostlab: warning: %s can be reached from other hosts, without a password or encryption\n", screen.Clean(l.Addr().String()))
	}
	server := &http.Server{
		Handler:           w.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that breaks off must not scribble over the screen
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // ends when it is closed, or with the process
	return nil
}

// network is tcp4 for an IPv4 address: for 0.0.0.0 under tcp, Go would listen on [::], which is every
// IPv6 address as well.
func network(addr string) string {
	if ap, err := netip.ParseAddrPort(addr); err == nil && ap.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

func (w *watcher) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		w.mu.Lock()
		_, err := w.expose.WriteTo(&b)
		w.mu.Unlock()
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = out.Write(b.Bytes()) // whoever asked may have gone
	})
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(out, "hostlab watch: the metrics are at /metrics")
	})
	return mux
}
