package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

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

// variables are those of the environment that hostlab heeds, each with the commands that do; none: all. One that stands
// for a flag is heeded by those that have it.
var variables = []struct {
	name, about string
	of          []string
	flag        string
}{
	{dsnVariable, "DSN of a database; it may hold a password", []string{"assess", "run", "workload"}, ""},
	{storeVariable, "address of the store, in place of --store", []string{"fleet"}, "store"},
	{"HOSTLAB_PG_BIN", "directory of PostgreSQL's programs, for servers of its own", []string{"run", "workload"}, ""},
	{"XDG_STATE_HOME", "for reports, records and journals (~/.local/state)",
		[]string{"assess", "run", "set", "revert", "verify", "fleet"}, ""},
	{"XDG_CONFIG_HOME", "for hostlab/config.toml (~/.config)", []string{"assess", "check", "fleet"}, ""},
	{"NO_COLOR", "if not empty: no colours on a terminal", nil, ""},
}

// describeEnvironment adds to the help of each command what it heeds of the environment.
func describeEnvironment(root *cobra.Command) {
	describe := func(c *cobra.Command, words func(of []string) bool) {
		var lines []string
		for _, v := range variables {
			if words(v.of) && (v.flag == "" || c.HasSubCommands() || c.Flags().Lookup(v.flag) != nil) {
				lines = append(lines, fmt.Sprintf("  %-16s %s", v.name, v.about))
			}
		}
		if len(lines) > 0 && c.Long != "" {
			c.Long += "\n\nEnvironment:\n" + strings.Join(lines, "\n")
		}
	}
	describe(root, func([]string) bool { return true })
	var walk func(name string, c *cobra.Command)
	walk = func(name string, c *cobra.Command) {
		describe(c, func(of []string) bool { return slices.Contains(of, name) })
		for _, sub := range c.Commands() {
			walk(name, sub)
		}
	}
	for _, c := range root.Commands() {
		walk(c.Name(), c)
	}
}
