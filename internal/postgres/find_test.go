package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake puts initdb and a postgres that tells a version into a directory.
func fake(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"initdb": "#!/bin/sh\n", "postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + " (Fake)'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
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
	if _, err := find(t.Context(), usual); !errors.As(err, &missing) || !strings.Contains(err.Error(), "9.6.24") || !strings.Contains(err.Error(), "install") {
		t.Errorf("only an old one: %v", err)
	}
	fake(t, ours(15), "15.18")
	fake(t, ours(17), "17beta1")
	got, err := find(t.Context(), usual)
	if diff := cmp.Diff(Programs{ours(17), "17beta1", 17}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	onPath := fake(t, filepath.Join(root, "mine"), "16.2")
	t.Setenv("PATH", "relative:"+t.TempDir()+":"+onPath)
	got, err = find(t.Context(), usual)
	if diff := cmp.Diff(Programs{onPath, "16.2", 16}, got); err != nil || diff != "" {
		t.Errorf("on PATH: %v\n%s", err, diff)
	}
	t.Setenv(BinVariable, ours(15))
	got, err = find(t.Context(), usual)
	if diff := cmp.Diff(Programs{ours(15), "15.18", 15}, got); err != nil || diff != "" {
		t.Errorf("told: %v\n%s", err, diff)
	}
	t.Setenv(BinVariable, root)
	if _, err = find(t.Context(), usual); !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), "HOSTLAB_PG_BIN="+root+" is no directory") {
		t.Errorf("told of none: %v", err)
	}
	t.Setenv(BinVariable, "")
	t.Setenv("PATH", "")
	if _, err = find(t.Context(), []string{filepath.Join(root, "nowhere/*")}); !errors.As(err, &missing) || strings.Contains(err.Error(), "\n") {
		t.Errorf("none: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := find(ctx, usual); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestArgumentsKeepItPrivate(t *testing.T) {
	args := strings.Join(arguments("/d", "/s", map[string]string{"work_mem": "8MB", "listen_addresses": "*"}), " ")
	if strings.LastIndex(args, "listen_addresses=") < strings.Index(args, "listen_addresses=*") || !strings.Contains(args, "-c work_mem=8MB") {
		t.Error(args)
	}
}
