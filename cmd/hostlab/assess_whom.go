package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/assess"
	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

// behindDemo is what probes take after the demo: it is at rest then, and all of it is to be seen in 75 s.
const behindDemo = 11 * time.Second

// whom finds the mistakes in the service that was asked for.
func (o *assessOptions) whom() error {
	most := mostWatch
	switch o.only {
	case "":
	case "service":
		if o.OnlyService, most = true, mostAlone; o.LogDir != "" {
			return usagef("--log-dir is of no use with --only service, which measures no device")
		}
	default:
		return usagef("--only %s: expected service; 'hostlab check' looks at the host alone", o.only)
	}
	if o.For < leastWatch || o.For > most {
		return usagef("--for %s: expected 1s to %.0fh", o.For, most.Hours())
	}
	spec, err := service.Parse(o.Service)
	if err != nil {
		return usagef("--service %w", err)
	}
	if spec.Kind == service.Demo {
		o.Behind = min(o.Behind, behindDemo)
		o.trouble = demo.Trouble()
	}
	text, err := o.source()
	if text == "" || err != nil {
		return err
	}
	if o.Server, err = connect.Parse(text); err != nil {
		return usageError{err}
	}
	switch {
	case o.dsn != "" && o.Server.HasPassword():
		return usagef(
			"--dsn has a password, which everyone on this host would see in the list of processes; leave it out: it can "+
				"be in %s", o.Server.PasswordPlaces())
	case o.Service != string(service.Auto) && text != os.Getenv(dsnVariable):
		return usagef("--service %s and --dsn both name a service; give one", o.Service)
	case o.Service != string(service.Auto):
		o.Server = nil
	}
	return nil
}

// sameFile reports whether two names lead to one file, by links too. One that is not
// there is no other.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// source is the DSN, from wherever it was given; "": it was not.
func (o *assessOptions) source() (string, error) {
	switch {
	case o.dsn != "" && o.dsnFile != "":
		return "", usagef("--dsn and --dsn-file both name a server; give one")
	case o.dsn != "":
		return o.dsn, nil
	case o.dsnFile != "":
		b, err := readSecret(o.dsnFile)
		if refused, ok := errors.AsType[*trust.Refused](err); ok {
			return "", usagef("--dsn-file %w", refused)
		}
		if err != nil {
			return "", usagef("--dsn-file %s: %w", o.dsnFile, plain(err))
		}
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				return line, nil
			}
		}
		return "", usagef("--dsn-file %s holds no DSN", o.dsnFile)
	}
	return os.Getenv(dsnVariable), nil
}

// readSecret reads a file that nobody else may read, and of a longer one no more than any
// DSN has.
func readSecret(path string) ([]byte, error) {
	f, err := trust.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Secret(f); err != nil {
		return nil, err
	}
	return trust.File(f, 64<<10)
}

// cannotTry says why studies that a report might name cannot run on the watched service here. Nothing is changed.
func cannotTry(ctx context.Context, m *assess.Minute) map[string]string {
	why := map[string]string{}
	try := func(study string, over experiment.Overrides) {
		if err := canRun(ctx, study, over); err != nil {
			why[study] = screen.OneLine(err)
		}
	}
	try("log-device", experiment.Overrides{})
	name, studies := m.OnService()
	if m.Service.Kind == service.Database { // of several of one name, the one that was watched
		name = fmt.Sprintf("pid:%d", m.Service.PID)
	}
	for _, s := range studies {
		try(s, experiment.Overrides{Set: map[string]string{"workload.service": name}})
	}
	return why
}

func canRun(ctx context.Context, study string, over experiment.Overrides) error {
	st, err := experiment.Find(study, over, runner.Known())
	if err == nil {
		err = needs(ctx, st)
	}
	if err == nil {
		err = runner.CheckLevels(ctx, st)
	}
	if err == nil {
		_, err = experiment.Fit(st, workload.Machine{}, runner.Look)
	}
	return err
}

// completeServices offers what runs here, and how others are named.
func completeServices(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	list := []string{"auto", "none", "demo", "pid:", "cgroup:", "unit:", "pod:", "container:"}
	for _, d := range host.Servers(cmd.Context()) {
		if d.PID > 0 {
			list = append(list, cobra.CompletionWithDesc(fmt.Sprintf("pid:%d", d.PID),
				strings.TrimSpace(d.Product()+" "+screen.Clean(d.DataDir.Or("")))))
		}
	}
	return slices.Concat(list, service.Units(), service.Pods()), cobra.ShellCompDirectiveNoFileComp |
		cobra.ShellCompDirectiveNoSpace
}
