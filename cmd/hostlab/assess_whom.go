package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"hostlab/internal/explain/connect"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
	"hostlab/internal/trust"
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
		o.trouble = demo.Trouble(spec.Name)
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
