package connect

import (
	"bytes"
	"context"
	"errors"
	"net"
)

// errClear is a server that asks for the password in clear, or under a key that it has just sent, which anybody
// could have made.
var errClear = errors.New("the server asks for the password in clear text")

// unclear opens a connection for the driver of MariaDB and MySQL, through which no password goes in clear, unless TLS
// begins in it or the socket is of a server that root has installed. The driver itself sends it to any socket file
// (caching_sha2_password), and to any server that sends a key (sha256_password).
func (d *DSN) unclear(ctx context.Context, network, address, password string) (net.Conn, error) {
	c, err := d.network(ctx, network, address)
	if err != nil || password == "" {
		return c, err
	}
	plain := c
	if l, ok := c.(*boundedConn); ok {
		plain = l.Conn
	}
	if d.Vendor.doubt(plain, address, 0) == nil {
		return c, nil
	}
	return &scrambled{Conn: c, of: d.answer, password: password}, nil
}

// scrambled lets only scrambles through while a session begins: what answers a server's challenge and is of no use
// later.
type scrambled struct {
	net.Conn
	of       *answer
	password string
	began    bool // the client has answered the greeting
	// TLS goes on, or commands do: packets are numbered anew; the driver refuses a server's number out of turn
	over bool
}

// The lengths of SSLRequest, and of what RSA makes of a password at least with a key of 1024 bits.
const sslRequest, encryptedBytes = 32, 128

func (s *scrambled) Write(b []byte) (int, error) {
	const head, sequence = 4, 3 // 3 bytes of length, 1 of the packet's number
	if s.over || len(b) <= head {
		return s.Conn.Write(b)
	}
	body, refused := b[head:], false
	switch {
	case !s.began && len(body) == sslRequest, s.began && b[sequence] == 0:
		s.over = true
	case !s.began:
		name := []byte("sha256_password\x00")
		i := bytes.Index(body, name)
		refused = i >= 0 && !bytes.HasSuffix(body[:i], []byte("caching_")) // it awaits a key
	default: // a single byte but the end of no password asks for a key
		refused = string(body) == s.password+"\x00" || len(body) == 1 && body[0] != 0 || len(body) >= encryptedBytes
	}
	if s.began = true; refused {
		s.of.stop(errClear)
		return 0, errClear
	}
	return s.Conn.Write(b)
}
