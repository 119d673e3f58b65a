//go:build system

package database

import (
	"database/sql"
	"errors"
	"testing"

	"hostlab/internal/testkit"
)

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
