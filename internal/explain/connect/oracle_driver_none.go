//go:build !oracle

package connect

import (
	"database/sql/driver"
	"errors"
)

// HasOracle reports whether this program was built with Oracle's driver.
const HasOracle = false

func oracleConnector(string, *way) (driver.Connector, error) {
	return nil, errors.New("this hostlab was built without Oracle's driver, which would triple its size; build it with 'go build -tags oracle ./cmd/hostlab'")
}
