package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// largestRecord bounds what is read as a workload: a day of a large host in bursts.
const largestRecord = 4 << 30

const largestHost = 1 << 20

// policyNames lists all policies for the help, in lines of its width.
func policyNames() string {
	list := append(model.PolicyNames(), "balanced (is balanced-rs1)")
	return strings.Join(screen.Wrap(strings.Join(list, ", "), 76), "\n  ")
}

func (o predictFlags) question(cmd *cobra.Command) (q predict.Question, err error) {
	q.Sweep, q.Options = o.sweep, model.Options{Seed: o.seed, Replications: o.replications}
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
	_, err := std.out.Write(b.Bytes())
	return err
}
