package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"hostlab/internal/screen"
)

// NewPlan reads what is there and says what would be written. It writes nothing. The
// error is about the assignments: an unknown name, a value that cannot be.
func NewPlan(sys *System, want []Assignment) (*Plan, error) {
	p := &Plan{}
	jobs, err := sys.jobs(want)
	if err != nil {
		return nil, err
	}
	at := map[string]int{} // path -> its index in list
	var list steps
	seen := map[string]func() ([]Object, error){} // advice names each of thousands of disks
	for _, j := range jobs {
		look := seen[j.s.Name]
		if look == nil {
			look = sync.OnceValues(func() ([]Object, error) { return j.s.here(sys) })
			seen[j.s.Name] = look
		}
		objects, err := look()
		if err != nil {
			p.Skipped = append(p.Skipped, Skip(j.s.Name, Object{}, err.Error()))
			continue
		}
		if j.a.Object != "" {
			if objects, err = only(sys, j.s, objects, j.a.Object); err != nil {
				return nil, err
			}
		}
		for _, o := range objects {
			step, err := j.s.among(o, list).step(sys, o, j.a.Value)
			if u, ok := errors.AsType[unsettable](err); ok {
				p.Skipped = append(p.Skipped, Skip(j.s.Name, o, u.Error()))
				continue
			}
			if err != nil {
				return nil, err
			}
			if i, twice := at[o.Path]; twice { // NAME=A NAME@OBJECT=B: the last one counts
				list[i] = step
				continue
			}
			at[o.Path] = len(list)
			list = append(list, step)
		}
	}
	if more, err := list.needed(sys, want); err != nil || len(more) > 0 {
		if err != nil {
			return nil, err
		}
		return NewPlan(sys, append(more, want...))
	}
	if err := list.contradiction(sys); err != nil {
		return nil, err
	}
	moved := list.moved(sys)
	for _, s := range list {
		if s.From == s.To && !sys.setting(s.Setting).Held && !moved[s.Path] {
			p.Same = append(p.Same, s)
		} else {
			p.Steps = append(p.Steps, s)
		}
	}
	p.beside(sys, list)
	return p, nil
}

// beside finds what the steps change that is not asked for.
func (p *Plan) beside(sys *System, list steps) {
	seen := map[string]bool{}
	for _, s := range list {
		seen[s.Path] = true
	}
	for _, s := range p.Steps {
		for _, side := range sys.setting(s.Setting).sides(sys, s.Object) {
			from, err := sys.setting(side.Setting).read(sys, side.Object)
			if seen[side.Object.Path] || err != nil || s.From == s.To {
				continue
			}
			seen[side.Object.Path] = true
			switch {
			case len(side.Becomes) != 1:
				if !slices.Contains(p.Moves, side.Setting) {
					p.Moves = append(p.Moves, side.Setting)
				}
			case side.Becomes[0] != from:
				moved := Step{Setting: side.Setting, Object: side.Object, From: from, To: side.Becomes[0],
					Note: "with " + s.Setting}
				p.Sides = append(p.Sides, moved)
			}
		}
	}
}

type job struct {
	s Setting
	a Assignment
}

// jobs are assignments in the order of writing. The error is about those that are wrong on any host.
func (sys *System) jobs(want []Assignment) (jobs []job, _ error) {
	for _, a := range want {
		s, err := sys.named(a.Name)
		if err != nil {
			return nil, err
		}
		if a.Value == "" {
			return nil, fmt.Errorf("%s: no value; %s takes %s", a.Name, s.Name, s.Values)
		}
		jobs = append(jobs, job{s, a})
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return a.s.Order - b.s.Order })
	for _, j := range jobs {
		for _, k := range jobs {
			if j.s.Rival != "" && j.s.Rival == k.s.Name {
				return nil, fmt.Errorf("%s and %s exclude each other: the kernel keeps the one that is written last; "+
					"set one of them", j.s.Name, k.s.Name)
			}
		}
	}
	return jobs, nil
}

// steps are those of one plan.
type steps []Step

func (list steps) value(setting, object string) (string, bool) {
	i := slices.IndexFunc(list, func(s Step) bool { return s.Setting == setting && s.Name == object })
	if i < 0 {
		return "", false
	}
	return list[i].To, true
}

// needed are the assignments that steps need beside what is wanted. The error is of one that is wanted otherwise.
func (list steps) needed(sys *System, want []Assignment) (more []Assignment, _ error) {
	for _, s := range list {
		if s.From == s.To {
			continue
		}
		for _, n := range sys.setting(s.Setting).Needs {
			i := slices.IndexFunc(want, func(a Assignment) bool { return a.Name == n.Name })
			switch {
			case i >= 0 && want[i].Value != n.Value:
				return nil, fmt.Errorf("%s and %s cannot be set at once; set %s first, then %s", n.Name, s.Setting, n.Name,
					s.Setting)
			case i < 0 && !slices.Contains(more, n):
				more = append(more, n)
			}
		}
	}
	return more, nil
}

// contradiction is why they cannot be together, or with what is in force.
func (list steps) contradiction(sys *System) error {
	for _, s := range list {
		if against := sys.setting(s.Setting).against; against != nil {
			if err := against(sys, s, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved are the files that steps may change beside their own. One that has its value already
// must be looked at afterwards, as a minimum that was asked for together with a maximum below it.
func (list steps) moved(sys *System) map[string]bool {
	paths := map[string]bool{}
	for _, s := range list {
		if s.From != s.To {
			for _, side := range sys.setting(s.Setting).sides(sys, s.Object) {
				paths[side.Object.Path] = true
			}
		}
	}
	return paths
}

// disturbs reports whether a step may change the object of a path.
func (s Step) disturbs(sys *System, path string) bool {
	return slices.ContainsFunc(sys.setting(s.Setting).sides(sys, s.Object),
		func(side Side) bool { return side.Object.Path == path })
}

// among is the setting as it will be for an object when the steps before it are done.
func (s Setting) among(o Object, before steps) Setting {
	if s.LockedBy == "" {
		return s
	}
	if v, ok := before.value(s.LockedBy, o.Name); ok && v != s.LockedAt {
		if w, ok := s.Takes.(words); ok {
			s.Takes = words{known: w.known}
		}
	}
	return s
}

// step is what would be written to one object. The error is about the value, or is unsettable.
func (s Setting) step(sys *System, o Object, want string) (Step, error) {
	from, err := s.read(sys, o)
	if err != nil {
		return Step{}, unsettable{unreadable(o, err)}
	}
	to, err := s.target(sys, o, want)
	if err != nil {
		return Step{}, err
	}
	step := Step{Setting: s.Name, Object: o, From: from, To: to}
	if from != to || s.Held {
		err := sys.FS.Writable(o.Path)
		step.Barred = sys.Planning && errors.Is(err, fs.ErrPermission)
		if err != nil && !step.Barred {
			return Step{}, unsettable{errors.New(s.refuse(o, to, err).Reason)}
		}
	}
	if to != want {
		step.Want = want
	}
	if k, ok := s.Takes.(rounder); ok {
		step.Note = k.rounded(sys, o, want, to)
	}
	return step, nil
}

// target is the value that a person's word stands for.
func (s Setting) target(sys *System, o Object, want string) (string, error) {
	to, err := s.Takes.parse(sys, o, want)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Label(s.Name, o.Name), err)
	}
	levels, err := s.Takes.levels(sys, o)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Label(s.Name, o.Name), err)
	}
	if levels != nil && !slices.Contains(levels, to) {
		return "", fmt.Errorf("%s cannot be %s here: it takes %s", Label(s.Name, o.Name), want, strings.Join(levels, ", "))
	}
	return to, nil
}

func only(sys *System, s Setting, objects []Object, name string) ([]Object, error) {
	var names []string
	for _, o := range objects {
		if o.Name == name {
			return []Object{o}, nil
		}
		if o.Name != "" {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s@%s: %s has one value for the whole machine; leave out @%s", s.Name, name, s.Name, name)
	}
	if file := s.FileOf(name); strings.HasPrefix(file, cpuDir) && slices.Contains(sys.numbered(cpuDir, "cpu"), name) {
		return nil, fmt.Errorf("%s@%s: %s cannot be changed here; the kernel has no %s", s.Name, name, name, file)
	}
	text := "it has " + names[0]
	if len(names) > 1 {
		text += " ... " + names[len(names)-1]
	}
	// One of another number is another thing, and not what was meant.
	if near := screen.Meant(name, names); near != "" && stem(near) != stem(name) {
		text = "did you mean " + near + "?"
	}
	return nil, fmt.Errorf("%s@%s: there is no such object; %s", s.Name, name, text)
}

// stem is a name without its numbers: cpu/state of cpu3/state2.
func stem(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name)
}

func unknown(sys *System, name string) error {
	var names []string
	for _, s := range sys.all() {
		names = append(names, s.Name)
	}
	if s, ok := everywhere.find(name); ok {
		return fmt.Errorf("%s is a setting of %s", s.Name, map[bool]string{true: "Windows", false: "Linux"}[s.Windows()])
	}
	if near := screen.Meant(name, names); near != "" {
		return fmt.Errorf("%s: there is no such setting; did you mean %s?", screen.Short(name), near)
	}
	if len(names) == 0 {
		return errors.New("there are no settings on this system")
	}
	return fmt.Errorf("%s: there is no such setting; 'hostlab settings' lists them", screen.Short(name))
}
