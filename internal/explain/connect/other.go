package connect

import (
	"database/sql/driver"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	hdb "github.com/SAP/go-hdb/driver"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"hostlab/internal/explain"
)

// untried says so of a source that was written from a vendor's documentation.
func untried(a *explain.Asked) {
	a.Miss("how well this reads %s: it follows the documentation and has not been tried on a live server", a.Info.Vendor)
}

// sqlServerConnector asks for TLS where the DSN does not say encrypt=. The driver would
// then send the password to what offers none, almost as it is.
func (d *DSN) sqlServerConnector() (driver.Connector, error) {
	u, err := d.sqlServer()
	if err != nil {
		return nil, err
	}
	cfg, err := msdsn.Parse(u.String())
	if err != nil {
		return nil, err
	}
	way := &way{dial: d.dial}
	d.way = way
	if cfg.Parameters[msdsn.Encrypt] == "" {
		if way.here = Loopback(d.url.Hostname()); !way.here {
			cfg.Encryption = msdsn.EncryptionRequired
		}
	}
	c := mssql.NewConnectorConfig(cfg)
	c.Dialer = way
	return c, nil
}

// sqlServer is the address as its driver takes it.
func (d *DSN) sqlServer() (*url.URL, error) {
	u := *d.url
	u.Scheme = "sqlserver"
	q := u.Query()
	q.Set("app name", application)
	q.Set("ApplicationIntent", "ReadOnly")
	if q.Get("database") == "" {
		q.Set("database", "master") // the driver asks for one with this intent
	}
	u.RawQuery = q.Encode()
	if user := u.User.Username(); user != "" && !d.HasPassword() {
		password, err := d.elsewhere()
		if err != nil {
			return nil, err
		}
		if password != "" {
			u.User = url.UserPassword(user, password)
		}
	}
	return &u, nil
}

// oracle is the address as its driver takes it, with TLS where the DSN says neither SSL=
// nor, in a whole descriptor (connStr), which protocol.
func (d *DSN) oracle() (*url.URL, *way) {
	u, q := *d.url, d.url.Query()
	has := map[string]bool{}
	for name := range q {
		has[strings.ToLower(name)] = true
	}
	way := &way{dial: d.dial}
	d.way = way
	if has["ssl"] || has["connstr"] {
		return &u, way
	}
	if way.here = Loopback(u.Hostname()) && !has["server"] && !has["unix address"]; way.here {
		return &u, way
	}
	way.encrypted = true
	q.Set("SSL", "enable")
	if !has["ssl verify"] {
		q.Set("SSL VERIFY", "false")
	}
	u.RawQuery = q.Encode()
	return &u, way
}

func (d *DSN) oracleConnector() (driver.Connector, error) {
	u, way := d.oracle()
	return oracleConnector(u.String(), way)
}

// hanaConnector takes encrypt= too, as SAP's own clients do; its driver has no such word.
func (d *DSN) hanaConnector() (driver.Connector, error) {
	u, q := *d.url, d.url.Query()
	u.Scheme = "hdb"
	way := &way{dial: d.dial, here: Loopback(u.Hostname())}
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
