//go:build system

package database

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/testkit"
)

// Both engines hold what a table gives, whatever characters are in it, and in a file whose
// name holds those of a URL.
func TestTable(t *testing.T) {
	want := [][]string{{"1", "a\tb\n\r"}, {"2", `\N`}, {"3", `\\.`}, {"4", "é 'x'"}}
	table := Table{Name: "t", Columns: []string{"id", "body"}, Rows: int64(len(want)),
		Row: func(n int64) []any { return []any{n + 1, want[n][1]} }}
	const create, read = "CREATE TABLE t (id integer, body text)", "SELECT CAST(id AS text), body FROM t ORDER BY id"
	check := func(engine string, next func() bool, scan func(...any) error) {
		t.Helper()
		var got [][]string
		for next() {
			row := make([]string, 2)
			testkit.OK(t, scan(&row[0], &row[1]))
			got = append(got, row)
		}
		testkit.Same(t, want, got, engine)
	}
	db := testkit.Must(OpenFile(filepath.Join(t.TempDir(), "50% of #1?.db"), ""))(t)
	defer db.Close()
	testkit.OK(t, Fill(t.Context(), db, []string{create}, table))
	rows := testkit.Must(db.QueryContext(t.Context(), read))(t)
	defer rows.Close()
	check("SQLite", rows.Next, rows.Scan)

	s := Server{Work: t.TempDir(), Param: "database"}
	defer s.Close()
	testkit.OK(t, s.Ready(t.Context(), Quiet(), 1))
	c, fresh, err := s.Conn(t.Context())
	if err != nil || !fresh {
		t.Fatalf("first connection is fresh: %v, %v", fresh, err)
	}
	testkit.Must(c.Exec(t.Context(), create))(t)
	testkit.OK(t, table.Copy(t.Context(), c))
	pgRows := testkit.Must(c.Query(t.Context(), read, pgx.QueryExecModeSimpleProtocol))(t)
	check("PostgreSQL", pgRows.Next, pgRows.Scan)
}

// A server stays while it has room, its connection is made anew when it was lost, and one
// that is too small or was ended gives way to another.
func TestServer(t *testing.T) {
	s := Server{Work: t.TempDir(), Param: "database"}
	defer s.Close()
	ready := func(room int64) int {
		t.Helper()
		testkit.OK(t, s.Ready(t.Context(), Quiet(), room))
		return s.Private().PID()
	}
	first := ready(2)
	s.Holds = "rows"
	if ready(1) != first || s.Holds == nil {
		t.Error("another server for less room")
	}
	c, _, err := s.Conn(t.Context())
	testkit.OK(t, err)
	if again, fresh, err := s.Conn(t.Context()); again != c || fresh || err != nil {
		t.Errorf("another connection, fresh %v, %v", fresh, err)
	}
	testkit.Refused(c.Exec(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())"))(t, "", "the connection lives")
	if again, fresh, err := s.Conn(t.Context()); again == c || !fresh || err != nil {
		t.Errorf("the lost connection, fresh %v, %v", fresh, err)
	}
	if ready(3) == first || s.Holds != nil {
		t.Error("the same server for more room, or with its rows")
	}
	if err := s.Close(); err != nil || s.Private() != nil {
		t.Error(err)
	}
	if err := s.Explain(t.Context(), sql.ErrNoRows); !errors.Is(err, sql.ErrNoRows) {
		t.Error(err)
	}
}
