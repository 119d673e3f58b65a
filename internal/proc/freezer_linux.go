package proc

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// Freezers are the control groups of processes that may be frozen: of version 1 (freezer-subsystem.rst) or 2
// (cgroup-v2.rst). A frozen process looks as if it waited.
type Freezers struct {
	trees  []Hierarchy
	of     map[int]string  // the file that tells it of a process
	frozen map[string]bool // by file, at the last look
}

// Follow finds the groups of processes.
func (f *Freezers) Follow(pids []int) {
	if f.trees == nil {
		f.trees = Hierarchies()
	}
	f.of, f.frozen = map[int]string{}, map[string]bool{}
	for _, pid := range pids {
		groups, _ := Memberships(pid)
		for _, g := range groups {
			if file := f.file(g); file != "" {
				f.of[pid], f.frozen[file] = file, false
				break
			}
		}
	}
	f.Look()
}

// file is the one that tells whether a group is frozen; "": it has none, as the root.
func (f *Freezers) file(g Membership) string {
	name := "freezer.state"
	switch {
	case g.Group == "/":
		return ""
	case g.Has(""):
		name = "cgroup.events"
	case !g.Has("freezer"):
		return ""
	}
	for _, tree := range f.trees {
		if tree.Controllers[0] != "" && g.Has("") || !(Membership{Controllers: tree.Controllers}).Has(g.Controllers[0]) {
			continue
		}
		if dir := tree.Dir(g.Group); dir != "" {
			return path.Join(dir, name)
		}
	}
	return ""
}

// Look reads which groups are frozen.
func (f *Freezers) Look() {
	for file := range f.frozen {
		b, _ := os.ReadFile(file)
		text := string(b)
		f.frozen[file] = strings.HasPrefix(text, "FROZEN") || strings.Contains(text, "\nfrozen 1")
	}
}

// Frozen is the file by which a process is frozen; "": it is not.
func (f *Freezers) Frozen(pid int) string {
	if file := f.of[pid]; f.frozen[file] {
		return file
	}
	return ""
}

// Tracer is the process that traces another, as a debugger does; 0: none does.
func Tracer(pid int) (tracer int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(b), "\nTracerPid:")
	_, _ = fmt.Sscan(after, &tracer)
	return tracer
}
