//go:build oracle

package connect

import (
	"database/sql/driver"

	ora "github.com/sijms/go-ora/v2"
)

func init() { oracle.connector = (*DSN).oracleConnector }

func (d *DSN) oracleConnector() (driver.Connector, error) {
	u, way := d.oracle()
	c := ora.NewConnector(u.String())
	if o, ok := c.(*ora.OracleConnector); ok {
		o.Dialer(way)
	}
	return c, nil
}
