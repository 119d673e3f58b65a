//go:build system

package postgres

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/privatedb"
	"hostlab/internal/waits"
)

// A server calls each number as the table of its version does: the numbers are put where a session of it keeps what it
// waits for, and another session asks what that is.
func TestServerNamesWaits(t *testing.T) {
	s, err := privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	idle, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pid := int(idle.PgConn().PID())
	w, err := waits.OpenWords(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Follow([]int{pid})
	put := func(word uint32) {
		b := binary.NativeEndian.AppendUint32(nil, word)
		local, at := []unix.Iovec{{Base: &b[0], Len: 4}}, []unix.RemoteIovec{{Base: uintptr(w.At()[pid]), Len: 4}}
		if _, err := unix.ProcessVMWritev(pid, local, at, 0); err != nil {
			t.Fatal(err)
		}
	}
	defer put(clientRead)
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
			if err := r.Scan(&kind, &event); err != nil {
				t.Fatal(err)
			}
			if kind != classes[class] || event != name {
				t.Errorf("class %d, number %d: %s:%s, and the table has %s", class, number, kind, event, name)
			}
		}
	}
	_ = idle.Close(t.Context())
}
