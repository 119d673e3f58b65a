package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hostlab/internal/screen"
)

// logged is the least level of what the process logs.
var logged slog.LevelVar

// newRoot builds the command tree. Commands are listed here, explicitly.
func newRoot(std streams) *cobra.Command {
	var verbose int
	var procRoot string
	root := &cobra.Command{
		Use:   "hostlab",
		Short: "What do this platform's settings cost, and what should change?",
		Long: `hostlab measures what CPUs, clock, disks and settings cost a database or an
application server, and says what to change. It watches the service that runs
here, checks this host's settings for its role, and tries changes on any command
until the answer is certain. It predicts what power policies would cost, before
you touch production.

Only set, revert, run and, on a server that you name, workload change anything.
set, run and workload ask first, or need --yes, and settings can be restored.
The others write only the files that you name, fleet its store, and assess its
report. assess and watch --probe-commits also write small files to time commits.
You need no root to look: hostlab names what it could not see.

Exit status:
  0    done, whatever was found
  1    failed on the way; set, revert: a value is not set or not restored
  2    a flag, argument or file cannot be used
  3    there is nothing to inspect: /proc and /sys are missing
  4    run: waits for a reboot or a person; resume it then
  130  interrupted
  141  broken pipe, as in | head
With --exit-status, a verdict is a status too:
  10   check: findings at or above --fail-on; verify: a value is not as it was
       set; report: an effect beyond its margin; watch --from: CPUs left out;
       fleet rollout gate: harm
  11   report, watch --from, fleet rollout gate: undecided

` + filesText(),
		Example: `  hostlab assess                          # the whole answer, in 90 s
  hostlab check --role production-app     # settings only, for scripts
  hostlab facts --format json | jq .frequency
  hostlab run gzip-level                  # an experiment; 'study list' has more
  hostlab predict                         # power policies, simulated
  hostlab set governor=performance        # and 'hostlab revert' puts it back
  hostlab watch                           # what each CPU does, live`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			logged.Set(max(slog.LevelWarn-slog.Level(4*verbose), slog.LevelDebug))
			if err := notEmpty(cmd); err != nil || procRoot == "" {
				return err
			}
			return onHost(procRoot)
		},
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.PersistentFlags().CountVarP(&verbose, "verbose", "v", "log each step to stderr (-vv: everything)")
	root.PersistentFlags().StringVar(&procRoot, "proc-root", "",
		"in a privileged container: look at the host whose /proc is mounted at `DIR`; files are the host's, relative paths begin at its /")
	cobra.CheckErr(root.MarkPersistentFlagDirname("proc-root"))
	root.PersistentFlags().BoolP("quiet", "q", false, "no progress and no notes: only the answer, and what goes wrong")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if own, ok := errors.AsType[usageError](err); ok {
			return own
		}
		return usagef("%s (try '%s --help')", flagError(cmd, err), cmd.CommandPath())
	})
	group(root,
		newAssess(std),
		newFacts(std),
		newCheck(std),
		newPredict(std),
		newRun(std),
		newStudy(std),
		newWorkload(std),
		newReport(std),
		newSettings(std),
		newSet(std),
		newRevert(std),
		newVerify(std),
		newExport(std),
		newWatchCommand(std),
		newFleet(std),
		newVersion(std),
		newMan(),
	)
	root.AddCommand(elsewhere("hostlab", [][2]string{{"explain", "assess --only service"},
		{"record", "assess --bursts FILE"},
		{"scanlock", "workload scanlock"}, {"explain-check", "check --explain ID"}})...)
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		group(c)
		for _, shell := range c.Commands() { // cobra's own texts have 81 columns (v1.10.2)
			shell.Args = noArgs
			shell.Long = strings.ReplaceAll(shell.Long, "via your OS's", "by your OS's")
			if shell.Name() == "bash" {
				completeAlone(shell, std)
			}
		}
	}
	root.DisableFlagsInUseLine = true
	describeEnvironment(root)
	// cobra's own template is wider than 80 columns (v1.10.2).
	narrow := strings.NewReplacer(".FlagUsages ", ".FlagUsagesWrapped 80 ", " for more information about a command",
		" for more")
	root.SetUsageTemplate(narrow.Replace(root.UsageTemplate()))
	root.Version = versionText()
	root.Flags().BoolP("version", "V", false, "print the version")
	return root
}

// grouping marks a command that only holds others.
const grouping = "group"

// group is a command that holds others, and prints its help without one of them.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{grouping: "yes"}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	for _, c := range commands {
		c.DisableFlagsInUseLine = true
	}
	return cmd
}

// unknownCommand is the error of a word where a command of a group was expected; nil: there is none.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if cmd.Annotations[grouping] == "" || len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	hint := "; '" + cmd.CommandPath() + " --help' lists all"
	if near := meant(args[0], known); near != "" {
		hint = near
	}
	return usagef("%s has no command %q%s", cmd.CommandPath(), screen.Short(screen.Clean(args[0])), hint)
}

// elsewhere are words that people may expect to be commands of a group, and what has it.
func elsewhere(group string, words [][2]string) (list []*cobra.Command) {
	for _, c := range words {
		list = append(list, &cobra.Command{Use: c[0], Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usagef("%s has no command %q: type 'hostlab %s'", group, c[0], c[1])
			}})
	}
	return list
}

// newHelp prints the help of a command; of one that there is not, cobra's own would print that of all and end well.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		Long: `help prints what COMMAND --help prints.

Exit status: 0 done, 2 no such command.`,
		Example:               `  hostlab help fleet status`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if of == nil {
				return usageError{err}
			}
			if err := unknownCommand(of, rest); err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// flagError says what is wrong with a flag, with the nearest known one of an unknown.
func flagError(cmd *cobra.Command, err error) string {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		if near := screen.Meant(missing.GetSpecifiedName(), known); near != "" {
			return err.Error() + "; did you mean --" + near + "?"
		}
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f, want := wrong.GetFlag(), ""
		bad, number := errors.AsType[*strconv.NumError](err)
		switch kind := f.Value.Type(); {
		case kind == "duration":
			want = "expected a time such as 500ms, 30s, 5m or 1h30m"
		case kind == "bool":
			want = "expected true or false"
		case number && errors.Is(bad, strconv.ErrRange):
			want = "beyond the numbers that it takes"
		case number && strings.HasPrefix(kind, "uint"):
			want = "expected a whole number, 0 or more"
		case number:
			want = "expected a whole number"
		}
		if want != "" {
			return fmt.Sprintf("--%s %q: %s", f.Name, screen.Short(screen.Clean(wrong.GetValue())), want)
		}
	}
	return err.Error()
}

// takes requires some arguments, at least and at most so many (-1: any number), and says what they are.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return usagef("%s takes %s; '%s --help' shows how", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// noArgs is for commands without any below them, of which cobra's own would say that
// they do not know the command. What was given is not quoted: it may be a DSN.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if cmd.Flags().Lookup("dsn") != nil {
		hint = ", a server as --dsn NAME"
	}
	return usagef("%s takes flags only%s; '%s --help' lists them", cmd.CommandPath(), hint, cmd.CommandPath())
}
