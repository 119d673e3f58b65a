package command

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"

	"hostlab/internal/workload"
)

// benchUnit reports a pick that would convert a benchmark's number a second time,
// or that calls it what it is not: package benchfmt gives ns/op in seconds and MB/s
// in bytes a second, so scale = 1e-9 beside it would make it a billionth of itself.
// Units that a benchmark has made up are its own affair.
func benchUnit(p workload.Pick, unit string) error {
	base, known := baseUnit(unit)
	if !known {
		return nil
	}
	name := base
	if base == "" {
		name = "a plain number"
	}
	switch {
	case p.Scale != 0 && p.Scale != 1:
		return fmt.Errorf(
			"%s is %s already: gobench converts by itself, so that scale = %s would convert it again; leave scale out",
			p.From, inUnit(name), strconv.FormatFloat(p.Scale, 'g', -1, 64))
	case p.Unit != workload.AnyUnit && p.Unit != base:
		return fmt.Errorf("%s is %s, and the response's unit is %q; write unit = %q", p.From, inUnit(name), p.Unit, base)
	}
	return nil
}

func inUnit(name string) string {
	if strings.HasPrefix(name, "a ") {
		return name
	}
	return "in " + name
}

// baseUnit is the unit of a response that a benchmark's number is in: of what
// testing prints (ns/op, B/op, allocs/op, MB/s) and of what is made of the same
// parts, such as p99-ns or req/s. known is false for any other.
func baseUnit(unit string) (base string, known bool) {
	_, tidy := benchunit.Tidy(1, unit)
	amount, per, rate := strings.Cut(tidy, "/")
	if i := strings.LastIndexByte(amount, '-'); i >= 0 && (!rate || per == "op") {
		amount = amount[i+1:]
	}
	switch {
	case per == "s" || per == "sec":
		switch amount {
		case "B":
			return "B/s", true
		case "sec":
			return "", false // a share of time
		}
		if _, scaled := prefixed[amount]; scaled {
			return "", false
		}
		return "1/s", true
	case rate && per != "op":
		return "", false
	case amount == "sec":
		return "s", true
	case amount == "B":
		return "B", true
	case amount == "allocs":
		return "", true
	}
	return "", false
}

// prefixed are amounts that benchfmt does not convert, so that a scale has to.
var prefixed = map[string]struct{}{
	"kB": {}, "KB": {}, "GB": {}, "KiB": {}, "MiB": {}, "GiB": {}, "k": {}, "M": {}, "G": {}, "kops": {}, "Mops": {},
	"kreq":  {},
	"Mreq":  {},
	"bytes": {}, "bits": {}, "Mb": {}, "Gb": {}, "us": {}, "ms": {}, "J": {}, "mJ": {},
}
