package runner

import (
	"fmt"
	"maps"
	"path/filepath"
	"strconv"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/result/store"
	"hostlab/internal/setting"
	"hostlab/internal/workload/all"
)

// workloads are those that a study may name. Tests have one more.
var workloads = all.Workloads

// Known is all that a study may name in this program.
func Known() experiment.Known {
	return experiment.Known{Workloads: workloads(), Policy: emulate.Check, Setting: func(typed string) (string, error) {
		s, err := setting.Named(typed)
		return s.Name, err
	}}
}

// Recorded returns the study of a record, with what the command line had set in it,
// as it was when the experiment began; the file may have changed since, or be gone.
// Since its commands will be run, a record of another user is refused.
// With over, that is set in it instead, to be compared with the record.
func Recorded(dir string, over *experiment.Overrides) (*experiment.Study, error) {
	r, err := store.LoadToRun(dir)
	if err != nil {
		return nil, err
	}
	x := r.Experiment
	if over == nil {
		o, err := overrides(x.Overrides)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		over = &o
	}
	st, err := experiment.Parse(x.File, filepath.Dir(x.File), r.Study, *over, Known())
	if err == nil && !st.Seeded {
		st.Design.Seed = x.Design.Seed
	}
	return st, err
}

// Overrides returns what the command line had set in a study. A study's own text is
// always understood; a record's may be damaged.
func Overrides(st *experiment.Study) experiment.Overrides {
	o, _ := overrides(st.Overrides)
	return o
}

// overrides is the inverse of experiment.Study.Overrides.
func overrides(recorded map[string]string) (o experiment.Overrides, err error) {
	o.Set = maps.Clone(recorded)
	_, o.Quick = recorded[experiment.QuickKey]
	delete(o.Set, experiment.QuickKey)
	for key, read := range map[string]func(text string) error{
		"aa":     func(text string) (err error) { o.AA, err = strconv.Atoi(text); return err },
		"blocks": func(text string) (err error) { o.Blocks, err = strconv.Atoi(text); return err },
		"seed": func(text string) error {
			seed, err := strconv.ParseUint(text, 10, 64)
			o.Seed = &seed
			return err
		},
	} {
		text, ok := recorded[key]
		if ok && read(text) != nil {
			return o, fmt.Errorf("%s was set to %q", key, text)
		}
		delete(o.Set, key)
	}
	return o, nil
}
