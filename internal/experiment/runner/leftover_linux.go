package runner

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/workload"
)

// How long what a killed session has left gets to end by itself when it is asked
// to, and then for the kernel to take it away.
const (
	graceAsked  = 2 * time.Second
	graceKilled = 5 * time.Second
)

// endLeftovers ends what the workload of a session that was killed has left running:
// the kernel ends the program itself with us (PR_SET_PDEATHSIG in prctl(2)), and not
// what that had started. They are known by the mark in their environment, which has
// the directory work; daemons too, which a run that ends well does not leave either.
// It returns the names of what it ended.
func endLeftovers(work string) (names []string, err error) {
	find := func() []*proc.Held { // among those that this process has not started
		all := proc.All()
		ours := proc.Below(all, os.Getpid())
		return bearing(slices.DeleteFunc(all, func(s proc.Stat) bool {
			return slices.Contains(ours, s)
		}), workload.Mark(work))
	}
	names = namesOf(find())
	if len(names) == 0 {
		return nil, nil
	}
	left := proc.End(find, proc.Step{Signal: unix.SIGTERM, Grace: graceAsked},
		proc.Step{Signal: unix.SIGKILL, Grace: graceKilled})
	if len(left) > 0 {
		return nil, fmt.Errorf(
			"%s %d, which the workload of a killed session has left, does not end; runs beside it would be worth "+
				"nothing: end it, then resume", left[0].Name, left[0].PID)
	}
	return names, nil
}

// namesOf lets them go.
func namesOf(list []*proc.Held) (names []string) {
	for _, h := range list {
		names = append(names, fmt.Sprintf("%s %d", h.Name, h.PID))
		h.Close()
	}
	return names
}

// leftByLevels names what the commands of factors have left running. Some are there to
// start a server, so that nothing is ended.
func leftByLevels(id string) []string { return namesOf(bearing(proc.All(), levelMark(id))) }

// bearing finds those with a variable in their environment. Root finds those of other users
// too: its own commands may have changed the user. But a program with the set-user-ID bit
// has the environment of who started it, who may not end it.
func bearing(list []proc.Stat, variable string) []*proc.Held {
	group, user := unix.Getpgrp(), os.Geteuid()
	return proc.Find(list, func(h *proc.Held) bool {
		return h.Group > 1 && h.Group != group && slices.Contains(h.Environ(), variable) &&
			(h.RunsAs(user) || user == 0 && h.OneUser())
	})
}
