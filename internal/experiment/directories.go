package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// levelPrefix begins what the command line sets of a level.
const levelPrefix = "level."

// directories reads what levels stand for, from the file and from the command line.
func (p *parser) directories(i int, x *Factor, param workload.Param) {
	at := p.factorAt(i, "directories")
	if param.Kind != "string" {
		p.add(at, "parameter %s of workload %s is no directory", param.Name, p.desc.Name)
		return
	}
	x.Directories = map[string]Directory{}
	// Which directory a run gets is not known yet: any will do, to ask whether the workload
	// takes one at all beside what else is given.
	p.varied = append(p.varied, variant{x.Parameter, p.s.Dir, at})
	for _, l := range slices.Sorted(maps.Keys(p.f.Factor[i].Directories)) {
		if !slices.Contains(x.Levels, l) {
			p.addHint(at, screen.Meant(l, x.Levels), "directories: factor %s has no level %q", x.Name, screen.Short(l))
			continue
		}
		p.directory(x, l, string(p.f.Factor[i].Directories[l]), at, false)
	}
	for _, l := range x.Levels {
		if text, ok := p.over.Set[levelPrefix+l]; ok {
			p.directory(x, l, text, place{source: "--set " + levelPrefix + screen.Short(l) + "=" + screen.Short(text)}, true)
		}
	}
	if x.Directories[x.Baseline].Delay > 0 {
		p.s.Evidence = result.Emulated // every comparison is with it
	}
}

func (p *parser) directory(x *Factor, level, text string, at place, given bool) {
	d, err := parseDirectory(text)
	d.Given = given
	switch {
	case err != nil:
		p.add(at, "%v", err)
	case text == "":
		p.add(at, "names no directory")
	default:
		x.Directories[level] = d
	}
}

// strayLevels tells of directories on the command line that no factor takes.
func (p *parser) strayLevels() {
	var known []string
	for _, f := range p.s.Factors {
		if f.Directories != nil {
			known = append(known, f.Levels...)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.over.Set)) {
		l, ok := strings.CutPrefix(k, levelPrefix)
		if !ok || slices.Contains(known, l) {
			continue
		}
		at := place{source: "--set " + screen.Short(k) + "=" + screen.Short(p.over.Set[k])}
		if len(known) == 0 {
			p.add(at, "no factor of this study has levels that stand for directories")
			continue
		}
		hint := screen.Meant(l, known)
		if hint != "" {
			hint = levelPrefix + hint
		}
		p.addHint(at, hint, "no level %q stands for a directory: there are %s", screen.Short(l), strings.Join(known, ", "))
	}
}

func (d Directory) String() string {
	if d.Delay == 0 {
		return d.Dir
	}
	text := delayPrefix + screen.Brief(d.Delay)
	if d.Dir != "" {
		text += ":" + d.Dir
	}
	return text
}

// delayPrefix begins what is slowed.
const delayPrefix = "delay:"

// mostDelay is far above any device that still works.
const mostDelay = time.Minute

// parseDirectory reads DIRECTORY, delay:TIME or delay:TIME:DIRECTORY.
func parseDirectory(s string) (Directory, error) {
	rest, slow := strings.CutPrefix(s, delayPrefix)
	if !slow {
		if strings.ContainsRune(s, 0) {
			return Directory{}, errors.New("a directory has no zero byte in its name")
		}
		return Directory{Dir: s}, nil
	}
	text, dir, named := strings.Cut(rest, ":")
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return Directory{}, fmt.Errorf(
			"%q is not a delay: write %[2]sTIME or %[2]sTIME:DIRECTORY, with a time such as 500us or 1ms", s,
			delayPrefix)
	case d <= 0 || d > mostDelay:
		return Directory{}, fmt.Errorf("a delay of %s: expected above 0, up to %s", text, mostDelay)
	case named && dir == "":
		return Directory{}, fmt.Errorf("%q names no directory after the last colon", s)
	}
	return Directory{Dir: dir, Delay: d}, nil
}
