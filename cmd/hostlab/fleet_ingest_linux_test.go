//go:build system

package main

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// made is a spool of a small fleet, and how many documents it has.
func made(t *testing.T) (spool string, documents int) {
	t.Helper()
	spool = filepath.Join(t.TempDir(), "spool")
	out, err := exec.Command("hostlab", "fleet", "demo", "--hosts", "20", "--seed", "1", "--out", spool).CombinedOutput()
	if _, scanned := fmt.Sscanf(string(out), "%d documents", &documents); err != nil || scanned != nil {
		t.Fatalf("%v, %v: %s", err, scanned, out)
	}
	return spool, documents
}

// Two programs put the same documents into one store at once: each is kept once, and a third finds all of them.
func TestTwoIngests(t *testing.T) {
	testkit.Root(t)
	spool, documents := made(t)
	server := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	defer server.Close()
	at := url.URL{Scheme: "postgres", User: url.User(privatedb.Role), Path: "/" + privatedb.Postgres,
		RawQuery: url.Values{"host": {server.SocketDir()}}.Encode()}
	for name, store := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "fleet.db"),
		"PostgreSQL": at.String()} {
		t.Run(name, func(t *testing.T) {
			type ended struct {
				out string
				err error
			}
			both := make(chan ended)
			for range 2 {
				go func() {
					out, err := exec.Command("hostlab", "fleet", "ingest", "--store", store, spool).CombinedOutput()
					both <- ended{string(out), err}
				}()
			}
			all := 0
			for range 2 {
				e := <-both
				var read, added, known, refused int
				_, err := fmt.Sscanf(e.out, "%d documents read: %d new, %d known, %d refused", &read, &added, &known, &refused)
				if e.err != nil || err != nil || read != documents || added+known != documents || refused > 0 {
					t.Errorf("%v, %v: %s", e.err, err, e.out)
				}
				all += added
			}
			testkit.Is(t, documents, all, "were new to one or the other, of")
			out, err := exec.Command("hostlab", "fleet", "ingest", "--store", store, spool).CombinedOutput()
			if want := fmt.Sprintf("%d documents read: 0 new, %d known, 0 refused\n", documents, documents); err != nil ||
				string(out) != want {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A disk that fills ends an ingest with one line and loses nothing: with more room, the next one keeps what is missing.
func TestIngestOnAFullDisk(t *testing.T) {
	testkit.Root(t)
	spool, documents := made(t)
	dir := t.TempDir()
	const script = `mount -t tmpfs -o size=600k tmpfs "$1" || exit 3
hostlab fleet ingest --store "sqlite:$1/fleet.db" "$2" >"$3/out" 2>"$3/err"; echo "ended by $?"
mount -o remount,size=100m "$1" || exit 3
hostlab fleet ingest --store "sqlite:$1/fleet.db" "$2" && hostlab fleet store rebuild --store "sqlite:$1/fleet.db"; cat "$3/err" >&2`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", t.TempDir(), spool, dir)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), said.String())
	}
	var read, added, known int
	rest, ok := strings.CutPrefix(out.String(), "ended by 1\n")
	_, err := fmt.Sscanf(rest, "%d documents read: %d new, %d known, 0 refused", &read, &added, &known)
	if !ok || err != nil || read != documents || added+known != documents || added == 0 ||
		!strings.Contains(rest, fmt.Sprintf("%d documents", documents)) {
		t.Errorf("%v: %s", err, out.String())
	}
	if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); len(lines) != 1 ||
		!strings.Contains(lines[0], "full") {
		t.Errorf("it said %q", lines)
	}
}
