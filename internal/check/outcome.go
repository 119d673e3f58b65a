package check

import (
	"fmt"

	"hostlab/internal/host"
)

// reading is one value that a check judges: where it was read, how it is shown,
// what is known of it and whether it is as it should be.
type reading struct {
	path    string
	value   string
	state   host.State
	bad     bool
	context bool // shown as evidence, but decides nothing
}

const noSource = "(no source recorded)"

// read judges a fact. A fact that nobody has looked at counts as absent.
func read[T any](f host.Fact[T], good func(T) bool) reading {
	return readAs(f, func(v T) string { return display(v, f.Unit) }, good)
}

// readAs is read with a form of its own for the value.
func readAs[T any](f host.Fact[T], show func(T) string, good func(T) bool) reading {
	r := reading{path: f.Source, state: f.State}
	if r.path == "" {
		r.path = noSource
	}
	switch f.State {
	case host.StateOK:
		r.value, r.bad = show(f.Value), !good(f.Value)
	case host.StateDenied:
		r.value = "denied"
	case host.StateError:
		r.value = "error: " + orElse(f.Reason, "no reason recorded")
	default:
		r.state, r.value = host.StateAbsent, "absent"
	}
	return r
}

// aside reads a fact that explains the others and decides nothing.
func aside[T any](f host.Fact[T]) reading {
	r := whole(f)
	r.context = true
	return r
}

// whole reads a fact that has no wrong value, but without which there is no answer.
func whole[T any](f host.Fact[T]) reading { return read(f, func(T) bool { return true }) }

// unknown reports that the value was there and could not be read.
func (r reading) unknown() bool {
	return r.state == host.StateDenied || r.state == host.StateError
}

// answers are the words of a check for each way it can end; unknown has none,
// since the reading itself says why.
type answers struct {
	absent string                                          // why it does not apply here
	ok     string                                          // what is the case when all is well
	bad    func(bad []reading) (detail string, fix string) // what is the case, and the command
}

// judge turns readings into an outcome. One bad value makes a finding even if
// others could not be read; one unreadable value among good ones makes unknown,
// because the check cannot vouch for it; absent values decide nothing.
func judge(rs []reading, a answers) Outcome {
	var bad, unknown []reading
	known := 0
	for _, r := range rs {
		switch {
		case r.context:
		case r.unknown():
			unknown = append(unknown, r)
		case r.state != host.StateOK:
		case r.bad:
			bad = append(bad, r)
		default:
			known++
		}
	}
	switch {
	case len(bad) > 0:
		detail, fix := a.bad(bad)
		return Outcome{Status: Finding, Evidence: group(present(rs)), Detail: detail, Remedy: fix}
	case len(unknown) > 0:
		return Outcome{Status: Unknown, Evidence: group(present(rs)), Detail: whyUnknown(unknown)}
	case known > 0:
		return Outcome{Status: OK, Evidence: group(present(rs)), Detail: a.ok}
	}
	return Outcome{Status: NotApplicable, Evidence: group(rs), Detail: a.absent}
}

// need answers for a check whose readings only mean something together: it
// stops with unknown or not applicable unless all of them are known.
func need(absent string, rs ...reading) (Outcome, bool) {
	for _, r := range rs {
		if r.unknown() {
			return Outcome{Status: Unknown, Evidence: group(rs), Detail: whyUnknown([]reading{r})}, true
		}
	}
	for _, r := range rs {
		if r.state != host.StateOK {
			return Outcome{Status: NotApplicable, Evidence: group(rs), Detail: absent}, true
		}
	}
	return Outcome{}, false
}

func notApplicable(format string, args ...any) Outcome {
	return Outcome{Status: NotApplicable, Detail: fmt.Sprintf(format, args...)}
}

func whyUnknown(rs []reading) string {
	for _, r := range rs {
		if r.state == host.StateDenied {
			return "this user may not read " + r.path + "; run as root to see it"
		}
	}
	return "could not read " + rs[0].path + " (" + rs[0].value + ")"
}

func present(rs []reading) []reading {
	var out []reading
	for _, r := range rs {
		if r.state != host.StateAbsent {
			out = append(out, r)
		}
	}
	return out
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
