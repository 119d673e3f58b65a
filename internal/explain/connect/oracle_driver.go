//go:build oracle

package connect

import (
	"database/sql/driver"

	ora "github.com/sijms/go-ora/v2"
)

// HasOracle reports whether this program was built with Oracle's driver.
const HasOracle = true

func oracleConnector(dsn string, w *way) (driver.Connector, error) {
	c := ora.NewConnector(dsn)
	if o, ok := c.(*ora.OracleConnector); ok {
		o.Dialer(w)
	}
	return c, nil
}
