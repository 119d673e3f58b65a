//go:build system

package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// On PostgreSQL all screens say the same. While the server is away they say so, and when it is back they are too.
func TestPostgreSQL(t *testing.T) {
	testkit.Root(t)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	server := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL,
		privatedb.Config{Parent: t.TempDir(), LogDir: t.TempDir()}))(t)
	t.Cleanup(func() { server.Close() })
	address := url.URL{Scheme: "postgres", User: url.User(privatedb.Role), Path: "/postgres",
		RawQuery: url.Values{"host": {server.SocketDir()}}.Encode()}
	s := testkit.Must(store.Make(t.Context(), address.String()))(t)
	t.Cleanup(func() { s.Close() })
	file := testkit.Must(made())(t)
	var docs []*fleet.Document
	testkit.OK(t, fleet.Spool(filepath.Join(filepath.Dir(file), "spool"), now,
		func(d fleet.Spooled) error { docs = append(docs, d.Document); return d.Err }))
	for _, d := range own() {
		x := testkit.Must(fleet.Read(d.body, d.host, now))(t)
		docs = append(docs, x)
	}
	testkit.Must(s.Put(t.Context(), docs, "test "+evil, now))(t)
	pages := serving(t, Config{Store: s, Exceptions: exceptions})
	same := serving(t, Config{Exceptions: exceptions})
	for path := range screens {
		there, want := get(t, same.URL+path+query(path))
		here, got := get(t, pages.URL+path+query(path))
		if here.StatusCode != there.StatusCode || got != want {
			t.Errorf("%s: %d, and not what SQLite gives", path, here.StatusCode)
		}
	}
	if r, _ := get(t, pages.URL+"/checks/a%00b"); r.StatusCode != http.StatusNotFound {
		t.Errorf("an address with NUL: %d", r.StatusCode)
	}
	// The log's move restarts the server. Meanwhile somebody reads.
	moved := make(chan error, 1)
	go func() { moved <- server.MoveLog(context.Background(), t.TempDir()) }()
	away, err := 0, error(nil)
	for end, over := testkit.End(t), false; ; time.Sleep(20 * time.Millisecond) {
		resp, body := get(t, pages.URL+"/hosts")
		switch {
		case resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(body, "The store does not answer"):
			away++
		case resp.StatusCode != http.StatusOK:
			t.Fatalf("%d: %s", resp.StatusCode, body)
		case over:
			if away == 0 || err != nil {
				t.Errorf("%d pages said that the store is away; the restart: %v", away, err)
			}
			return
		}
		select {
		case err = <-moved:
			over = true
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the pages did not come back")
		}
	}
}

// query asks for a page's data.
func query(path string) string {
	if strings.Contains(path, "?") {
		return "&format=json"
	}
	return "?format=json"
}
