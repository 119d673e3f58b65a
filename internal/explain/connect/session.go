//go:build windows || sqlserver || oracle || hana

package connect

import (
	"context"
	"database/sql/driver"

	"hostlab/internal/explain"
)

// session is how a Vendor connects whose driver is one of database/sql.
func session(connector func(*DSN) (driver.Connector, error), first ...string) func(context.Context, *DSN) (explain.Asker, error) {
	return func(ctx context.Context, d *DSN) (explain.Asker, error) {
		c, err := connector(d)
		if err != nil {
			return nil, err
		}
		return begin(ctx, c, first...)
	}
}
