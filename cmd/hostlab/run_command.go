package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/lazyre"
)

// commandStudy is a study that the command line holds whole: a command, and the levels that {level} stands for in it.
type commandStudy struct {
	argv   []string // nil: none
	levels string   // with commas between them
	better string   // of what decides: lower of the elapsed time, higher of the number that the command prints last
	save   string   // file to keep it in; "": none
}

// The values of --better.
const (
	lower  = "lower"
	higher = "higher"
)

func (c *commandStudy) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.levels, "levels", "",
		"`LIST` of what {level} stands for in the command after --, such as 1,6; the first is the baseline")
	choiceFlag(cmd, &c.better, "better", lower,
		"what decides of the command after --: the time it takes (lower), or the number that its output ends with (higher)",
		[]string{lower, higher})
	f.StringVar(&c.save, "save-study", "", "keep the study of the command after -- in a new `FILE`, to edit and run it")
	cobra.CheckErr(cmd.MarkFlagFilename("save-study", "toml"))
}

// take finds what stands after --, and the mistakes in it. It returns the study that is named before it.
func (c *commandStudy) take(cmd *cobra.Command, args []string) (named []string, err error) {
	named = args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		named, c.argv = args[:dash], args[dash:]
	}
	if c.argv == nil {
		for _, flag := range []string{"levels", "better", "save-study"} {
			if cmd.Flags().Changed(flag) {
				return nil, usagef("--%s is for a command: hostlab run --levels 1,6 -- gzip -{level} --keep FILE", flag)
			}
		}
		return named, takes(0, 1, "one study")(cmd, named)
	}
	switch {
	case len(named) > 0:
		return nil, usagef("a study and a command after -- exclude each other; give one")
	case len(c.argv) == 0:
		return nil, usagef("no command after --; write, for example: hostlab run --levels 1,6 -- gzip -{level} --keep FILE")
	case len(c.argv) == 1 && strings.Contains(c.argv[0], " "):
		return nil, usagef("the command after -- is one word, and hostlab starts no shell; write the words apart: hostlab run --levels %s -- %s",
			cmp.Or(c.levels, "1,6"), c.argv[0])
	case c.levels != "" && slices.Contains(c.list(), ""):
		return nil, usagef("--levels %q: a level is empty; write them as in --levels 1,6", c.levels)
	case c.twice() != "":
		return nil, usagef("--levels has %s twice: name two or more that differ", c.twice())
	case c.levels == "":
		return nil, usagef("--levels is missing: what {level} stands for in the command, such as --levels 1,6")
	}
	return nil, nil
}

func (c *commandStudy) list() []string {
	out := strings.Split(c.levels, ",")
	for i, l := range out {
		out[i] = strings.TrimSpace(l)
	}
	return out
}

// twice is a level that --levels has twice; "": none.
func (c *commandStudy) twice() string {
	list := c.list()
	for i, l := range list {
		if slices.Contains(list[:i], l) {
			return l
		}
	}
	return ""
}

// notName is what a study's name cannot hold.
var notName = lazyre.New(`[^A-Za-z0-9_-]+`)

// last is the number that an output ends with.
const last = `regex:(?:^|\s)([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*$`

func (c *commandStudy) source() ([]byte, error) {
	type table map[string]any
	type factor struct {
		Name      string   `toml:"name"`
		Parameter string   `toml:"parameter"`
		Levels    []string `toml:"levels"`
	}
	type response struct {
		Name    string  `toml:"name"`
		Title   string  `toml:"title,omitempty"`
		From    string  `toml:"from,omitempty"`
		Unit    *string `toml:"unit,omitempty"`
		Better  string  `toml:"better,omitempty"`
		Primary *bool   `toml:"primary,omitempty"`
	}
	study := struct {
		Study    table      `toml:"study"`
		Factor   []factor   `toml:"factor"`
		Workload table      `toml:"workload"`
		Response []response `toml:"response"`
	}{Study: table{"name": c.name()}, Factor: []factor{{"level", "level", c.list()}}}
	run := []string{}
	for _, word := range c.argv { // any other brace is the command's own
		run = append(run, strings.ReplaceAll(strings.ReplaceAll(word, "{", "{{"), "{{level}", "{level}"))
	}
	study.Workload = table{"name": "command", "run": run}
	study.Response = []response{{Name: "wall"}, {Name: "cpu"}}
	if c.better == higher {
		printed := response{Name: experiment.Printed, Title: "The number that the command prints last", From: last,
			Unit: new(string), Better: higher}
		study.Response = append([]response{printed}, study.Response...)
	}
	return toml.Marshal(study)
}

// name is the command's, as a study may be called.
func (c *commandStudy) name() string {
	name := strings.Trim(notName.ReplaceAllString(filepath.Base(c.argv[0]), "-"), "-_0123456789")
	if name == "" {
		return "command"
	}
	return name[:min(len(name), 64)]
}

// study reads it, and keeps it where that is asked for.
func (c *commandStudy) study(over experiment.Overrides) (*experiment.Study, error) {
	source, err := c.source()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	st, err := experiment.Parse(experiment.CommandLine, dir, source, over, runner.Known())
	if bad, ok := errors.AsType[*experiment.Problems](err); ok {
		for i := range bad.List {
			bad.List[i].Line = 0 // of a file that nobody sees
		}
	}
	if err != nil || c.save == "" {
		return st, err
	}
	if err := checkWritable("save-study", c.save); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(c.save); !errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--save-study %s: it is there already; name a new file", c.save)
	}
	return st, writeFile(c.save, func(f *os.File) error {
		_, err := fmt.Fprintf(f, "#:schema ./study.schema.json\n%s", source)
		return err
	})
}
