package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// way is how a driver comes to a server. Servers send clients on to others (routing,
// redirection, failover partners): what holds for the first holds for those.
type way struct {
	dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network
	answer *answer                                                              // of its session
	// to this host only, as TLS was not asked for
	here      bool
	encrypted bool        // with TLS from the first byte
	silent    atomic.Bool // nothing has answered to that yet
}

// errElsewhere is a server that would have the password sent to another host in clear.
var errElsewhere = errors.New(
	"it leads to another host, where a password is sent through TLS only; name that host in the DSN")

// errPlain is a driver that would speak without TLS.
var errPlain = errors.New("the connection would go on without TLS")

// DialContext is the Dialer of the drivers for SQL Server and Oracle.
func (w *way) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	open := w.dial
	if open == nil {
		d := net.Dialer{}
		if w.here {
			d.Control = onlyHere
		}
		open = d.DialContext
	}
	c, err := open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if c = w.answer.through(c); !w.encrypted {
		return c, nil
	}
	w.silent.Store(true)
	return &encrypted{Conn: c, way: w}, nil
}

// onlyHere sees the address after all names are resolved.
func onlyHere(network, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if network == "unix" || err == nil && Loopback(host) {
		return nil
	}
	return errElsewhere
}

// encrypted lets nothing through before a TLS handshake.
type encrypted struct {
	net.Conn
	way   *way
	began bool
}

func (e *encrypted) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	if n > 0 {
		e.way.silent.Store(false)
	}
	return n, err
}

func (e *encrypted) Write(b []byte) (int, error) {
	const handshake = 22 // RFC 8446, 5.1
	if !e.began && (len(b) == 0 || b[0] != handshake) {
		return 0, errPlain
	}
	e.began = true
	return e.Conn.Write(b)
}

// refusedTLS is the parameter that permits to go on without TLS where the server refused
// it; "" for all other errors. The drivers of PostgreSQL, SQL Server and Oracle have no error
// values for it.
func (d *DSN) refusedTLS(err error) string {
	var record tls.RecordHeaderError
	words := []string{"server refused TLS connection", "does not look like a TLS handshake",
		"server does not support encryption"}
	if errors.As(err, &record) || errors.Is(err, errPlain) || errors.Is(err, mysql.ErrNoTLS) ||
		slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) }) {
		return d.Vendor.allow
	}
	return ""
}

// perhapsNoTLS is what else may be wrong where a server said nothing to a TLS handshake:
// one that expects none hangs up, or waits for more.
func (d *DSN) perhapsNoTLS() string {
	if d.way == nil || !d.way.silent.Load() {
		return ""
	}
	return ", or it offers no TLS: " + trustNetwork(d.Vendor.allow)
}
