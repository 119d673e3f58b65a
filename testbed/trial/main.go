//go:build linux && amd64

// Command trial runs in a guest and tries hostlab's settings on its kernel. Of hostlab's packages
// it takes what plain settings are to be tried with: it runs the program, and reads the kernel's
// files and the P-state registers by itself.
//
//	trial each [quick]            every setting: set, read back, verify, revert, compare all files
//	trial combine [NAME...]       settings together, refusals, other programs' changes
//	trial kill N                  N times: SIGKILL while hostlab sets or puts back, then revert
//	trial study N                 a study of governors, and N killed ones that are put back
//	trial cut [CALL]              sets and reverts until the plug is pulled, by itself at that system call
//	trial smt                     placements on a processor with SMT, and the study that switches it
//	trial emulate                 the emulated clock on control groups of version 2
//	trial nodes                   facts of memory nodes, a network card's interrupts, and the studies of private servers
//	trial irq                     the study irq-affinity on a PostgreSQL of the disk, beside a card of several queues
//	trial remedies [CHECK...]     the checks' remedies: each mends what it is for, and changes nothing the second time
//	trial system                  the remedies of servers' checks, where systemd runs PostgreSQL
//	trial booted                  that they, and others, hold after a boot
//	trial record                  the programs in the kernel, what they count, siblings and groups
//	trial live EXPERIMENT...      live experiments on a PostgreSQL of the disk, each to its end or until the plug is pulled
//	trial recover                 after a power cut: what the journal says, and revert
//	trial ring                    adds lines to a ring until the plug is pulled
//	trial left                    after that: which of them are there
//
// Each line of its output is "ok", "FAIL", "row" or "note" and fields between tabs. Exit status: 0
// nothing failed, 1 something did, 2 it cannot try.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// failures counts the FAIL lines.
var failures int

func line(kind string, fields ...any) {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = strings.Join(strings.Fields(fmt.Sprint(f)), " ")
	}
	fmt.Println(kind + "\t" + strings.Join(words, "\t"))
}

func ok(what string) { line("ok", what) }

func fail(what, format string, args ...any) {
	failures++
	line("FAIL", what, fmt.Sprintf(format, args...))
}

// require is an ok or a FAIL.
func require(what string, good bool, format string, args ...any) {
	if good {
		ok(what)
		return
	}
	fail(what, format, args...)
}

func main() {
	if len(os.Args) < 2 {
		cannot("name what to try: each, combine, kill, study, smt, nodes, irq, remedies, system, booted, record, live, cut, recover, ring or left")
	}
	if os.Args[1] == "sleep" { // in the name of a server
		asleep()
	}
	// This file tells machines' journals apart.
	if err := os.WriteFile("/etc/machine-id", []byte("0123456789abcdef0123456789abcdef\n"), 0o444); err != nil {
		cannot(err.Error())
	}
	args := os.Args[2:]
	switch os.Args[1] {
	case "each":
		each(len(args) > 0 && args[0] == "quick")
	case "combine":
		combine(args)
	case "kill":
		kill(number(args, 100))
	case "study":
		study(number(args, 4))
	case "cut":
		cut(number(args, 0))
	case "smt":
		smt()
	case "nodes":
		nodes()
	case "irq":
		irqAffinity()
	case "remedies":
		remedies(args)
	case "system":
		inSystem()
	case "booted":
		booted()
	case "record":
		recorded()
	case "live":
		live(args)
	case "recover":
		recoverJournal()
	case "ring":
		keepRing()
	case "left":
		ringLeft()
	default:
		cannot("no trial of the name " + os.Args[1])
	}
	if failures > 0 {
		os.Exit(1)
	}
}

func number(args []string, otherwise int) int {
	if len(args) == 0 {
		return otherwise
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		cannot(err.Error())
	}
	return n
}

func cannot(text string) {
	fmt.Fprintln(os.Stderr, "trial: "+text)
	os.Exit(2)
}
