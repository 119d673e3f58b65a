//go:build system

package store

import (
	"fmt"
	"net/url"
	"testing"

	"hostlab/internal/privatedb"
	"hostlab/internal/systemtest"
)

// TestPostgreSQL holds PostgreSQL to the same contract as SQLite.
func TestPostgreSQL(t *testing.T) {
	systemtest.Root(t)
	server, err := privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	n := 0
	fresh := func(t *testing.T) *Store {
		conn, err := server.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		n++
		name := fmt.Sprint("fleet", n)
		if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		address := url.URL{Scheme: "postgres", User: url.User(privatedb.Role), Path: "/" + name, RawQuery: url.Values{"host": {server.SocketDir()}}.Encode()}
		s, err := Open(t.Context(), address.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	contract(t, fresh)
	keeping(t, fresh)
}
