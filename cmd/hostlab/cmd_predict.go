package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// predictFlags is what was asked for, as it was typed.
type predictFlags struct {
	host, workload, baseline string
	domain                   model.Scope
	policies, loads          []string
	replications, users      int
	seed                     uint64
	show                     string
	both, all                bool
	out                      printing
}

func newPredict(std streams) *cobra.Command {
	var o predictFlags
	cmd := &cobra.Command{
		Use:   "predict [flags]",
		Short: "What a power policy would cost a workload, simulated",
		Long: `predict simulates a workload on a host under power policies and compares each
with a baseline: step time, CPU seconds, throughput, processor performance and
energy. It says from which load on the policy does not matter, and which unknown
parameter the answer depends on most. It measures nothing and changes nothing.
All figures are simulated, with the interval over replications.

` + paragraph("Host: 'this' uses the facts of this host. A guest hides its P-states; predict assumes what is hidden, and says so. You can also "+
			"give a recording of 'facts --save', a host file (TOML) or a built-in host: "+strings.Join(modelMachines(), ", ")+".") + `

` + paragraph("Workload: a built-in one ("+strings.Join(modelWorkloads(), ", ")+"), a workload file (TOML), or a record of burst and idle "+
			"lengths of CPUs (JSON lines). Built-in ones run on the host they were published for, unless you give --host. With --load, "+
			"the bursts of a record arrive at random at that load; without it, each CPU replays its own load. 'watch --save' records "+
			"no bursts, so predict cannot use its files.") + `

Policy: NAME, or NAME,KEY=VALUE,... with the policy's own parameter names.
  ` + policyNames() + `
hwp and amd-pstate-epp choose the clock in hardware: predict gives only bounds.

Without --policy, predict compares the governors that a Linux host's driver
offers, the current one first. On a Windows host it compares the power plans; on
a built-in host or a host file, both. --both adds those of the other system. In
a guest without cpufreq, the hypervisor's host decides. predict then says so
first, and what to ask the owner of that host.

predict prints one screen, or everything with --all.

--show host and --show workload print a file with all keys and comments, for you
to change. With --host or --workload, they print that one.

Exit status: 0 done, 1 failed on the way, 2 unusable flag or file, 3 nothing to
inspect, 130 interrupted.`,
		Example: `  hostlab predict                                      # this host, SAP dialog
  hostlab predict --workload sap-dialog --policy balanced --load 5%
  hostlab predict --show workload --out mine.toml
  hostlab predict --workload mine.toml --policy balanced-rs1,PERFCHECK=30ms
  hostlab predict --host this --out answer.html
  hostlab predict --workload sap-extract --format json | jq '.cells[0]'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPredict(cmd, std, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "",
		"`HOST`: this (its facts), a recording, a host file or a built-in name (default: the workload's)")
	f.StringVar(&o.workload, "workload", "sap-dialog",
		"`WORKLOAD`: a workload file, a record of bursts, or a built-in name")
	f.StringArrayVar(&o.policies, "policy", nil,
		"`POLICY` to compare with the baseline (may be repeated; default: those of the host's system)")
	f.BoolVar(&o.both, "both", false, "also compare the policies of the other system, Linux or Windows")
	f.StringArrayVar(&o.loads, "load", nil,
		"`LOAD` of an open workload, as 5% or 0.05 (may be repeated; default 5%, 20%, 50%, 70%, 95%)")
	f.StringVar(&o.baseline, "baseline", "",
		"`POLICY` to compare with (default: performance, or high-performance if a Windows plan is compared)")
	choiceFlag(cmd, &o.domain, "domain", "", "which CPUs share one frequency, in place of the host's", model.Scopes())
	f.IntVar(&o.users, "users", 0, "simulate this many users of a dialog workload (closed loop), in place of --load")
	f.IntVar(&o.replications, "replications", predict.Replications, "`N` independent replications, at least 2")
	f.Uint64Var(&o.seed, "seed", 1, "seed `number` of the simulation")
	f.BoolVar(&o.all, "all", false, "print all that was simulated, instead of one screen")
	o.out.ending = ".toml" // of --show
	o.out.flags(cmd, std, tableForms)
	choiceFlag(cmd, &o.show, "show", "", "print a file to start from instead of predicting", []string{"host", "workload"})
	complete := func(flag string, words []string) {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault)))
	}
	complete("host", append([]string{"this"}, modelMachines()...))
	complete("workload", modelWorkloads())
	complete("policy", model.PolicyNames())
	complete("baseline", model.PolicyNames())
	return cmd
}

func runPredict(cmd *cobra.Command, std streams, o *predictFlags) error {
	if o.show != "" {
		return showCase(cmd, std, o)
	}
	q, err := o.question(cmd)
	if err != nil {
		return err
	}
	a, err := answer(cmd.Context(), std, q, quiet(cmd))
	if err != nil {
		return err
	}
	d := a.Document()
	d.When = time.Now().UTC()
	return o.out.each(std, func(w io.Writer, form string) error {
		if form == "text" && !o.all {
			return writeScreen(w, a.Brief())
		}
		return writeDocument(w, d, form)
	})
}

// answer asks the model, with a line of progress on a terminal. Whatever it refuses
// is a mistake of the question, other than an interruption.
func answer(ctx context.Context, std streams, q predict.Question, quiet bool) (*predict.Answer, error) {
	p, began := newProgress(std.err, quiet, 0), time.Now()
	defer p.clear()
	a, err := predict.Ask(ctx, q, func(title string) { // how long the rest takes cannot be known before
		p.line(fmt.Sprintf("  simulating, %.0f s so far: %s", time.Since(began).Seconds(), title))
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, usageError{err}
	}
	return a, nil
}

// paragraph is text for a help of 80 columns, where names in it come from elsewhere.
func paragraph(text string) string { return strings.Join(screen.Wrap(text, 80), "\n") }

func modelMachines() []string {
	return names(model.Machines(), func(m model.Machine) string { return m.Name })
}

func modelWorkloads() []string {
	return names(model.Workloads(), func(w model.Workload) string { return w.Name })
}

// largestRecord bounds what is read as a workload: a day of a large host in bursts.
const largestRecord = 4 << 30

const largestHost = 1 << 20

// policyNames lists all policies for the help, in lines of its width.
func policyNames() string {
	list := append(model.PolicyNames(), "balanced (is balanced-rs1)")
	return strings.Join(screen.Wrap(strings.Join(list, ", "), 76), "\n  ")
}

func (o predictFlags) question(cmd *cobra.Command) (q predict.Question, err error) {
	q.Options = model.Options{Seed: o.seed, Replications: o.replications}
	if q.Workload, err = o.readWorkload(cmd); err != nil {
		return q, err
	}
	if q.Machine, err = o.readMachine(cmd, q.Workload.Name); err != nil {
		return q, err
	}
	for _, list := range o.loads {
		for text := range strings.SplitSeq(list, ",") {
			l, err := share("load", text)
			if err != nil {
				return q, err
			}
			q.Loads = append(q.Loads, l)
		}
	}
	if q, err = (predict.Asked{Question: q, Policies: o.policies, Baseline: o.baseline, All: o.both}).Read(); err != nil {
		return q, usageError{err}
	}
	return q, nil
}

func (o predictFlags) readWorkload(cmd *cobra.Command) (w predict.Workload, err error) {
	if found, err := model.FindWorkload(o.workload); err == nil {
		w = predict.BuiltInWorkload(found)
	} else {
		in, err := openInput("workload", o.workload, largestRecord, modelWorkloads())
		if err != nil {
			return w, err
		}
		defer in.Close()
		if w, err = predict.ReadWorkload(o.workload, trust.Reader(in, largestRecord), len(o.loads) == 0); err != nil {
			return w, usageError{err}
		}
	}
	if cmd.Flags().Changed("users") {
		if w, err = w.Close(o.users); err != nil {
			return w, usagef("--users %d: %w", o.users, err)
		}
	}
	return w, nil
}

// readMachine finds the host: this one, a built-in one by its name or that of the
// workload it belongs to, a recording or a host file.
func (o predictFlags) readMachine(cmd *cobra.Command, workload string) (m predict.Machine, err error) {
	name := o.host
	if name == "" {
		name = "this"
		// A published workload is asked about where it was measured.
		if home := model.HomeMachine(workload); home != "" && cmd.Flags().Changed("workload") {
			name = home
		}
	}
	if home := model.HomeMachine(name); home != "" {
		name = home
	}
	if found, err := model.FindMachine(name); err == nil {
		m = predict.BuiltIn(found)
	} else if m, err = hostMachine(cmd, name); err != nil {
		return m, err
	}
	if cmd.Flags().Changed("domain") {
		m = m.WithDomain(o.domain)
	}
	return m, nil
}

func hostMachine(cmd *cobra.Command, name string) (m predict.Machine, err error) {
	info, statErr := os.Stat(name)
	recording := statErr == nil && (info.IsDir() || strings.HasSuffix(name, ".txtar"))
	if name != "this" && !recording {
		in, err := openInput("host", name, largestHost, append(modelMachines(), "this"))
		if err != nil {
			return m, err
		}
		defer in.Close()
		data, err := trust.File(in, largestHost)
		if err != nil {
			return m, usagef("--host %s: %w", name, plain(err))
		}
		if m, err = predict.ReadMachine(name, data); err != nil {
			return m, usageError{err}
		}
		return m, nil
	}
	from, called := machine{}, "this host"
	if recording {
		from, called = machine{root: name, flag: "--host"}, filepath.Base(name)
	}
	facts, err := from.collect(cmd.Context(), "path")
	if err != nil {
		return m, err
	}
	if m, err = predict.FromFacts(facts, called); err != nil {
		return m, usagef("--host %s: %w", name, err)
	}
	m.This = !recording
	return m, nil
}

// openInput opens a file that a flag names; a word that is no file may be a slip in
// a name.
func openInput(flag, name string, most int64, known []string) (*os.File, error) {
	info, err := os.Stat(name)
	if len(known) > 0 && errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\`) {
		return nil, usagef("--%s %q: there is no such file, and the built-in names are %s%s", flag, name,
			strings.Join(known, ", "), meant(name, known))
	}
	switch {
	case err != nil:
		return nil, usagef("--%s %s: %w", flag, name, plain(err))
	case info.IsDir():
		return nil, usagef("--%s %s is a directory; name a file", flag, name)
	case info.Size() > most:
		return nil, usagef("--%s %s: expected at most %d MiB", flag, name, most>>20)
	}
	in, err := openNamed(name)
	if err != nil {
		return nil, usagef("--%s %s: %w", flag, name, plain(err))
	}
	return in, nil
}

// showCase prints a file to start from.
func showCase(cmd *cobra.Command, std streams, o *predictFlags) error {
	var (
		out  []byte
		rows []predict.Assumption
	)
	switch {
	case o.show == "host" && o.host == "":
		out = []byte(predict.MachineTemplate)
	case o.show == "host":
		m, err := o.readMachine(cmd, "")
		if err != nil {
			return err
		}
		if out, err = toml.Marshal(m.Machine); err != nil {
			return err
		}
		rows = m.Assumptions
	case !cmd.Flags().Changed("workload"):
		out = []byte(predict.WorkloadTemplate)
	default:
		w, err := o.readWorkload(cmd)
		if err != nil {
			return err
		}
		if out, err = toml.Marshal(w.Workload); err != nil {
			return err
		}
		rows = w.Assumptions
	}
	var b bytes.Buffer
	for _, r := range rows {
		fmt.Fprintf(&b, "# assumed: %s = %s: %s\n", screen.Clean(r.Name), screen.Clean(r.Value), screen.Clean(r.Source))
	}
	b.Write(out)
	return o.out.each(std, func(w io.Writer, form string) error {
		if form != "text" {
			return usagef("--show prints a file of TOML alone")
		}
		_, err := w.Write(b.Bytes())
		return err
	})
}
