// Package service finds the service that a question is about and reads what the kernel
// counts of it: time on CPUs, waiting for one, and stopped by a quota. A service is a
// database, a systemd unit, a control group, or a process with its children. A database is
// asked too, in a session of its own.
package service

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/screen"
)

// Kind says what a service is.
type Kind string

// The kinds. Auto and Name are only asked for: what is found is one of the others.
const (
	Auto     Kind = "auto" // the busiest database that runs here, else none
	None     Kind = "none"
	Demo     Kind = "demo"
	Database Kind = "database"
	Unit     Kind = "unit"
	Windows  Kind = "service" // of Windows' service manager
	Cgroup   Kind = "cgroup"
	Pod      Kind = "pod" // of Kubernetes, or a container of one
	// Container is one of no pod, or whose pod was not named.
	Container Kind = "container"
	Process   Kind = "process"
	Name      Kind = "name" // a database's, a unit's or a program's
)

// Forms is how a service is named, for help and errors.
const Forms = "auto, none, demo, " + Named

// Spec is a service as it is asked for.
type Spec struct {
	Kind Kind
	Name string
}

// Parse reads one of Forms.
func Parse(text string) (Spec, error) {
	switch text {
	case "auto", "none", "demo":
		return Spec{Kind: Kind(text)}, nil
	case "":
		return Spec{}, errors.New("names no service; it takes " + Forms)
	}
	head, name, ok := strings.Cut(text, ":")
	switch {
	case !ok && !strings.ContainsAny(text, "/\x00\n="):
		return Spec{Name, text}, nil
	case ok && head == "pid":
		if n, err := strconv.Atoi(name); err != nil || n < 1 {
			return Spec{}, fmt.Errorf("%q: %q is no process number", text, name)
		}
		return Spec{Process, name}, nil
	case ok && (head == "unit" || head == "service") && name != "" && !strings.ContainsAny(name, "/\x00\n"):
		return Spec{Unit, name}, nil
	case ok && head == "cgroup" && name != "":
		return Spec{Cgroup, name}, nil
	case ok && head == "pod":
		if f := strings.Split(name, "/"); len(f) < 2 || len(f) > 3 || slices.Contains(f, "") ||
			strings.ContainsAny(name, "\x00\n") {
			return Spec{}, fmt.Errorf("%q names no pod; it takes pod:NAMESPACE/NAME or pod:NAMESPACE/NAME/CONTAINER", text)
		}
		return Spec{Pod, name}, nil
	case ok && head == "container" && name != "" && !strings.ContainsAny(name, "/\x00\n"):
		return Spec{Container, name}, nil
	}
	return Spec{}, fmt.Errorf("%q names no service; it takes %s", text, Forms)
}

// Service is one that runs, or ran when it was found.
type Service struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // PostgreSQL, nginx.service, /system.slice/x, java
	PID  int    `json:"pid"`  // its first process; 0: it has none of its own
	// Why it was chosen among several; "" where it was named.
	Why string `json:"why,omitempty"`
	// Near is a database that was reached on this host, and whose processes do not show: they may be hidden, in a
	// container, or behind a tunnel.
	Near bool `json:"near,omitempty"`
	// NoGroup is set where no control group of it shows, so that a quota of its CPU time would not either.
	NoGroup bool `json:"no_group,omitempty"`
	// Containers are those of a pod, the one that was named, or the one that a process is in.
	Containers []pods.Container `json:"containers,omitempty"`

	root   proc.Stat // the process PID, which Started tells from a later one of its number
	group  *group    // that is wholly its own; nil: none
	quotas []*group  // those that may limit its CPU time: its own, those around it, and those of its containers
	memory []*group  // and its memory
}

// Here reports whether it has processes on this host.
func (s *Service) Here() bool { return s.PID != 0 || s.group != nil }

// Target is what of the kernel is its own: its control group, where a controller has one, else
// its processes, of which children follow.
func (s *Service) Target() (processes []int, group string) {
	switch {
	case s.group == nil && s.PID != 0:
		return []int{s.PID}, ""
	case s.group == nil:
		return nil, ""
	case s.group.controlled() != "":
		return nil, s.group.controlled()
	}
	return s.group.processes(), ""
}

// Processes are its first ones: its control group's, or the one whose children follow it.
func (s *Service) Processes() []int {
	if s.group != nil {
		return s.group.processes()
	}
	return []int{s.PID}
}

// Members are all its processes now.
func (s *Service) Members() []int {
	if s.group != nil {
		return s.group.processes()
	}
	return proc.Family(s.PID)
}

// Holds reports that a control group is its own or below that.
func (s *Service) Holds(group string) bool {
	return s.group != nil && (group == s.group.path || strings.HasPrefix(group, s.group.path+"/"))
}

// Quota is a limit of CPU time.
type Quota struct {
	File   string  `json:"file"`   // that has it
	CPUs   float64 `json:"cpus"`   // how many it is worth
	Period float64 `json:"period"` // s
}

// Twice is a command that doubles it.
func (q *Quota) Twice() string {
	const us = 1e6
	text := fmt.Sprintf("%.0f", 2*q.CPUs*q.Period*us)
	if path.Base(q.File) == "cpu.max" {
		text = fmt.Sprintf("'%s %.0f'", text, q.Period*us)
	}
	return "echo " + text + " | sudo tee " + screen.Word(q.File)
}

// Ceiling is a limit of memory.
type Ceiling struct {
	File  string  `json:"file"`
	Bytes float64 `json:"bytes"`
	Hits  float64 `json:"hits"` // how often it was reached, and memory had to be taken from its own processes
}

// Twice is a command that doubles it.
func (c *Ceiling) Twice() string {
	return fmt.Sprintf("echo %.0f | sudo tee %s", 2*c.Bytes, screen.Word(c.File))
}

// Ceilings are the limits of its memory, its own or of a group around it, and those of its containers; none can be
// read where it has none.
func (s *Service) Ceilings() (list []*Ceiling) {
	for _, g := range s.memory {
		list = append(list, g.ceilings()...)
	}
	return list
}

// Quota is the limit of the service's CPU time, its own or of a group around it or of a container, that has stopped it
// most; nil: it has none that can be read.
func (s *Service) Quota() *Quota {
	all := s.limited()
	if len(all) == 0 {
		return nil
	}
	return slices.MaxFunc(all, func(a, b *group) int {
		x, _ := a.throttled()
		y, _ := b.throttled()
		return cmp.Compare(x, y)
	}).limit()
}

// in makes a service all of a control group: its first process is the group's, whose limits and those around hold for it.
func (s *Service) in(g *group) {
	s.group, s.PID, s.quotas = g, g.first(), g.around()
	s.memory = slices.Clone(s.quotas)
}

// limited are the groups whose limits of CPU time hold for it or for a part of it.
func (s *Service) limited() []*group {
	return slices.DeleteFunc(slices.Clone(s.quotas), func(g *group) bool { return g.limit() == nil })
}

// Ended reports that its first process has, or that its group has none.
func (s *Service) Ended() bool {
	if s.group != nil {
		return len(s.group.processes()) == 0
	}
	now, err := proc.Read(s.PID)
	return err != nil || now.Ended() || now.Started != s.root.Started
}

// ErrEnded is of a service that has no process any more.
var ErrEnded = errors.New("the service has ended")

// Find looks for a service here. servers are the databases that were found, used their CPU
// time. Its error says in one line what was not found.
func (s Spec) Find(servers []host.Database, used func(pid int) float64) (*Service, error) {
	switch s.Kind {
	case Auto:
		return busiest(servers, used)
	case Process:
		pid, _ := strconv.Atoi(s.Name)
		return process(pid)
	case Unit:
		return unit(s.Name)
	case Cgroup:
		g, err := groupAt(s.Name)
		if err != nil {
			return nil, err
		}
		s := &Service{Kind: Cgroup, Name: g.path}
		s.in(g)
		return s, nil
	case Pod:
		return pod(s.Name, servers)
	case Container:
		return container(s.Name, servers)
	case Name:
		return named(s.Name, servers, used)
	}
	return nil, nil //nolint:nilnil // none was asked for
}

// Busiest is the server that has used the most CPU time, the first of equals.
func Busiest(servers []host.Database, used func(pid int) float64) host.Database {
	return slices.MaxFunc(servers, func(a, b host.Database) int { return cmp.Compare(used(a.PID), used(b.PID)) })
}

// busiest is the database that uses the most CPU time; nil where none runs here.
func busiest(servers []host.Database, used func(pid int) float64) (*Service, error) {
	servers = slices.DeleteFunc(slices.Clone(servers),
		func(d host.Database) bool { return d.LogDir.State == host.StateError })
	if len(servers) == 0 {
		return nil, nil //nolint:nilnil // no database is no error
	}
	best, uses := servers[0], "uses"
	if len(servers) > 1 {
		before := map[int]float64{}
		for _, d := range servers {
			before[d.PID] = used(d.PID)
		}
		time.Sleep(lately)
		since := func(pid int) float64 { return used(pid) - before[pid] }
		if best = Busiest(servers, since); since(best.PID) < idle*lately.Seconds() {
			best, uses = Busiest(servers, used), "has used"
		}
	}
	out, err := process(best.PID)
	if err != nil {
		return nil, err
	}
	out.Kind, out.Name = Database, best.Product()
	if n := len(servers); n > 1 {
		out.Why = fmt.Sprintf("the one of %d databases here that %s the most CPU time", n, uses)
	}
	return out, nil
}

// Of several servers, the one that works now is meant, whatever another has done since it was started.
// Where none uses more than an idle share of one CPU, all that they have used decides.
const (
	lately = time.Second
	idle   = 0.02
)

// process is the one of a number, with its children.
func process(pid int) (*Service, error) {
	root, err := proc.Read(pid)
	if err != nil || root.Ended() {
		return nil, fmt.Errorf("no process has the number %d", pid)
	}
	out := &Service{Kind: Process, Name: root.Name, PID: pid, root: root}
	if c := pods.Around(pid); c != nil {
		out.Containers = []pods.Container{*c}
	}
	out.quotas, out.memory = limiting(pid, "cpu"), limiting(pid, "memory")
	out.NoGroup = out.quotas == nil && runtime.GOOS == "linux"
	return out, nil
}

// missing is why there is no unit of a name.
type missing string

func (m missing) Error() string { return string(m) }

// named is the database, the unit or the program of a name, in this order.
func named(name string, servers []host.Database, used func(pid int) float64) (*Service, error) {
	alike := func(d host.Database) bool {
		if strings.EqualFold(d.Kind, name) || strings.EqualFold(d.Product(), name) || name == "postgres" &&
			d.Kind == "postgresql" {
			return true
		}
		program, err := proc.Read(d.PID)
		return err == nil && called(program, name)
	}
	if slices.ContainsFunc(servers, alike) {
		return busiest(slices.DeleteFunc(slices.Clone(servers), func(d host.Database) bool { return !alike(d) }), used)
	}
	if s, err := unit(name); !errors.As(err, new(missing)) {
		return s, err
	}
	var found []proc.Stat
	for _, s := range proc.All() {
		if called(s, name) && !s.Ended() {
			found = append(found, s)
		}
	}
	// Of a program and the children that it made of itself, the first is meant.
	found = slices.DeleteFunc(found, func(s proc.Stat) bool {
		return slices.ContainsFunc(found, func(p proc.Stat) bool { return p.PID == s.Parent })
	})
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no %s %q runs here; name it by %s", sorts, name, precisely)
	case 1:
		return process(found[0].PID)
	}
	return nil, fmt.Errorf("%d programs %q run here; name one by its number, as in pid:%d", len(found), name, found[0].PID)
}

// Server is the one among the database servers of this host that the service is; nil: it is none.
func (s *Service) Server(servers []host.Database) *host.Database {
	i := slices.IndexFunc(servers, func(d host.Database) bool { return s.PID != 0 && d.PID == s.PID })
	if i < 0 {
		return nil
	}
	return &servers[i]
}
