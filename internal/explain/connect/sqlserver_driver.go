//go:build windows || sqlserver

package connect

import (
	"database/sql/driver"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

func init() { sqlServer.connector = (*DSN).sqlServerConnector }

// sqlServerConnector asks for TLS where the DSN does not say encrypt=. The driver would
// then send the password to what offers none, almost as it is: on this host, where any user may listen, too.
func (d *DSN) sqlServerConnector() (driver.Connector, error) {
	u, err := d.sqlServer()
	if err != nil {
		return nil, err
	}
	cfg, err := msdsn.Parse(u.String())
	if err != nil {
		return nil, err
	}
	way := &way{dial: d.dial, answer: d.answer}
	d.way = way
	if cfg.Parameters[msdsn.Encrypt] == "" {
		if way.here = Loopback(d.url.Hostname()); !way.here || cfg.Password != "" {
			cfg.Encryption = msdsn.EncryptionRequired
		}
	}
	c := mssql.NewConnectorConfig(cfg)
	c.Dialer = way
	return c, nil
}
