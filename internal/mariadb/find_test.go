package mariadb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fake(t *testing.T, name, answer string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+answer+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFind(t *testing.T) {
	const ours = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
	good := fake(t, "mariadbd", ours)
	for name, c := range map[string]struct {
		dirs []string
		want string // in the error; empty: none
	}{
		"found":     {[]string{"relative", t.TempDir(), good}, ""},
		"after old": {[]string{fake(t, "mysqld", "mysqld  Ver 10.3.39-MariaDB for Linux"), good}, ""},
		"old":       {[]string{fake(t, "mysqld", "mysqld  Ver 10.3.39-MariaDB for Linux")}, "10.3.39"},
		"mysql":     {[]string{fake(t, "mysqld", "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)")}, "not MariaDB's"},
		"none":      {nil, "neither on PATH"},
	} {
		got, err := find(t.Context(), c.dirs)
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
