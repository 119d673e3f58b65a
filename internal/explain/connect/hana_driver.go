//go:build hana

package connect

import (
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	hdb "github.com/SAP/go-hdb/driver"
	"github.com/SAP/go-hdb/driver/dial"
)

func init() { hana.connector = (*DSN).hanaConnector }

// hanaConnector takes encrypt= too, as SAP's own clients do; its driver has no such word.
func (d *DSN) hanaConnector() (driver.Connector, error) {
	u, q := *d.url, d.url.Query()
	u.Scheme = "hdb"
	way := &way{dial: d.dial, answer: d.answer, here: Loopback(u.Hostname())}
	d.way = way
	if text := q.Get("encrypt"); text != "" {
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("the DSN has encrypt=%s; it takes true or false", text)
		}
		way.encrypted, way.here = yes, false
	} else {
		way.encrypted = !way.here
	}
	q.Del("encrypt")
	u.RawQuery = q.Encode()
	c, err := hdb.NewDSNConnector(u.String())
	if err != nil {
		return nil, err
	}
	if c.TLSConfig() != nil {
		way.encrypted, way.here = true, false
	} else if way.encrypted {
		if err := c.SetTLS(u.Hostname(), true); err != nil {
			return nil, err
		}
	}
	if q.Get(hdb.DSNTimeout) == "" {
		c.SetTimeout(patience) // its driver waits for a silent server, whatever the context says
	}
	c.SetLogger(slog.New(slog.DiscardHandler)) // it would write beside what hostlab says
	c.SetDialer(hanaWay{way})
	return c, nil
}

// hanaWay is the Dialer of the driver for HANA, which prefers IPv4.
type hanaWay struct{ *way }

func (w hanaWay) DialContext(ctx context.Context, address string, _ dial.DialerOptions) (net.Conn, error) {
	if c, err := w.way.DialContext(ctx, "tcp4", address); err == nil {
		return c, nil
	}
	return w.way.DialContext(ctx, "tcp", address)
}
