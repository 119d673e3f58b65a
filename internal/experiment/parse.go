package experiment

import (
	"bytes"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// Parse reads and checks a study. file is only named in problems; dir, absolute,
// is where the study's relative paths start. The error is a *Problems.
func Parse(file, dir string, source []byte, o Overrides, k Known) (*Study, error) {
	p := &parser{file: file, known: k, over: o, s: &Study{File: file, Dir: dir, Source: source, Overrides: map[string]string{}}}
	if err := p.parse(source); err != nil {
		return nil, err
	}
	return p.s, nil
}

// parser holds a study while it is read. Its steps go on after a problem where
// they can, so that all are reported at once.
type parser struct {
	reader
	file  string
	known Known
	over  Overrides
	s     *Study
	desc  *workload.Description // nil: not known
	// varied are the levels of parameters, for the workload to check.
	varied []variant
}

// variant is a level of a parameter.
type variant struct {
	parameter string
	value     any
	at        place
}

// whole is the file as such.
func (p *parser) whole() place { return place{source: p.file} }

func (p *parser) parse(source []byte) error {
	data, bad := plainText(p.file, source)
	if bad != nil {
		return &Problems{[]Problem{*bad}}
	}
	tree, bad := parseTOML(p.file, data)
	if bad != nil {
		return &Problems{[]Problem{*bad}}
	}
	p.top(tree)
	p.override(tree)
	one := func(name string) fields {
		var v *value
		if e := tree.get(name); e != nil {
			v = e.value
		}
		return p.table(sectionNamed(name), v, p.whole())
	}
	study := one("study")
	p.study(study)
	work := one("workload")
	factors := p.tables(tree, "factor")
	p.workload(work, factors)
	p.factors(factors)
	responses := p.tables(tree, "response")
	p.responses(responses)
	p.validate(work, responses)
	if p.cells() {
		p.contrasts(p.tables(tree, "contrast"))
	}
	p.guard(one("guard"))
	p.design(one("design"), study)
	p.harm(one("harm"))
	return p.err()
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
	if !utf8.Valid(data) {
		n := 0
		for n < len(data) {
			if r, size := utf8.DecodeRune(data[n:]); r == utf8.RuneError && size == 1 {
				break
			} else {
				n += size
			}
		}
		at := newDocument(file, data).place(n)
		return nil, &Problem{file, at.line, at.column, "a byte that is not UTF-8; save the file as UTF-8", ""}
	}
	return data, nil
}

// top checks the names and forms of the tables.
func (p *parser) top(tree *value) {
	names := root.names()
	for _, s := range sections {
		names = append(names, s.name)
	}
	for _, e := range slices.Clone(tree.keys) {
		if k, ok := root.key(e.name); ok {
			if _, err := e.value.convert(k); err != nil {
				p.add(e.value.at, "schema is %s; this hostlab reads version 1", screen.Short(e.value.text))
			}
			continue
		}
		i := slices.IndexFunc(sections, func(s section) bool { return s.name == e.name })
		if i < 0 {
			hint, text := screen.Meant(e.name, names), "there is no table or key "+screen.Short(e.name)
			for _, s := range sections {
				if _, ok := s.key(e.name); ok && e.value.kind != unstable.InlineTable {
					hint, text = e.name+" under "+s.title(), e.name+" stands outside of its table"
					break
				}
			}
			p.addHint(e.at, hint, "%s", text)
			continue
		}
		s, isList := sections[i], e.value.kind == unstable.Array
		if s.many != isList {
			p.addHint(e.at, s.title(), "%s is written otherwise", e.name)
			tree.drop(e.name)
			if isList && len(e.value.list) > 0 { // read on with the first one
				tree.put(&entry{e.name, e.at, e.value.list[0]})
			} else if s.many && e.value.kind == unstable.InlineTable {
				tree.put(&entry{e.name, e.at, &value{at: e.at, kind: unstable.Array, list: []*value{e.value}}})
			}
		}
	}
}

// tables reads all tables of a name that may be there several times.
func (p *parser) tables(tree *value, name string) (list []fields) {
	e := tree.get(name)
	if e == nil {
		return nil
	}
	for i, v := range e.value.list {
		if i == maxTables {
			p.add(v.at, "%d tables [[%s]]; at most %d are read", len(e.value.list), name, maxTables)
			break
		}
		list = append(list, p.table(sectionNamed(name), v, e.at))
	}
	return list
}

// override puts what the command line sets into the tree.
func (p *parser) override(tree *value) {
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
		if p.vary(tree, k, v, at) {
			continue
		}
		name, ok := strings.CutPrefix(k, "workload.")
		if !ok || name == "" {
			hint := ""
			if !strings.Contains(k, ".") && k != "" {
				hint = "workload." + k
			}
			p.addHint(at, hint, "only these can be set: workload.KEY=VALUE, level.NAME=DIRECTORY, setting.NAME=LEVEL and "+
				"server.NAME=LEVEL")
			continue
		}
		p.s.Overrides[k] = v
		if w := tree.get("workload"); w != nil { // if not, table reports it
			w.value.put(&entry{name, at, &value{at: at, kind: fromCommandLine, text: v}})
		}
	}
}

// fromCommandLine is a value that the command line gave as text.
const fromCommandLine = unstable.Kind(-1)

func (p *parser) study(f fields) {
	s := p.s
	base := strings.TrimSuffix(filepath.Base(p.file), ".toml")
	s.Name = get(f, "name", base)
	if !nameForm.MatchString(s.Name) && !f.wrong("name") {
		p.add(f.at, "[study] needs name: %q, the file's name, cannot be one (letters, digits, _ and -)", screen.Short(base))
	}
	s.Title = get(f, "title", s.Name)
	s.Description = strings.TrimSpace(get(f, "description", ""))
	s.Evidence = result.Evidence(get(f, "evidence", string(result.Measured)))
	s.Section, s.Instead = get(f, "section", ""), get(f, "instead", "")
	s.Budget = get(f, "budget", time.Duration(0))
	s.Design.AA = int(get(f, "aa", int64(0)))
	if p.over.AA > 0 {
		s.Design.AA = p.over.AA
	}
	s.Design.Alpha = get(f, "alpha", 0.05)
	if s.Design.Alpha <= 0 || math.IsNaN(s.Design.Alpha) {
		p.add(f.place("alpha"), "alpha: %v: expected above 0 and up to 0.5", s.Design.Alpha)
		s.Design.Alpha = 0.05
	}
	s.Design.Seed = uint64(get(f, "seed", int64(0)))
	if p.over.Seed != nil {
		s.Design.Seed = *p.over.Seed
	}
	s.Seeded = f.has("seed") || p.over.Seed != nil
}

func (p *parser) guard(f fields) {
	g := &p.s.Guard
	for name, to := range map[string]**float64{"max_foreign_cpu": &g.MaxForeignCPU, "max_steal": &g.MaxSteal} {
		if f.has(name) {
			x := get(f, name, 0.0)
			*to = &x
		}
	}
	g.Throttling = get(f, "throttling", false)
	g.Mark = get(f, "exhausted", stops) == marks
	list := func(name string) (out []string) {
		for _, w := range list[string](f, name) {
			if slices.Contains(out, w.v) {
				p.add(w.at, "%s: %s is there twice", name, w.v)
				continue
			}
			out = append(out, w.v)
		}
		return out
	}
	g.Ours, g.Fingerprint = list("ours"), list("fingerprint")
}
