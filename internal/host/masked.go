package host

import (
	"slices"
	"strings"
)

// What is not below these can be said to be missing from the machine only while
// they are there themselves. A container that puts an empty file system over
// one of them hides settings that every kernel has, and "absent" would clear
// them. The outer ones come first.
var mountRoots = []string{"/proc", "/proc/sys", "/sys", cpuDir}

const maskedReason = " is missing or masked"

// masked is the error of a file that is not there because nothing is.
type masked string

func (m masked) Error() string { return string(m) + maskedReason }

// Masked reports whether a fact is unknown since all around it is hidden.
func Masked[T any](f Fact[T]) bool {
	return f.State == StateError && strings.HasSuffix(f.Reason, maskedReason)
}

// masked returns the reason why a file that is not there may exist nevertheless,
// or nil.
func (t Tree) masked(path string) error {
	if t.Foreign() {
		return nil
	}
	for _, root := range mountRoots {
		if strings.HasPrefix(path, root+"/") && !t.shows(root, path) {
			return masked(root)
		}
	}
	return nil
}

// shows reports whether a root holds anything of what it should. The option
// subset=pid of procfs (Linux 5.8) leaves nothing but processes.
func (t Tree) shows(root, path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
	whole := root == "/proc" && !isProcess(first)
	key := root
	if whole {
		key += " whole"
	}
	if t.at != nil {
		if known, ok := t.at.shown.Load(key); ok {
			return known.(bool)
		}
	}
	names, err := t.list(root)
	shown := len(names) > 0 || err != nil && StateOf(err) != StateAbsent
	if whole && err == nil {
		shown = slices.ContainsFunc(names, func(n string) bool { return !isProcess(n) })
	}
	if t.at != nil {
		t.at.shown.Store(key, shown)
	}
	return shown
}

func isProcess(name string) bool { return name == "self" || name == "thread-self" || isNumber(name) }
