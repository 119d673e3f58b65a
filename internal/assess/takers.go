package assess

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/screen"
)

// called names a program so that a person finds it.
func called(t Taker) string {
	name := strings.TrimSpace(screen.Clean(t.Name) + " " + t.Script)
	of := fmt.Sprintf("PID %d", t.PID)
	switch t.PID {
	case 0:
		of = "of processes that have ended"
	case 1: // it computes next to nothing itself
		of = "PID 1, mostly for processes that have ended"
	}
	if t.Processes > 1 && t.PID != 0 {
		of = fmt.Sprintf("%d processes, PID %d", t.Processes, t.PID)
	}
	switch by := t.Starter; {
	case t.family(): // whose numbers nobody finds any more
		of = fmt.Sprintf("%s that %s, PID %d, starts", screen.Plural(t.Processes, "process", "processes"),
			screen.Clean(by.Name), by.PID)
	case t.PID > 1 && t.Reaped > t.Seconds/2:
		of += ", mostly by programs it ran"
	}
	if t.Container != nil {
		of += ", " + t.Container.String()
	} else if u := t.Unit(); u != "" {
		of += ", " + screen.Clean(u)
	}
	return name + " (" + of + ")"
}

// plausible takes out programs that took more than all CPUs give: they waited for others that had ended, whose time
// until then counts as theirs (wait_task_zombie in kernel/exit.c).
func (m *Minute) plausible() {
	most := float64(m.Host.CPUs) * m.Report.Wall
	m.Takers = slices.DeleteFunc(m.Takers, func(t Taker) bool {
		if most <= 0 || t.Seconds <= 1.1*most {
			return false
		}
		m.Report.Missing = append(m.Report.Missing,
			"how much of the CPUs "+screen.Clean(t.Name)+
				" took: programs that it had started ended, and their time of before counts, too")
		return true
	})
}

// system is the unit of the system's manager that it is; "": none, or one of a user's own manager.
func (t *Taker) system() string {
	if u := t.Unit(); strings.HasSuffix(u, ".service") && !strings.Contains(t.Group, "/user@") {
		return u
	}
	return ""
}

// called tells a program from the service where both have one name.
func (m *Minute) called(t Taker) string {
	if t.Name == m.name() {
		return "another " + called(t)
	}
	return called(t)
}

// family reports that its processes came meanwhile, more of them than one, and others may soon be in their place.
func (t *Taker) family() bool {
	by := t.Starter
	return by != nil && by.PID > 1 && (by.Brief || t.Processes > 1)
}

// endedUnits names units whose processes have ended, with the CPU time that they took (SD_MESSAGE_UNIT_RESOURCES in
// systemd's sd-messages.h).
const endedUnits = "sudo journalctl --since=-10min MESSAGE_ID=ae8f7b866b0347b9af31fe1c80b127c0"

// limit is what to type so that a program leaves the CPUs to others.
func limit(t Taker) lever.Next {
	family := t.family()
	switch {
	case t.PID == 1 && t.Name == "systemd":
		return lever.Next{Command: endedUnits, Note: "it lists units that ended, as timers' are, and the CPU time of each; " +
			"\"sudo systemctl set-property UNIT CPUWeight=1\" has one give its CPUs away while others want them"}
	case t.PID <= 1 && !family: // of the kernel, or the first of all
		return lever.Next{}
	}
	if t.Container != nil { // whose control group is its runtime's
		next := limiting(*t.Container, "cpu", "--cpus CPUS")
		if next.Command != "" {
			return lever.Next{Note: "give " + t.Container.String() + " a CPU limit: " + next.Command}
		}
		return lever.Next{Note: "give it a CPU limit: " + cmp.Or(next.Note, "ask the runtime of "+t.Container.String())}
	}
	if u := t.system(); u != "" {
		return lever.Next{Command: "sudo systemctl set-property --runtime " + screen.Word(u) + " CPUWeight=1",
			Note: screen.Clean(u) + " gives its CPUs away while others want them; an empty CPUWeight= takes that back"}
	}
	name, all := screen.Clean(t.Name), t.PIDs()
	every := func(command string) string { return each(command, all) }
	if family { // what a process starts has its CPUs and its priority
		by := t.Starter
		name, all, t.Processes = screen.Clean(by.Name)+", with all that it starts from now on,", []int{by.PID}, 1
		every = func(command string) string {
			return fmt.Sprintf("echo %[1]d $(pgrep -x -P %[1]d -- %[2]s) | sudo xargs -n1 %[3]s", by.PID,
				screen.Word(regexp.QuoteMeta(screen.Clean(t.Name))), command) // others choose names
		}
	}
	next := lever.Next{Command: every("taskset --all-tasks --cpu-list --pid 0"), Note: name + " stays on CPU 0"}
	switch { // a priority counts among threads of one group alone
	case t.Sharing.Idle, t.Sharing.By == proc.ByGroup, family && t.Sharing.By != proc.ByThread:
	case t.Sharing.By == proc.BySession:
		next = lever.Next{Command: autogroups(19, t.Sessions), Note: "lowest priority for all in the session of " +
			name + "; \"" + autogroups(0, t.Sessions) + "\" takes that back"}
		t.Processes = len(all) // its other processes have sessions, too
	default: // setpriority(2) reaches one thread alone
		next = lever.Next{Command: every("chrt --all-tasks --idle --pid 0"), Note: name +
			" gives its CPUs away while others want them; \"" + every("chrt --all-tasks --other --pid 0") + "\" takes that back"}
	}
	if more := t.Processes - len(all); more > 0 {
		next.Note += fmt.Sprintf("; do the same with %s of it, which used less",
			screen.Plural(more, "more process", "more processes"))
	}
	if by := t.Starter; by != nil && !family {
		next.Note += fmt.Sprintf("; it began only while hostlab watched: if it has ended, do the same with %s (PID %d), "+
			"which starts it", screen.Clean(by.Name), by.PID)
	}
	return next
}

// autogroups is a command that sets the priority of sessions.
func autogroups(nice int, sessions []int) string {
	command := fmt.Sprintf("echo %d | sudo tee", nice)
	for _, pid := range sessions {
		command += fmt.Sprintf(" /proc/%d/autogroup", pid)
	}
	return command
}

// each is a command that takes one process, for all of them.
func each(command string, pids []int) string {
	list := strings.Trim(fmt.Sprint(pids), "[]")
	if len(pids) == 1 {
		return "sudo " + command + " " + list
	}
	return "echo " + list + " | sudo xargs -n1 " + command
}
