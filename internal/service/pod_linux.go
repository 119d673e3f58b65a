package service

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/pods"
	"hostlab/internal/screen"
)

// shown is how many candidates a line lists.
const shown = 6

// pod finds a pod, or one container of it: NAMESPACE/NAME[/CONTAINER].
func pod(name string, servers []host.Database) (*Service, error) {
	names := pods.Read()
	return podAmong(name, names.All(), names.Looked(), servers)
}

func podAmong(name string, all []pods.Container, looked string, servers []host.Database) (*Service, error) {
	f := strings.Split(name, "/")
	found := slices.DeleteFunc(slices.Clone(all), func(c pods.Container) bool {
		return c.Namespace != f[0] || c.Pod != f[1] || len(f) < 3 && c.Name == pods.Sandbox || len(f) > 2 && c.Name != f[2]
	})
	first := func(c pods.Container) string { return cmp.Or(c.UID, c.Whole, c.ID) }
	switch {
	case len(found) == 0 && len(f) > 2 && slices.ContainsFunc(all,
		func(c pods.Container) bool { return c.Namespace == f[0] && c.Pod == f[1] }):
		inside := slices.DeleteFunc(slices.Clone(all),
			func(c pods.Container) bool { return c.Namespace != f[0] || c.Pod != f[1] })
		return nil, fmt.Errorf("pod %s/%s has no container %q; it has %s", f[0], f[1], f[2], candidates(inside))
	case len(found) == 0:
		return nil, absent("pod "+name, all, looked)
	case slices.ContainsFunc(found, func(c pods.Container) bool { return first(c) != first(found[0]) }):
		slices.SortFunc(found, func(a, b pods.Container) int { return cmp.Compare(first(a), first(b)) })
		found = slices.CompactFunc(found, func(a, b pods.Container) bool { return first(a) == first(b) })
		var each []string
		for _, c := range found {
			c.Group = cmp.Or(c.Whole, c.Group)
			each = append(each, c.Path())
		}
		return nil, fmt.Errorf("%d pods %s run here; name one by its group: %s", len(found), name, list(each))
	case len(found) > 1 && len(f) > 2:
		return nil, fmt.Errorf("%d containers %s run here; name one of %s", len(found), name, byGroup(found))
	case len(found) > 1 && slices.ContainsFunc(found, func(c pods.Container) bool { return c.Whole == "" }):
		return nil, fmt.Errorf("the containers of pod %s have no control group of their pod around them; name one of %s",
			name,
			candidates(found))
	}
	group := found[0].Group
	if len(found) > 1 { // its limits are those of all its containers together
		group = cmp.Or(found[0].Whole, group)
	}
	return grouped(Pod, name, group, found, servers)
}

// container finds one by its name, its ID or the beginning of that.
func container(name string, servers []host.Database) (*Service, error) {
	names := pods.Read()
	return containerAmong(name, names.All(), names.Looked(), servers)
}

// leastID is the fewest digits of an ID that name a container.
const leastID = 4

func containerAmong(name string, all []pods.Container, looked string, servers []host.Database) (*Service, error) {
	found := slices.DeleteFunc(slices.Clone(all), func(c pods.Container) bool { return c.Name != name })
	if len(found) == 0 {
		found = slices.DeleteFunc(slices.Clone(all), func(c pods.Container) bool {
			return c.ID != name && (len(name) < leastID || !strings.HasPrefix(c.ID, name))
		})
	}
	// anybody's group may have the same ID
	if slices.ContainsFunc(found, func(c pods.Container) bool { return !c.Foreign() }) {
		found = slices.DeleteFunc(found, pods.Container.Foreign)
	}
	switch {
	case len(found) == 0:
		return nil, absent("container "+name, all, looked)
	case len(found) == 1 && found[0].Foreign():
		whose := fmt.Sprintf("is of uid %d", found[0].Owner)
		if found[0].Owner < 0 {
			whose = "is of a user that is not known"
		}
		return nil, fmt.Errorf("container %s %s; name it by %s", name, whose, found[0].Path())
	case len(found) > 1 && slices.ContainsFunc(found, func(c pods.Container) bool { return c.Pod == "" }):
		return nil, fmt.Errorf("%d containers %s run here; name one of %s", len(found), name, byGroup(found))
	case len(found) > 1:
		return nil, fmt.Errorf("%d containers %s run here; name one of %s", len(found), name, candidates(found))
	}
	return grouped(Container, cmp.Or(found[0].Name, found[0].Short()), found[0].Group, found, servers)
}

// grouped is the service of containers in a control group. Where that holds a database that hostlab knows, the first
// process is its.
func grouped(kind Kind, name, group string, inside []pods.Container, servers []host.Database) (*Service, error) {
	g, err := groupAt(group)
	if err != nil {
		return nil, err
	}
	s := &Service{Kind: kind, Name: name, Containers: inside}
	s.in(g)
	for _, c := range inside {
		if x, err := groupAt(c.Group); err == nil && x.path != g.path {
			s.quotas, s.memory = append(s.quotas, x), append(s.memory, x)
		}
	}
	pids := g.processes()
	if i := slices.IndexFunc(servers, func(d host.Database) bool { return slices.Contains(pids, d.PID) }); i >= 0 {
		s.PID = servers[i].PID
	}
	if s.PID == 0 {
		return nil, errors.New("its control group " + g.path + " has no process")
	}
	return s, nil
}

// absent is the error of a name that nothing here has.
func absent(what string, all []pods.Container, looked string) error {
	here := "no container runs here"
	if len(all) > 0 {
		here = "here run " + candidates(all)
	}
	return fmt.Errorf("no %s runs here: %s; %s", screen.Clean(what), here, looked)
}

// candidates are containers as they are named here.
func candidates(all []pods.Container) string {
	var each []string
	for _, c := range all {
		if c.Name != pods.Sandbox {
			each = append(each, c.Address())
		}
	}
	return list(each)
}

// byGroup are those whose names are no help.
func byGroup(all []pods.Container) string {
	var each []string
	for _, c := range all {
		each = append(each, c.Path()+" ("+c.String()+")")
	}
	return list(each)
}

// list joins texts, of many the first.
func list(each []string) string {
	each = slices.Compact(each)
	if n := len(each); n > shown {
		return strings.Join(each[:shown], ", ") + fmt.Sprintf(" and %d more", n-shown)
	}
	return strings.Join(each, ", ")
}

// Pods are the pods and containers that run, as they are named here.
func Pods() (all []string) {
	for _, c := range pods.Read().All() {
		if c.Name == pods.Sandbox {
			continue
		}
		if c.Pod != "" {
			all = append(all, screen.Clean("pod:"+c.Namespace+"/"+c.Pod))
		}
		all = append(all, c.Address())
	}
	slices.Sort(all)
	return slices.Compact(all)
}
