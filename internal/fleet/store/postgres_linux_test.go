//go:build system

package store

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// TestPostgreSQL holds PostgreSQL to the same contract as SQLite.
func TestPostgreSQL(t *testing.T) {
	server := postgres(t)
	n := 0
	fresh := func(t *testing.T) *Store {
		n++
		name := fmt.Sprint("fleet", n)
		server.clone(t, "", name)
		s := testkit.Must(Make(t.Context(), server.address(name)))(t)
		t.Cleanup(func() { s.Close() })
		return s
	}
	contract(t, fresh)
	keeping(t, fresh)
}

// databases is a server with many of them.
type databases struct{ server *privatedb.Server }

func postgres(t *testing.T) databases {
	testkit.Root(t)
	server := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	t.Cleanup(func() { server.Close() })
	return databases{server}
}

func (d databases) address(name string) string {
	u := url.URL{Scheme: "postgres", User: url.User(privatedb.Role), Path: "/" + name,
		RawQuery: url.Values{"host": {d.server.SocketDir()}}.Encode()}
	return u.String()
}

// clone makes a database like another; "" is an empty one.
func (d databases) clone(t *testing.T, from, to string) {
	t.Helper()
	conn, err := d.server.Connect(t.Context())
	testkit.OK(t, err)
	defer conn.Close(t.Context())
	statement := fmt.Sprintf("CREATE DATABASE %q", to)
	if from != "" {
		statement += fmt.Sprintf(" TEMPLATE %q", from)
	}
	for range 50 { // sessions that were closed may take a moment to end
		if _, err = conn.Exec(t.Context(), statement); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(err)
}
