package privatedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// fake puts initdb and a postgres that tells a version into a directory.
func fake(t *testing.T, dir, version string) string {
	t.Helper()
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{"initdb": "#!/bin/sh\n", "postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + " (Fake)'\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	return dir
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	usual := []string{filepath.Join(root, "lib/*/bin")}
	ours := func(n int) string { return filepath.Join(root, "lib", fmt.Sprint(n), "bin") }
	fake(t, ours(9), "9.6.24")
	t.Setenv("PATH", t.TempDir())
	var missing *Missing
	if _, err := PostgreSQL.find(t.Context(), usual); !errors.As(err, &missing) || !strings.Contains(err.Error(), "9.6.24") || !strings.Contains(err.Error(), "install") {
		t.Errorf("only an old one: %v", err)
	}
	fake(t, ours(15), "15.18")
	fake(t, ours(17), "17beta1")
	got, err := PostgreSQL.find(t.Context(), usual)
	if diff := cmp.Diff(Programs{filepath.Join(ours(17), "postgres"), "17beta1", 17, 0}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	onPath := fake(t, filepath.Join(root, "mine"), "16.2")
	t.Setenv("PATH", "relative:"+t.TempDir()+":"+onPath)
	got, err = PostgreSQL.find(t.Context(), usual)
	if diff := cmp.Diff(Programs{filepath.Join(onPath, "postgres"), "16.2", 16, 2}, got); err != nil || diff != "" {
		t.Errorf("on PATH: %v\n%s", err, diff)
	}
	t.Setenv(PostgreSQL.variable, ours(15))
	got, err = PostgreSQL.find(t.Context(), usual)
	if diff := cmp.Diff(Programs{filepath.Join(ours(15), "postgres"), "15.18", 15, 18}, got); err != nil || diff != "" {
		t.Errorf("told: %v\n%s", err, diff)
	}
	t.Setenv(PostgreSQL.variable, root)
	if _, err = PostgreSQL.find(t.Context(), usual); !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), "HOSTLAB_PG_BIN="+root+" is no directory") {
		t.Errorf("told of none: %v", err)
	}
	t.Setenv(PostgreSQL.variable, "")
	t.Setenv("PATH", "")
	if _, err = PostgreSQL.find(t.Context(), []string{filepath.Join(root, "nowhere/*")}); !errors.As(err, &missing) || strings.Contains(err.Error(), "\n") {
		t.Errorf("none: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := PostgreSQL.find(ctx, usual); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestArgumentsKeepItPrivate(t *testing.T) {
	args := strings.Join(pgArguments(15, map[string]string{"work_mem": "8MB", "listen_addresses": "*"}), " ")
	if strings.LastIndex(args, "listen_addresses=") < strings.Index(args, "listen_addresses=*") || !strings.Contains(args, "-c work_mem=8MB") {
		t.Error(args)
	}
}

func fakeMariaDB(t *testing.T, name, answer string) string {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+answer+"'\n"), 0o755))
	return dir
}

func TestFindMariaDB(t *testing.T) {
	t.Setenv("PATH", "")
	const ours = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
	good := fakeMariaDB(t, "mariadbd", ours)
	for name, c := range map[string]struct {
		dirs []string
		want string // in the error; empty: none
	}{
		"found":     {[]string{t.TempDir(), good}, ""},
		"after old": {[]string{fakeMariaDB(t, "mysqld", "mysqld  Ver 10.3.39-MariaDB for Linux"), good}, ""},
		"old":       {[]string{fakeMariaDB(t, "mysqld", "mysqld  Ver 10.3.39-MariaDB for Linux")}, "10.3.39"},
		"mysql":     {[]string{fakeMariaDB(t, "mysqld", "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)")}, "not MariaDB's"},
		"none":      {nil, "neither on PATH"},
	} {
		got, err := MariaDB.find(t.Context(), c.dirs)
		if c.want == "" {
			if diff := cmp.Diff(Programs{filepath.Join(good, "mariadbd"), "10.11.19", 10, 11}, got); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", name, err, diff)
			}
			continue
		}
		if _, ok := errors.AsType[*Missing](err); !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "install") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server is not started with settings that came later.
func TestSettingsSince(t *testing.T) {
	for major, want := range map[int]bool{13: false, 14: true} {
		testkit.Is(t, want, slices.Contains(pgArguments(major, map[string]string{"track_wal_io_timing": "on"}), "track_wal_io_timing=on"), major)
	}
}

func TestTail(t *testing.T) {
	var l Tail
	fmt.Fprint(&l, strings.Repeat("LOG:  chatter\n", 5000), "FATAL:  could not write: No space left on device\nLOG:  shutting down\n\n")
	if got := l.Last(); got != "FATAL:  could not write: No space left on device" || !l.Full() || len(l.text) > tailBytes {
		t.Errorf("%q, full %v, %d bytes", got, l.Full(), len(l.text))
	}
	var none Tail
	if none.Last() != "" || none.Full() {
		t.Error("an empty log has a line")
	}
}

// What processes used that have ended is coarse, and told only where that is little of it.
func TestSince(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		ended int64
		used  time.Duration
		doubt string
	}{
		{"nobody ended", 0, ms, ""},
		{"much was used", 3, 200 * ms, ""},
		{"little was used", 3, 199 * ms, "about 199 ms: make the run longer"},
		{"nothing that shows", 3, 0, "about 0 ms"},
	} {
		before := Usage{All: time.Second, Ended: 5}
		cpu, doubt := Usage{All: time.Second + c.used, Ended: 5 + c.ended}.Since(before)
		if cpu != c.used || (doubt == "") != (c.doubt == "") || !strings.Contains(doubt, c.doubt) {
			t.Errorf("%s: %v, %q", c.name, cpu, doubt)
		}
	}
}
