package model

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed builtin.toml
var builtInFile []byte

// builtIn are the machines and workloads that need no file.
type builtIn struct {
	Machine  []Machine `toml:"machine"`
	Workload []struct {
		Workload
		Home string `toml:"home"`
	} `toml:"workload"`
}

var readBuiltIn = sync.OnceValue(func() (b builtIn) {
	d := toml.NewDecoder(bytes.NewReader(builtInFile))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		panic(err)
	}
	return b
})

// Machines lists the built-in machines.
func Machines() []Machine { return slices.Clone(readBuiltIn().Machine) }

// FindMachine returns a built-in machine, or an error that lists their names.
func FindMachine(name string) (Machine, error) {
	return find("machine", name, Machines(), func(m Machine) string { return m.Name })
}

func find[T any](what, name string, list []T, of func(T) string) (T, error) {
	var names []string
	for _, x := range list {
		if of(x) == name {
			return x, nil
		}
		names = append(names, of(x))
	}
	var none T
	return none, fmt.Errorf("no built-in %s is called %q; there are %s", what, name, strings.Join(names, ", "))
}

// Workloads lists the built-in workloads.
func Workloads() (list []Workload) {
	for _, w := range readBuiltIn().Workload {
		list = append(list, w.Workload)
	}
	return list
}

// FindWorkload returns a built-in workload, or an error that lists their names.
func FindWorkload(name string) (Workload, error) {
	return find("workload", name, Workloads(), func(w Workload) string { return w.Name })
}

// HomeMachine names the built-in machine that a built-in workload was measured on;
// empty for those that belong to none.
func HomeMachine(workload string) string {
	for _, w := range readBuiltIn().Workload {
		if w.Name == workload {
			return w.Home
		}
	}
	return ""
}
