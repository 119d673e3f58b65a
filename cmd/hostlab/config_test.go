package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/testkit"
)

// configured writes the files of the host and of the user; "" is none.
func configured(t *testing.T, host, user string) (hostFile, userFile string) {
	t.Helper()
	dir, before := t.TempDir(), hostConfig
	t.Cleanup(func() { hostConfig = before })
	t.Setenv("XDG_CONFIG_HOME", dir)
	hostConfig = filepath.Join(dir, "host.toml")
	userFile = filepath.Join(dir, "hostlab", "config.toml")
	testkit.OK(t, os.Mkdir(filepath.Dir(userFile), 0o700))
	for file, text := range map[string]string{hostConfig: host, userFile: user} {
		if text == "" {
			continue
		}
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return hostConfig, userFile
}

func TestOwnRole(t *testing.T) {
	for _, c := range []struct {
		host, user, flag string
		want             check.Role
		problem          string
	}{
		{"", "", "", check.ProductionDB, ""},
		{`role = "production-app"`, "", "", check.ProductionApp, ""},
		{`role = "production-app"`, `role = "Development"`, "", check.Development, ""},
		{`role = "production-app"`, `store = "sqlite:x"`, "", check.ProductionApp, ""},
		{`role = "production-app"`, "", "--role=development", check.Development, ""},
		{`# role = "production-app"`, "", "", check.ProductionDB, ""},
		{`role = "prodution-app"`, "", "", "", "did you mean production-app?"},
		{`role = "dba"`, "", "", "", `host.toml: role "dba": expected production-db, `},
		{"\nrolle = \"development\"", "", "", "", "line 2: there is no key rolle; did you mean role?"},
		{"role = development", "", "", "", "line 1: "},
		{"role = 5", "", "", "", "line 1: role takes a text in quotes"},
	} {
		file, _ := configured(t, c.host, c.user)
		cmd, role := &cobra.Command{}, check.Role("")
		roleFlag(cmd, &role)
		testkit.OK(t, cmd.ParseFlags(strings.Fields(c.flag)))
		switch err := ownRole(cmd, &role); {
		case c.problem == "" && (err != nil || role != c.want):
			t.Errorf("%q %q %s: %s, %v", c.host, c.user, c.flag, role, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) ||
			!strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q: %v", c.host, err)
		}
	}
}

// A file that others may write to is refused, the user's as well as the host's.
func TestConfigOfOthers(t *testing.T) {
	host, user := configured(t, `role = "production-app"`, `store = "sqlite:x"`)
	for _, file := range []string{host, user} {
		testkit.OK(t, os.Chmod(file, 0o666))
		if _, err := readConfig(); err == nil || strings.Count(err.Error(), file) != 1 {
			t.Errorf("%s: %v", file, err)
		}
		testkit.OK(t, os.Chmod(file, 0o600))
	}
}

// A home that may not be looked into has no file; the host's own file has to be read.
func TestConfigInAHiddenHome(t *testing.T) {
	host, user := configured(t, "", "")
	hidden := &fs.PathError{Op: "lstat", Path: user, Err: syscall.EACCES}
	if !noConfig(user, hidden) || noConfig(host, hidden) || !noConfig(host, fs.ErrNotExist) || noConfig(user, nil) {
		t.Error("a hidden file counts as one that is there, or the host's as none")
	}
}

// The store is that of --store, else of the environment, else of a file.
func TestStoreAddress(t *testing.T) {
	configured(t, `store = "sqlite:host"`, "")
	o := fleetOptions{}
	t.Setenv(storeVariable, "")
	for _, c := range []struct{ flag, variable, want string }{
		{"", "", "sqlite:host"}, {"", "sqlite:variable", "sqlite:variable"}, {"sqlite:flag", "sqlite:variable", "sqlite:flag"}} {
		o.store = c.flag
		t.Setenv(storeVariable, c.variable)
		if got, usual, err := o.address(); err != nil || usual || got != c.want {
			t.Errorf("%+v: %s, %t, %v", c, got, usual, err)
		}
	}
}

// Each variable of the environment that hostlab heeds is described in the help of the commands that do, in 80 columns.
func TestEnvironmentIsDescribed(t *testing.T) {
	for _, v := range variables {
		of := append([]string{""}, v.of...)
		for _, name := range of {
			var out bytes.Buffer
			args := append(strings.Fields(name), "--help")
			if status := run(t.Context(), args, streams{nil, &out, &out}); status != exitOK {
				t.Fatal(status, out.String())
			}
			_, text, _ := strings.Cut(out.String(), "\nEnvironment:\n")
			if !strings.Contains(text, "  "+v.name+" ") {
				t.Errorf("hostlab %s --help does not describe %s", name, v.name)
			}
		}
	}
	for _, name := range []string{"workload scanlock", "workload list", "version", "settings"} {
		var out bytes.Buffer
		if run(t.Context(), append(strings.Fields(name), "--help"), streams{nil, &out, &out}); strings.Contains(out.String(), "Environment:") {
			t.Errorf("hostlab %s heeds no variable, and its help names some:\n%s", name, out.String())
		}
	}
}

// Help names no file of the documentation that the packages do not install.
func TestPagesAreInstalled(t *testing.T) {
	packages := testkit.Must(os.ReadFile("../../deploy/package/nfpm.yaml"))(t)
	for _, want := range []string{"docs/*.md, dst: " + manualDir, "docs/schema/*.json, dst: " + manualDir + "schema/"} {
		testkit.Has(t, string(packages), want)
	}
	seen := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, word := range strings.Fields(c.Long) {
			if strings.HasPrefix(word, "docs/") {
				t.Errorf("%s: %s is installed nowhere", c.CommandPath(), word)
			}
			name, is := strings.CutPrefix(word, manualDir)
			if name = strings.TrimRight(name, ".,;:)"); !is || name == "" {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join("../../docs", name)); err != nil {
				t.Errorf("%s: %v", c.CommandPath(), err)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(streams{}))
	if seen < 4 {
		t.Errorf("only %d pages are named", seen)
	}
}

// A word is taken in any letters, a slip is named, and what is far from all is not.
func TestWords(t *testing.T) {
	for _, c := range []struct{ flag, typed, want, problem string }{
		{"role", "production-db", "production-db", ""},
		{"role", " Development ", "development", ""},
		{"role", "production-bd", "", `--role "production-bd": expected production-db, production-app, development; did you mean production-db?`},
		{"role", "prodution-app", "", "did you mean production-app?"},
		{"role", "xyz", "", `--role "xyz": expected production-db, production-app, development`},
		{"fail-on", "HIGH", "high", ""},
		{"fail-on", "info", "info", ""},
		{"fail-on", "hihg", "", `--fail-on "hihg": expected info, low, medium, high; did you mean high?`},
	} {
		var role check.Role
		var failOn string
		cmd := &cobra.Command{}
		choiceFlag(cmd, &role, "role", "", "", check.Roles)
		choiceFlag(cmd, &failOn, "fail-on", "", "", check.Severities)
		err := cmd.ParseFlags([]string{"--" + c.flag + "=" + c.typed})
		got := string(role) + failOn
		switch {
		case c.problem == "" && (err != nil || got != c.want):
			t.Errorf("%q: %q, %v", c.typed, got, err)
		case c.problem != "" && (err == nil || strings.Contains(err.Error(), "did you mean") != strings.Contains(c.problem, "did you mean") || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q: error %v, want %s", c.typed, err, c.problem)
		}
	}
}
