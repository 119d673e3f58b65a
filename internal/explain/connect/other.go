package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"

	hdb "github.com/SAP/go-hdb/driver"
	mssql "github.com/microsoft/go-mssqldb"

	"hostlab/internal/explain/ask"
)

// openOther connects to those servers that nobody has tried this on.
func (d *DSN) openOther(ctx context.Context) (ask.Asker, error) {
	var (
		c     driver.Connector
		err   error
		first []string
	)
	switch d.Vendor {
	case SQLServer:
		c, err = mssql.NewConnector(d.sqlServer().String())
		first = []string{"set transaction isolation level read uncommitted", "set lock_timeout 1000"}
	case Oracle:
		c, err = oracleConnector(d.url.String())
		first = []string{"set transaction read only"}
	default:
		u := *d.url
		u.Scheme = "hdb"
		c, err = hdb.NewDSNConnector(u.String())
		first = []string{"set transaction read only"}
	}
	if err != nil {
		return nil, err
	}
	return settled(ctx, c, first)
}

func settled(ctx context.Context, c driver.Connector, first []string) (ask.Asker, error) {
	a, err := session(ctx, sql.OpenDB(c))
	if err != nil {
		return nil, err
	}
	for _, s := range first {
		if _, err := a.Conn.ExecContext(ctx, s); err != nil {
			_ = a.Close()
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return a, nil
}

// sqlServer is the address as its driver takes it.
func (d *DSN) sqlServer() *url.URL {
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
		if password := d.elsewhere(); password != "" {
			u.User = url.UserPassword(user, password)
		}
	}
	return &u
}
