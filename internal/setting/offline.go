package setting

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Offline reads assignments for hosts that are not at hand, as a profile for them has them: in the
// order in which they were given, each value as Spell gives it. What NewPlan refuses on any host it
// refuses alike: an unknown name or value, an object of what has one value only, and settings that
// exclude each other.
func Offline(want []Assignment) ([]Assignment, error) {
	nobody := &System{FS: nowhere{}}
	jobs, err := nobody.jobs(want)
	if err != nil {
		return nil, err
	}
	names := []string{""} // of objects: those that are named, and before them all others
	for _, j := range jobs {
		if !slices.Contains(names, j.a.Object) {
			names = append(names, j.a.Object)
		}
	}
	spelled := map[Assignment]string{}
	at := map[string]int{}
	var list steps
	for _, j := range jobs {
		value, err := j.s.Spell(j.a.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Label(j.s.Name, j.a.Object), err)
		}
		if one := j.s.alone(); j.a.Object != "" && one != nil {
			_, err := only(nobody, j.s, one, j.a.Object)
			return nil, err
		}
		spelled[j.a] = value
		for _, name := range names {
			if j.a.Object != "" && j.a.Object != name {
				continue
			}
			step := Step{Setting: j.s.Name, Object: Object{Name: name}, To: value}
			key := j.s.Name + "@" + name
			if i, twice := at[key]; twice { // NAME=A NAME@OBJECT=B: the last one counts
				list[i] = step
				continue
			}
			at[key] = len(list)
			list = append(list, step)
		}
	}
	if err := list.contradiction(nobody); err != nil {
		return nil, err
	}
	out := slices.Clone(want)
	for i, a := range want {
		s, _ := nobody.named(a.Name)
		out[i].Name, out[i].Value = s.Name, spelled[a]
	}
	return out, nil
}

// Spell reads a value as it was typed, without a host that could say what it offers:
// the word, the number in the kernel's unit, or min, max, all and shares as they are.
func (s Setting) Spell(value string) (string, error) { return s.Takes.spell(value) }

// Written returns what is written to a file for a value as Spell gives it. The error is of one that
// means different things on different hosts.
func (s Setting) Written(file, value string) (string, error) {
	if k, ok := s.Takes.(filer); ok {
		return k.inFile(file, value)
	}
	return value, nil
}

// nowhere is a machine without any file.
type nowhere struct{}

func (nowhere) ReadFile(string) ([]byte, error)        { return nil, fs.ErrNotExist }
func (nowhere) WriteFile(string, []byte) error         { return fs.ErrNotExist }
func (nowhere) Hold(string, []byte) (io.Closer, error) { return nil, fs.ErrNotExist }
func (nowhere) Writable(string) error                  { return fs.ErrNotExist }
func (nowhere) ReadDir(string) ([]string, error)       { return nil, fs.ErrNotExist }
