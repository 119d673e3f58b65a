package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/screen"
)

// predictFlags is what was asked for, as it was typed.
type predictFlags struct {
	host, workload, baseline string
	domain                   model.Scope
	policies, loads          []string
	replications, users      int
	seed                     uint64
	show                     string
	sweep, both, all         bool
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
  hostlab predict --show workload > mine.toml
  hostlab predict --workload mine.toml --policy balanced-rs1,PERFCHECK=30ms
  hostlab predict --host this --sweep --out map.html
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
	f.BoolVar(&o.sweep, "sweep", false, "also map the first policy over loads and slice lengths")
	f.BoolVar(&o.all, "all", false, "print all that was simulated, instead of one screen")
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
