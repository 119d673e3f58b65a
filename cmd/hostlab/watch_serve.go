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
	"strconv"
	"strings"
	"time"

	"hostlab/internal/explain/connect"
	"hostlab/internal/screen"
)

// listen opens the address of --listen.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen(network(addr), addr)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if err != nil {
		return nil, usagef("--listen %s: %w", addr, err)
	}
	return l, nil
}

// serve begins to answer Prometheus at an address, as it was given; it ends with the context.
func serve(ctx context.Context, note io.Writer, given string, metrics io.WriterTo) (url string, err error) {
	addr, err := address(given)
	if err != nil {
		return "", err
	}
	l, err := listen(addr)
	if err != nil {
		return "", err
	}
	url = "http://" + l.Addr().String() + "/metrics"
	fmt.Fprintln(note, "hostlab: metrics on "+screen.Clean(url))
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(note, "hostlab: warning: %s can be reached from other hosts, without a password or encryption\n",
			screen.Clean(l.Addr().String()))
	}
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	server := &http.Server{
		Handler:           onlyNamed(func(asked string) bool { return strings.EqualFold(asked, name) }, pageOf(metrics)),
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       2 * time.Second,
		WriteTimeout:      2 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that breaks off must not scribble over the screen
	}
	server.SetKeepAlivesEnabled(false) // a scrape a connection: one that idles keeps no place
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = (&limited{Listener: l, most: mostClients}).serve(server, nil) }() // ends when it is closed, or with the process
	return url, nil
}

// mostClients are the connections that watch serves at a time.
const mostClients = 16

// onlyNamed answers requests for this host, for the address that was listened to, and for names that are ours. A
// page from elsewhere can have its own name lead to 127.0.0.1 and then read what its
// browser gets from there (DNS rebinding); its name stays in the Host header.
func onlyNamed(ours func(name string) bool, h http.Handler) http.Handler {
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
			http.Error(out, "hostlab: this is another host; ask for the address that it listens to, or start it with --listen NAME:PORT",
				http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(out, r)
	})
}

// network is tcp4 for an IPv4 address: for 0.0.0.0 under tcp, Go would listen on [::], which is every
// IPv6 address as well.
func network(addr string) string {
	if ap, err := netip.ParseAddrPort(addr); err == nil && ap.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// pageOf is the page of metrics.
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

// address completes what --listen was given: a port alone, or one without an
// address, is on the loopback interface, since metrics tell strangers about a host.
func address(given string) (string, error) {
	if _, err := strconv.Atoi(given); err == nil {
		given = ":" + given
	}
	name, port, err := net.SplitHostPort(given)
	if err != nil {
		return "", usagef("--listen %s: expected ADDRESS:PORT, such as 127.0.0.1:9750", given)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", usagef("--listen %s: the port must be 0 to 65535", given)
	}
	if name == "" {
		name = "127.0.0.1"
	}
	return net.JoinHostPort(name, port), nil
}
