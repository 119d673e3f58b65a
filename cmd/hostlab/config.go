package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// config holds what a host or a user has settled, where flags and the environment do not.
type config struct {
	Role       string `toml:"role"`
	Store      string `toml:"store"`
	Exceptions string `toml:"exceptions"`
	roleFile   string // that has the role
}

// hostConfig is the file of this host; a variable, so that tests have one of their own.
var hostConfig = "/etc/hostlab/config.toml"

// configFiles are read in this order, and a key of a later one counts.
func configFiles() []string {
	list := []string{hostConfig}
	if runtime.GOOS == "windows" {
		return []string{`%AppData%\hostlab\config.toml`}
	}
	return append(list, "~/.config/hostlab/config.toml")
}

// readConfig reads this host's file and this user's.
func readConfig() (c config, _ error) {
	files := []string{hostConfig}
	if dir, err := os.UserConfigDir(); err == nil { // service users have none
		files = append(files, filepath.Join(dir, "hostlab", "config.toml"))
	}
	for _, file := range files {
		data, err := readTrusted(file)
		if noConfig(file, err) {
			continue
		}
		if r, ok := errors.AsType[*trust.Refused](err); ok && r.Path == file { // which it names
			return c, usageError{err}
		}
		if err != nil {
			return c, usagef("%s: %w", file, plain(err))
		}
		before := c.Role
		if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&c); err != nil {
			return c, usagef("%s: %w", file, configError(err))
		}
		if c.Role != before || c.roleFile == "" {
			c.roleFile = file
		}
	}
	return c, nil
}

// noConfig reports that there is no such file. In a home that may not be looked into, as where runuser(1) keeps HOME,
// this user has none.
func noConfig(file string, err error) bool {
	return errors.Is(err, fs.ErrNotExist) || file != hostConfig && errors.Is(err, fs.ErrPermission)
}

// configError makes one line of an error of the TOML reader.
func configError(err error) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		key := strings.Join(strict.Errors[0].Key(), ".")
		return fmt.Errorf("line %d: there is no key %s%s; there are role, store and exceptions", line,
			screen.Short(screen.Clean(key)), meant(key, []string{"role", "store", "exceptions"}))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		if key := wrong.Key(); len(key) > 0 {
			return fmt.Errorf("line %d: %s takes a text in quotes", line, screen.Short(screen.Clean(strings.Join(key, "."))))
		}
		return fmt.Errorf("line %d: %s", line, screen.Clean(strings.TrimPrefix(wrong.Error(), "toml: ")))
	}
	return errors.New(screen.Clean(err.Error()))
}

// roleFlag adds --role to a command that judges a host.
func roleFlag(cmd *cobra.Command, role *check.Role) {
	choiceFlag(cmd, role, "role", check.ProductionDB, "what the host is for (also role in "+hostConfig+")", check.Roles)
}

// ownRole is the role of this host that a configuration names, unless --role was given.
func ownRole(cmd *cobra.Command, role *check.Role) error {
	if cmd.Flags().Changed("role") {
		return nil
	}
	c, err := readConfig()
	if err != nil || c.Role == "" {
		return err
	}
	if err := (&word[check.Role]{"", role, check.Roles}).choose(c.Role); err != nil {
		return usagef("%s: role %w", c.roleFile, err)
	}
	return nil
}

// exceptionsFile is read where none is named, if it is there.
const exceptionsFile = "/etc/hostlab/exceptions.toml"

// largestExceptions bounds the file: a thousand exceptions of some hundred bytes.
const largestExceptions = 1 << 20

// unnamed is the name of a host that has none, to patterns of exceptions.
const unnamed = "unknown host"

// exceptions is where accepted findings are read from. argument: the command has named the file, and no flag.
type exceptions struct {
	file     string
	argument bool
}

func (e *exceptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.file, "exceptions", "",
		"`FILE` of findings that you accept, each with a reason and a last day (default: that of config.toml, or "+
			exceptionsFile+", if it exists)")
	cobra.CheckErr(cmd.MarkFlagFilename("exceptions", "toml"))
}

// read returns the exceptions. A file that another user could have written is refused: it would hide findings.
func (e *exceptions) read() ([]check.Exception, error) {
	name, flag := e.file, "--exceptions"
	if e.argument {
		flag = "exceptions"
	}
	if name == "" {
		flag = "exceptions" // of a configuration, or the usual file
		c, err := readConfig()
		if err != nil {
			return nil, err
		}
		name = c.Exceptions
	}
	usual := name == ""
	if usual {
		name = exceptionsFile
	}
	data, err := readTrusted(name)
	refused, is := errors.AsType[*trust.Refused](err)
	switch {
	case is && refused.Path == name: // which it names
		return nil, usagef("%s %w", flag, refused)
	case usual && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usagef("%s %s: %w", flag, name, plain(err))
	}
	list, err := check.ReadExceptions(data)
	if err != nil {
		return nil, usagef("%s %s: %w", flag, name, err)
	}
	return list, nil
}

func readTrusted(name string) ([]byte, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(abs); err != nil {
		return nil, err
	}
	if err := trust.AsRoot(filepath.Dir(abs)); err != nil {
		return nil, err
	}
	f, err := trust.OpenRegular(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Ours(f); err != nil {
		return nil, err
	}
	return trust.File(f, largestExceptions)
}

// manualDir is where the packages install docs/.
const manualDir = "/usr/share/doc/hostlab/"

// page is where a page of docs/ is installed; Windows' zip has it beside the program.
func page(name string) string {
	if runtime.GOOS == "windows" {
		return `docs\` + strings.ReplaceAll(name, "/", `\`)
	}
	return manualDir + name
}

// filesText names the files that hostlab reads where they are, for the help of all.
func filesText() string {
	return `Files:
  ` + strings.Join(configFiles(), "\n  ") + `
        defaults: role = "production-app", store = "sqlite:/srv/fleet.db",
        exceptions = "FILE"; the last of these files counts. As root, hostlab
        reads only files that nobody but root can write.
  ` + exceptionsFile + `
        findings that you accept
  ` + page("") + `
        these pages: exceptions.md, rollout.md, glossary.md and more`
}

// variables are those of the environment that hostlab heeds, each with the commands that do: by name, or by a flag for
// which it stands. All heed one that names neither.
var variables = []struct {
	name, about string
	of, flags   []string
}{
	{dsnVariable, "DSN of a database; it may hold a password", []string{"assess", "run", "workload"}, nil},
	{storeVariable, "address of the store, in place of --store", []string{"fleet"}, []string{"store"}},
	{"HOSTLAB_PG_BIN", "directory of PostgreSQL's programs, for servers of its own", []string{"run", "workload"}, nil},
	{"XDG_STATE_HOME", "for reports, records and journals (~/.local/state)",
		[]string{"assess", "watch", "run", "set", "revert", "verify"}, []string{"store"}},
	{"XDG_CONFIG_HOME", "for hostlab/config.toml (~/.config)", []string{"assess", "check"}, []string{"store", "exceptions"}},
	{"NO_COLOR", "if not empty: no colours on a terminal", nil, nil},
}

// describeEnvironment adds to the help of each command what it heeds of the environment.
func describeEnvironment(c *cobra.Command) {
	_, name, below := strings.Cut(c.CommandPath(), " ")
	var lines []string
	for _, v := range variables {
		flagged := slices.ContainsFunc(v.flags, func(f string) bool { return c.Flags().Lookup(f) != nil })
		if !below || flagged || slices.Contains(v.of, name) {
			lines = append(lines, fmt.Sprintf("  %-16s %s", v.name, v.about))
		}
	}
	if len(lines) > 0 && c.Long != "" {
		c.Long += "\n\nEnvironment:\n" + strings.Join(lines, "\n")
	}
	for _, sub := range c.Commands() {
		describeEnvironment(sub)
	}
}
