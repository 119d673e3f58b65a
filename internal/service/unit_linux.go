package service

import (
	"path"
	"slices"
	"strings"

	"hostlab/internal/proc"
)

// Named is how a service that runs here is named, for help and errors.
const (
	Named = "a " + sorts +
		" by its name, unit:NAME, cgroup:PATH, pid:N, pod:NAMESPACE/NAME[/CONTAINER] or container:NAME"
	sorts     = "database, unit or program"
	precisely = "pid:N, unit:NAME or cgroup:PATH"
)

// called reports whether a process's program has that name.
func called(program proc.Stat, name string) bool { return program.Name == name }

// unit is a systemd unit that runs, found by its control group.
func unit(name string) (*Service, error) {
	if path.Ext(name) == "" {
		name += ".service"
	}
	for _, s := range proc.All() {
		for _, at := range pathsOf(s.PID, controllers...) {
			of, ok := within(at, name)
			if !ok {
				continue
			}
			out := &Service{Kind: Unit, Name: name, PID: s.PID, root: s}
			if g, err := groupAt(of); err == nil {
				out.in(g)
			}
			return out, nil
		}
	}
	return nil, missing("no unit " + name + " runs here")
}

// Units are the units that run, as they are named here.
func Units() (list []string) {
	for _, s := range proc.All() {
		for _, at := range pathsOf(s.PID, controllers...) {
			for part := range strings.SplitSeq(at, "/") {
				if name, is := strings.CutSuffix(part, ".service"); is && !slices.Contains(list, "unit:"+name) {
					list = append(list, "unit:"+name)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// within is the path up to the directory name, where that is on it.
func within(at, name string) (string, bool) {
	parts := strings.Split(at, "/")
	i := slices.Index(parts, name)
	if i < 0 {
		return "", false
	}
	return strings.Join(parts[:i+1], "/"), true
}
