//go:build linux

package main

import (
	"reflect"
	"strings"
)

// load is one whose cause is known by how it is made.
type load struct {
	Name string
	Kind string // a name of kinds
	// Always is how it runs; With adds the cause, Without what is there in its place.
	Always, With, Without setup
	// First are answers that count as right: names of levers, or after "~" an expression that the verdict's text
	// matches, where a setting of the server or its clients are the cause.
	First []string
	// Part is the part of the service's time that bounds the gain where no lever does.
	Part string
	// Named are expressions that the first lines of the report match, so that a stranger could act.
	// {beside} stands for the process number of what runs beside.
	Named []string
	// Other says how the cause is removed where that is not what the lever's likely figure assumes: it is not judged.
	Other string
}

// Null reports that it has no cause.
func (l *load) Null() bool { return l.First == nil }

// setup is how a service, its clients and what is around them run. A field that is not set leaves
// what another setup says.
type setup struct {
	Settings string  // of the server, as name=value
	Init     string  // statements before clients come
	Script   string  // what a client repeats, a statement a line; of a process its arguments
	Clients  int     // one, if not set
	Think    float64 // ms, of a client between transactions
	Anew     bool    // a connection for each transaction
	Pin      string  // CPUs of the clients
	Beside   []string
	Apart    bool    // what runs beside has a control group of its own
	Quota    float64 // CPUs, of the service's control group
	Memory   int     // MB, likewise
	IOPS     int     // reads of the disk a second, likewise
	Writes   int     // MB of writes to the disk a second, likewise
	CPUs     string  // that the service's threads are bound to
	Set      string  // CPUs, of the service's control group
	Shares   int     // the weight of that against other groups, of which 1024 is usual
	Frozen   float64 // ms for which it is frozen, and then is not, in turns
	Sync     float64 // ms that each sync of the log takes longer
	Disk     bool    // its files lie on the disk, else in memory
	Cold     bool    // its data are kept out of the page cache
	Watch    string  // "server": of a pooler the server behind it is watched
}

// plus returns a setup with what another sets.
func (s setup) plus(other setup) setup {
	to, from := reflect.ValueOf(&s).Elem(), reflect.ValueOf(other)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return s
}

// of is the load with its cause, or without it.
func (l *load) of(cause bool) setup {
	if cause {
		return join(l.Always, l.With)
	}
	return join(l.Always, l.Without)
}

// join adds settings and statements to those that there are; a later value of a setting counts.
func join(a, b setup) setup {
	s := a.plus(b)
	s.Settings = strings.TrimSpace(a.Settings + " " + b.Settings)
	s.Init = strings.TrimSpace(a.Init + "\n" + b.Init)
	return s
}

// pairs are settings by their names.
func (s setup) pairs() map[string]string {
	out := map[string]string{}
	for _, word := range strings.Fields(s.Settings) {
		name, value, _ := strings.Cut(word, "=")
		out[name] = value
	}
	return out
}
