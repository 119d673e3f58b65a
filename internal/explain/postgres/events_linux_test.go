//go:build system

package postgres

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// A server calls each number as the table of its version does: the numbers are put where a session of it keeps what it
// waits for, and another session asks what that is.
func TestServerNamesWaits(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	t.Cleanup(func() { _ = s.Close() })
	idle := testkit.Must(s.Connect(t.Context()))(t)
	asks := testkit.Must(s.Connect(t.Context()))(t)
	pid := int(idle.PgConn().PID())
	w := testkit.Must(waits.OpenWords(s.PID()))(t)
	defer w.Close()
	w.Follow([]int{pid})
	put := func(word uint32) {
		b := binary.NativeEndian.AppendUint32(nil, word)
		local, at := []unix.Iovec{{Base: &b[0], Len: 4}}, []unix.RemoteIovec{{Base: uintptr(w.At()[pid]), Len: 4}}
		testkit.Must(unix.ProcessVMWritev(pid, local, at, 0))(t)
	}
	e := eventsOf(s.Programs.Major)
	if len(e) == 0 {
		t.Errorf("no table for %d", s.Programs.Major)
	}
	for class, names := range e {
		for number, name := range names {
			if name == "-" {
				continue
			}
			put(class<<24 | uint32(number)) //nolint:gosec // tables are short
			var kind, event string
			r := asks.QueryRow(t.Context(), "select wait_event_type, wait_event from pg_stat_get_activity($1)", pid)
			testkit.OK(t, r.Scan(&kind, &event))
			if kind != classes[class] || event != name {
				t.Errorf("class %d, number %d: %s:%s, and the table has %s", class, number, kind, event, name)
			}
		}
	}
	put(clientRead) // as it would have it, before it ends
	_ = idle.Close(t.Context())
}
