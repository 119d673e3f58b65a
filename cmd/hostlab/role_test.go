package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
)

func TestOwnRole(t *testing.T) {
	for _, c := range []struct {
		text, flag string
		want       check.Role
		problem    string
	}{
		{"production-app\n", "", check.ProductionApp, ""},
		{"# what this host is for\n\n  Development  # until May\n", "", check.Development, ""},
		{"production-app\n", "--role=development", check.Development, ""},
		{"# production-app\n", "", check.ProductionDB, ""},
		{"prodution-app\n", "", "", "did you mean production-app?"},
		{"production-app\ndevelopment\n", "", "", "expected one role, got 2 lines"},
	} {
		file := filepath.Join(t.TempDir(), "role")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, role := &cobra.Command{}, check.Role("")
		roleFlag(cmd, &role)
		if err := cmd.ParseFlags(strings.Fields(c.flag)); err != nil {
			t.Fatal(err)
		}
		switch err := ownRole(cmd, file, &role); {
		case c.problem == "" && (err != nil || role != c.want):
			t.Errorf("%q %s: %s, %v", c.text, c.flag, role, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), file)):
			t.Errorf("%q: %v", c.text, err)
		}
		if err := os.Chmod(file, 0o666); err != nil { // now anybody writes it
			t.Fatal(err)
		}
		if err := ownRole(cmd, file, &role); (err == nil) != (c.flag != "") {
			t.Errorf("%q %s, which others may write: %v", c.text, c.flag, err)
		}
	}
	cmd, role := &cobra.Command{}, check.Role("")
	roleFlag(cmd, &role)
	if err := ownRole(cmd, filepath.Join(t.TempDir(), "none"), &role); err != nil || role != check.ProductionDB {
		t.Errorf("without a file: %s, %v", role, err)
	}
}
