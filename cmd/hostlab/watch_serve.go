package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"

	"hostlab/internal/screen"
	"hostlab/internal/serve"
)

// listen opens the address of --listen.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen(serve.Network(addr), addr)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, usagef("--listen %s: another program listens there; name another port, or 0 for a free one", addr)
	}
	if err != nil {
		return nil, usagef("--listen %s: %w", addr, err)
	}
	return l, nil
}

// scraped begins to answer Prometheus at an address, as it was given; it ends with the context.
func scraped(ctx context.Context, note io.Writer, given string, metrics io.WriterTo) (url string, err error) {
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
	serve.Metrics(ctx, l, name, metrics)
	return url, nil
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
	return net.JoinHostPort(cmp.Or(name, "127.0.0.1"), port), nil
}
