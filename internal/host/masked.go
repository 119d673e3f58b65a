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

// masked is the error of a file that is not there because nothing is.
type masked string

func (m masked) Error() string { return string(m) + " is missing or masked" }

// masked returns the reason why a file that is not there may exist nevertheless,
// or nil.
func (t Tree) masked(path string) error {
	if t.Foreign() {
		return nil
	}
	for _, root := range mountRoots {
		below, is := strings.CutPrefix(path, root+"/")
		if !is {
			continue
		}
		hidden := t.hides(root)
		// The option subset=pid of procfs (Linux 5.8) leaves nothing but processes.
		if first, _, _ := strings.Cut(below, "/"); hidden == all || hidden == others && !isProcess(first) {
			return masked(root)
		}
	}
	return nil
}

// What a root of mounts hides: nothing, all, or what is no process.
const (
	nothing = iota
	others
	all
)

func (t Tree) hides(root string) (hidden int) {
	if t.at != nil {
		if known, ok := t.at.hidden.Load(root); ok {
			return known.(int)
		}
		defer func() { t.at.hidden.Store(root, hidden) }()
	}
	names, err := t.list(root)
	switch {
	case len(names) == 0 && (err == nil || StateOf(err) == StateAbsent):
		return all
	case root == "/proc" && err == nil && !slices.ContainsFunc(names, func(n string) bool { return !isProcess(n) }):
		return others
	}
	return nothing
}

func isProcess(name string) bool { return name == "self" || name == "thread-self" || isNumber(name) }
