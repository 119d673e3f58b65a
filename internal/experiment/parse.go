package experiment

import (
	"bytes"
	"cmp"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// Parse reads and checks a study. file is only named in problems; dir, absolute,
// is where the study's relative paths start. The error is a *Problems.
func Parse(file, dir string, source []byte, o Overrides, k Known) (*Study, error) {
	p := &parser{file: file, known: k, over: o, set: map[string]place{}, there: map[string]bool{},
		bad: map[string]bool{}, s: &Study{File: file, Dir: dir, Source: source, BuiltIn: o.BuiltIn,
			Overrides: map[string]string{}}}
	if err := p.parse(source); err != nil {
		return nil, err
	}
	return p.s, nil
}

// or is what a key gives, or what is so without it.
func or[T any](given *T, other T) T {
	if given == nil {
		return other
	}
	return *given
}

// parser holds a study while it is read. Its steps go on after a problem where
// they can, so that all are reported at once.
type parser struct {
	collector
	file  string
	lines []string
	f     File
	work  WorkloadTable
	set   map[string]place // keys of [workload] that the command line gives
	there map[string]bool  // names of tables that the file has
	bad   map[string]bool  // those of them that cannot be read
	later []string         // the headers of these and of those that build on them
	extra int              // keys that are unknown and resemble none: nothing follows from them
	known Known
	over  Overrides
	s     *Study
	desc  *workload.Description // nil: not known
	// varied are the levels of parameters, for the workload to check.
	varied []variant
}

type variant struct {
	parameter string
	value     string
	at        place
}

func (p *parser) whole() place { return place{source: p.file} }

func (p *parser) parse(source []byte) error {
	data, bad := plainText(p.file, source)
	if bad != nil {
		return &Problems{[]Problem{*bad}}
	}
	p.lines = strings.Split(string(data), "\n")
	if !p.decode(data) {
		return p.err()
	}
	p.step("", p.override, "workload", "factor", "response")
	p.step("study", p.study)
	p.step("workload", p.workload)
	p.step("factor", p.factors, "workload")
	p.step("response", p.responses, "workload")
	p.step("", p.validate, "workload", "factor", "response")
	p.step("contrast", func() {
		if p.cells() {
			p.contrasts()
		}
	}, "workload", "factor", "response")
	p.step("guard", p.guard)
	p.step("design", p.design, "workload", "factor", "response")
	p.step("harm", p.harm, "workload", "factor", "response", "design")
	if len(p.later) > 0 {
		p.add(p.whole(), "%s may have more mistakes, which show when those above are mended", strings.Join(p.later, ", "))
	}
	return p.err()
}

// step checks a table by what it means, unless it or a table that it builds on cannot be read: what follows from a
// mistake is none.
func (p *parser) step(table string, check func(), needs ...string) {
	unread := func(name string) bool { return p.bad[name] }
	switch {
	case unread(table) && table != "":
		p.later = append(p.later, titled(table))
	case !slices.ContainsFunc(needs, unread):
		check()
	case p.there[table]:
		p.later = append(p.later, titled(table))
	}
}

// plainText returns the text of a file without a byte order mark, which Windows'
// editors write.
func plainText(file string, source []byte) ([]byte, *Problem) {
	data, _ := bytes.CutPrefix(source, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > maxFile:
		return nil, &Problem{File: file, Text: tooLarge}
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return nil, &Problem{File: file, Text: "is UTF-16; save it as UTF-8"}
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &Problem{File: file, Text: "is empty; start from 'hostlab study show gzip-level'"}
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return nil, &Problem{file, i + 1, "a byte that is not UTF-8; save the file as UTF-8", ""}
		}
	}
	return data, nil
}

// override puts what the command line sets into the tables.
func (p *parser) override() {
	if p.over.Seed != nil {
		p.s.Overrides["seed"] = strconv.FormatUint(*p.over.Seed, 10)
	}
	if n := p.over.AA; n != 0 {
		p.s.Overrides["aa"] = strconv.Itoa(n)
		if n > maxAA {
			p.add(place{source: "--aa " + strconv.Itoa(n)}, "expected 1 to %d pairs", maxAA)
		}
	}
	if b := p.over.Blocks; b != 0 {
		p.s.Overrides["blocks"] = strconv.Itoa(b)
		if b < 1 || b > maxBlocks {
			p.add(place{source: "--blocks " + strconv.Itoa(b)}, "expected 1 to %d blocks", maxBlocks)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.over.Set)) {
		v := p.over.Set[k]
		at := place{source: "--set " + screen.Short(k) + "=" + screen.Short(v)}
		if strings.HasPrefix(k, levelPrefix) {
			p.s.Overrides[k] = v // directories reads it
			continue
		}
		if p.vary(k, v, at) {
			continue
		}
		if k == SettleKey {
			p.s.Overrides[k] = v
			p.settle(v, at)
			continue
		}
		name, ok := strings.CutPrefix(k, "workload.")
		if !ok || name == "" {
			hint := ""
			if !strings.Contains(k, ".") && k != "" {
				hint = "workload." + k
			}
			p.addHint(at, hint, "only these can be set: workload.KEY=VALUE, settle=TIME, level.NAME=DIRECTORY, "+
				"setting.NAME=LEVEL and server.NAME=LEVEL")
			continue
		}
		p.s.Overrides[k] = v
		p.set[name] = at
		switch {
		case p.f.Workload == nil: // workload reports it
		case slices.Contains(keysOf("workload"), name):
			p.key(at, "workload", reflect.ValueOf(&p.work).Elem(), name, workload.Typed(v))
		default:
			p.fix(name, v)
			p.f.Workload[name] = workload.Typed(v)
		}
	}
	p.decides()
	if p.over.Quick {
		p.quick()
	}
}

func (p *parser) study() {
	s, f := p.s, &p.f.Study
	base := strings.TrimSuffix(filepath.Base(p.file), ".toml")
	s.Name = cmp.Or(string(f.Name), base)
	if !nameForm.MatchString(s.Name) {
		p.add(p.at("study", 0, ""), "[study] needs name: %q, the file's name, cannot be one (letters, digits, _ and -)",
			screen.Short(base))
	}
	s.Title = cmp.Or(f.Title, s.Name)
	s.Description = strings.TrimSpace(f.Description)
	s.Evidence = cmp.Or(f.Evidence, result.Measured)
	s.Section, s.Instead, s.Budget = f.Section, string(f.Instead), f.Budget.Duration
	s.Design.AA = cmp.Or(max(0, p.over.AA), or(f.AA, 0))
	if s.Design.Alpha = or(f.Alpha, 0.05); !(s.Design.Alpha > 0) {
		p.add(p.at("study", 0, "alpha"), "alpha: %v: expected above 0 and up to 0.5", s.Design.Alpha)
		s.Design.Alpha = 0.05
	}
	s.Design.Seed = uint64(or(f.Seed, 0))
	if p.over.Seed != nil {
		s.Design.Seed = *p.over.Seed
	}
	s.Seeded = f.Seed != nil || p.over.Seed != nil
}

func (p *parser) guard() {
	g, f := &p.s.Guard, &p.f.Guard
	g.MaxForeignCPU, g.MaxSteal = (*float64)(f.MaxForeignCPU), (*float64)(f.MaxSteal)
	g.Throttling, g.Mark = f.Throttling, f.Exhausted == "mark"
	g.Ours = f.Ours
	for _, name := range f.Fingerprint {
		if slices.Contains(g.Fingerprint, string(name)) {
			p.add(p.at("guard", 0, "fingerprint"), "fingerprint: %s is there twice", name)
			continue
		}
		g.Fingerprint = append(g.Fingerprint, string(name))
	}
}
