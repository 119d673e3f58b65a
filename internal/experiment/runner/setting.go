package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/workload"
)

// Look says which levels of a factor this host does not have, and why: values that its
// kernel does not offer or that need rights that we do not have, and directories that
// are not there; and on what the others lie.
func Look(s *experiment.Study, f experiment.Factor) experiment.Here {
	return look(setting.Local(nil), s, f)
}

func look(sys *setting.System, s *experiment.Study, f experiment.Factor) experiment.Here {
	if f.Directories != nil {
		return lookAt(s, f)
	}
	out := map[string]string{}
	for _, level := range f.Levels {
		if level == experiment.Current {
			continue
		}
		switch f.Kind {
		case experiment.KindSetting:
			p, err := setting.NewPlan(sys, []setting.Assignment{{Name: f.Setting, Value: level}})
			switch {
			case err != nil:
				out[level] = err.Error()
			case len(p.Skipped) > 0: // on a part of the objects it would not be that level
				out[level] = p.Skipped[0].Reason
			}
		case experiment.KindParameter:
			if why := missing(s, f, level); why != "" {
				out[level] = why
			}
		case experiment.KindEmulated:
			if err := emulate.Usable(); err != nil {
				out[level] = err.Error()
			}
		}
	}
	return experiment.Here{Lacks: out}
}

// missing says what this host lacks for a level of a parameter.
func missing(s *experiment.Study, f experiment.Factor, level string) string {
	w, demanding := s.Work.(workload.Demanding)
	if !demanding {
		return ""
	}
	if _, ok := s.Work.Describe().Param(f.Parameter); !ok { // a name in a command's arguments
		return ""
	}
	p, err := workload.With(s.Workload.Params, f.Parameter, level)
	if err != nil { // the study was checked
		return ""
	}
	return w.Lacks(p, host.Tree{})
}

// settings changes settings of the host for levels. The journal of the settings has
// what every object was, so that they are put back exactly, and found by 'hostlab
// revert' after a kill; this experiment's own journal has which factor was changed.
type settings struct {
	sys   *setting.System
	j     *setting.Journal
	owner string
	held  map[string]string            // factor -> level, of settings that cannot be read back
	was   map[string]map[string]string // factor -> object -> what it had before the first change, where that is a level
}

// openSettings opens the journal of this host's settings, which no other process then
// has. dir is that of the record: the owner of what is changed.
func openSettings(sys *setting.System, journal, dir string) (*settings, error) {
	owner, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if journal == "" {
		if journal, err = setting.JournalDir(); err != nil {
			return nil, err
		}
	}
	j, err := setting.OpenJournal(sys, journal)
	if err != nil {
		return nil, err
	}
	if p := j.Problem(); p != nil {
		j.Close() //nolint:errcheck // the problem tells more
		return nil, p
	}
	return &settings{sys: sys, j: j, owner: owner, held: map[string]string{}, was: map[string]map[string]string{}}, nil
}

// objects are those of a setting; one that cannot be read is an error.
func (s *settings) objects(l *lever) ([]setting.State, error) {
	set, ok := setting.Find(l.Setting)
	if !ok {
		return nil, fmt.Errorf("no setting is known by the name %s", l.Setting)
	}
	states, err := set.Read(s.sys)
	for _, st := range states {
		if st.Problem != "" {
			return nil, errors.New(st.Problem)
		}
	}
	return states, err
}

// valuesOf are what objects have.
func valuesOf(objects []setting.State) map[string]string {
	out := map[string]string{}
	for _, st := range objects {
		out[st.Path] = st.Value
	}
	return out
}

// save takes down what is there, where that is one of the levels, and refuses what another owner has changed.
func (s *settings) save(l *lever) (err error) {
	for _, level := range l.Levels {
		p, err := setting.NewPlan(s.sys, []setting.Assignment{{Name: l.Setting, Value: level}})
		if level == experiment.Current || err != nil {
			continue // setting it tells
		}
		if err := s.j.Free(s.owner, p); err != nil {
			return err
		}
	}
	if !slices.Contains(l.Levels, experiment.Current) {
		return nil
	}
	if err := differs(s.sys, l.Setting, l.Levels); err != nil {
		return err
	}
	objects, err := s.objects(l)
	s.was[l.Name] = valuesOf(objects)
	return err
}

// inForce is which of the levels but what there was an object of a setting would not be changed for; "": none. The
// error is that of levels that cannot be set.
func inForce(sys *setting.System, name string, levels []string) (level string, err error) {
	for _, l := range levels {
		if l == experiment.Current {
			continue
		}
		p, wrong := setting.NewPlan(sys, []setting.Assignment{{Name: name, Value: l}})
		if err = errors.Join(err, wrong); wrong == nil && len(p.Steps) == 0 && len(p.Skipped) == 0 {
			return l, err
		}
	}
	return "", err
}

// differs refuses a level of a setting that is there already, where what is there is one of the levels.
func differs(sys *setting.System, name string, levels []string) error {
	if !slices.Contains(levels, experiment.Current) {
		return nil
	}
	level, err := inForce(sys, name, levels)
	if err == nil && level != "" {
		err = fmt.Errorf("%s is %s already, so this level would equal the baseline; name another with --set "+
			"setting.%s=LEVEL", name, level, name)
	}
	return err
}

// read returns the level in force, or what is there instead.
func (s *settings) read(l *lever) (string, error) {
	if set, _ := setting.Find(l.Setting); set.Held {
		if level, ok := s.held[l.Name]; ok {
			return level, nil
		}
		if s.was[l.Name] != nil {
			return experiment.Current, nil
		}
		return "not held", nil
	}
	objects, err := s.objects(l)
	if was := s.was[l.Name]; err == nil && was != nil && maps.Equal(valuesOf(objects), was) {
		return experiment.Current, nil
	}
	if level, _ := inForce(s.sys, l.Setting, l.Levels); level != "" {
		return level, nil
	}
	if err != nil {
		return "", err
	}
	count := map[string]int{}
	for _, st := range objects {
		count[st.Shown]++
	}
	if len(count) == 1 {
		return objects[0].Shown, nil
	}
	var list []string
	for _, v := range sortedKeys(count) {
		list = append(list, v+" on "+screen.Count(count[v], "object"))
	}
	return strings.Join(list, ", "), nil
}

// apply writes a level to all objects. One that the kernel makes something else of is
// an error: it would not be the level that the study names.
func (s *settings) apply(ctx context.Context, l *lever, level string) error {
	if level == experiment.Current {
		delete(s.held, l.Name)
		return s.back(ctx, false)
	}
	p, err := setting.NewPlan(s.sys, []setting.Assignment{{Name: l.Setting, Value: level}})
	if err != nil {
		return err
	}
	if len(p.Skipped) > 0 {
		return fmt.Errorf("%s: %s", setting.Label(l.Setting, p.Skipped[0].Name), p.Skipped[0].Reason)
	}
	out, err := setting.Apply(ctx, s.sys, s.j, s.owner, p, false)
	if err != nil {
		return err
	}
	for _, o := range out {
		if o.Result != setting.Changed && o.Result != setting.Unchanged {
			return fmt.Errorf("%s was set to %s and reads %s: %s", setting.Label(o.Setting, o.Name), o.To, o.Read, o.Reason)
		}
	}
	s.held[l.Name] = level
	return nil
}

// back puts back every object that this experiment has changed, of all factors.
// Objects that another program has changed meanwhile are left, and are an error.
func (s *settings) back(ctx context.Context, force bool) error {
	reach := setting.ReachOurs
	if force {
		reach = setting.ReachAll
	}
	out, err := setting.Revert(ctx, s.sys, s.j, s.owner, reach)
	errs := []error{err}
	for _, o := range out {
		switch o.Result {
		case setting.Foreign:
			errs = append(errs, &foreign{fmt.Sprintf("%s reads %q and was %q: another program has set it, so it was left",
				setting.Label(o.Setting, o.Name), o.Read, o.To)})
		case setting.Gone, setting.Failed:
			if err == nil {
				errs = append(errs, fmt.Errorf("%s was not put back to %q: %s", setting.Label(o.Setting, o.Name), o.To, o.Reason))
			}
		}
	}
	return errors.Join(errs...)
}

func (s *settings) close() error {
	if s == nil {
		return nil
	}
	return s.j.Close()
}
