package runner

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/setting"
	"hostlab/internal/workload"
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
	o, err := overrides(x.Overrides)
	if over != nil {
		o, err = *over, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	o.BuiltIn = x.BuiltIn
	st, err := experiment.Parse(x.File, filepath.Dir(x.File), r.Study, o, Known())
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

// Changed is the error of a record that may not be gone on with, since the study
// or the host is another than it was. What is one line, Diff are several.
type Changed struct{ What, Diff string }

func (c *Changed) Error() string { return c.What }

// same reports a study that is not the record's: runs of two studies are not to be
// averaged. Unlike its place, its text and what the command line set are the study.
func same(r *store.Record, now *experiment.Study) error {
	if r.Experiment.Study == experiment.Hash(now) {
		return nil
	}
	text := lines(changes(r.Experiment.Overrides, now.Overrides, "%s = %s (set on the command line)"))
	if !bytes.Equal(r.Study, now.Source) {
		text += string(diff.Diff("the study as recorded in "+r.Dir, r.Study, "the study as it is now", now.Source))
	}
	return &Changed{
		What: fmt.Sprintf(
			"the study has changed since %s began; resume with the study as it was (leave its name out), or start anew "+
				"in another directory", r.Dir),
		Diff: text,
	}
}

// refit makes a recorded study fit the machine as it did when it began, and reports
// a machine on which it does not.
func refit(x *result.Experiment, s *experiment.Study, m workload.Machine,
	look func(*experiment.Study, experiment.Factor) experiment.Here) (*experiment.Study, error) {
	if x.Machine != nil {
		m.Measured = x.Machine.Measured
	}
	fit, err := experiment.Fit(s, m, look)
	if err != nil {
		return nil, err
	}
	then, now := found(x.Machine, x.Absent, x.Places), found(fit.Known, fit.Absent, fit.Places)
	if list := changes(then, now, "%s: %s"); len(list) > 0 {
		return nil, &Changed{What: "the host has changed since the experiment began, in what the workload can have on it; start anew " +
			"in another directory", Diff: lines(list)}
	}
	return fit, nil
}

func found(m *result.Machine, absent []result.Absent, places []result.Place) map[string]string {
	out := map[string]string{}
	for _, a := range absent {
		out["no "+a.Factor+" "+a.Level] = a.Reason
	}
	for _, p := range places {
		out[p.Factor+" "+p.Level] = strings.Join(append([]string{p.On}, p.Cautions...), "; ")
	}
	for _, f := range m.Facts() {
		out[f[0]] = f[1]
	}
	return out
}

// changes are what two maps do not have in common, each in a form of its name and value.
func changes(then, now map[string]string, form string) (list []string) {
	for _, k := range sortedKeys(then, now) {
		a, was := then[k]
		b, is := now[k]
		if was && (!is || a != b) {
			list = append(list, "-"+fmt.Sprintf(form, k, a))
		}
		if is && (!was || a != b) {
			list = append(list, "+"+fmt.Sprintf(form, k, b))
		}
	}
	return list
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

// sortedKeys returns the keys of maps, in order, each once.
func sortedKeys[V any](ms ...map[string]V) []string {
	var keys []string
	for _, m := range ms {
		keys = slices.AppendSeq(keys, maps.Keys(m))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
