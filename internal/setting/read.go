package setting

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// here returns the objects of a setting. The error says why there are none.
func (s Setting) here(sys *System) ([]Object, error) {
	if sys.Missing != nil {
		return nil, sys.Missing
	}
	return s.objects(sys)
}

// Read returns the state of each object. No objects: the host has no such knob, and
// the error says why.
func (s Setting) Read(sys *System) ([]State, error) {
	objects, err := s.here(sys)
	if err != nil {
		return nil, err
	}
	states := make([]State, len(objects))
	for i, o := range objects {
		states[i] = State{Name: o.Name, Path: o.Path, Note: s.Note(sys, o)}
		v, err := s.read(sys, o)
		if err != nil {
			states[i].Problem = unreadable(o, err).Error()
			continue
		}
		states[i].Value, states[i].Shown = v, s.Show(o, v)
		// Levels that cannot be listed do not keep the value from being shown.
		var why error
		states[i].Levels, why = s.Takes.levels(sys, o)
		states[i].Fixed = s.fixed(sys, o, v, states[i].Levels, why)
	}
	return states, nil
}

// fixed says why nobody can set an object; "" where nothing says so before set tries.
func (s Setting) fixed(sys *System, o Object, now string, levels []string, why error) string {
	others := slices.ContainsFunc(levels, func(l string) bool { return l != now })
	switch {
	case s.Windows():
		if errors.Is(sys.FS.Writable(o.Path), codePolicy) {
			return fixedByPolicy
		}
	case levels != nil && len(levels) == 0 && why != nil:
		return why.Error()
	case levels != nil && !others:
		return "the kernel offers nothing else here"
	case errors.Is(sys.FS.Writable(o.Path), syscall.EROFS):
		return "it is on a file system that is mounted read-only here"
	}
	return ""
}

// Settable reports that one of a setting's objects may be set, as far as is known before set tries.
func Settable(states []State) bool {
	return slices.ContainsFunc(states, func(st State) bool { return st.Fixed == "" && st.Problem == "" })
}

// text reads a file of the machine, without white space around it.
func (sys *System) text(path string) (string, error) {
	b, err := sys.FS.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// number reads a whole number; ok is false where there is none.
func (sys *System) number(path string) (n int64, ok bool) {
	t, err := sys.text(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(t, 10, 64)
	return n, err == nil
}

// exists reports whether a file is there, also one that may not be read or that fails.
func (sys *System) exists(path string) bool {
	_, err := sys.FS.ReadFile(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// numbered lists the names in a directory that are a prefix and a number.
func (sys *System) numbered(dir, prefix string) []string {
	all, err := sys.FS.ReadDir(dir)
	if err != nil {
		return nil
	}
	return withNumber(all, prefix)
}

func withNumber(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		digits, ok := strings.CutPrefix(name, prefix)
		_, err := strconv.ParseUint(digits, 10, 32)
		return !ok || err != nil
	})
}
