package command

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// template is a text in which {name} is replaced.
type template struct{ param, text string }

// templates lists the texts of a configuration, in a fixed order.
func templates(v *Params) []template {
	var out []template
	for _, word := range v.Run {
		out = append(out, template{"run", string(word)})
	}
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		out = append(out, template{"env." + name, string(v.Env[name])})
	}
	return append(out, template{"stdin", v.Stdin}, template{"dir", v.Dir})
}

// expand replaces each {name} with value(name). {{ is a brace; a } that closes
// nothing stands for itself, so that JSON needs no more than its { doubled.
func expand(text string, value func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		if strings.HasPrefix(text, "{") {
			b.WriteByte('{')
			text = text[1:]
			continue
		}
		name, rest, ok := strings.Cut(text, "}")
		if !ok {
			return "", fmt.Errorf("the brace before %q is not closed; write {{ for a brace", text)
		}
		v, err := value(name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		text = rest
	}
}

// own are the names that hostlab itself gives a value, and the parameters that hold no names.
var own = []string{"out", "seed", "ramp"}

// known are the names that templates may have.
type known struct {
	factors map[string]bool // nil: any
}

func (k known) check(param, text string) error {
	_, err := expand(text, func(name string) (string, error) {
		if k.factors[name] || k.factors == nil && name != "" {
			return "", nil
		}
		if slices.Contains(k.names(nil), name) {
			return "", nil
		}
		return "", unknownName(name, k.names(k.factors))
	})
	if err != nil {
		return workload.Wrong(param, err.Error(), "")
	}
	return nil
}

func (k known) names(factors map[string]bool) []string {
	return slices.Concat(slices.Sorted(maps.Keys(factors)), own)
}

func unknownName(name string, names []string) error {
	if near := screen.Meant(name, names); near != "" {
		return fmt.Errorf("{%s} is no factor and no parameter; did you mean {%s}? {{ is a brace", name, near)
	}
	return fmt.Errorf("{%s} is no factor and no parameter: there are %s; write {{ for a brace", name,
		strings.Join(names, ", "))
}

// filler fills the templates of one run.
type filler struct {
	request workload.Request
	out     string
}

// uses reports whether a template has {name}.
func (f filler) uses(v *Params, name string) bool {
	return slices.ContainsFunc(templates(v), func(t template) bool { return strings.Contains(t.text, "{"+name+"}") })
}

func (f filler) value(name string) (string, error) {
	if level, ok := f.request.Levels[name]; ok {
		return level, nil
	}
	switch name {
	case "out":
		return f.out, nil
	case "seed":
		return strconv.FormatUint(f.request.Seed, 10), nil
	case "ramp":
		return f.request.Params.(*Params).Ramp.String(), nil
	}
	levels := map[string]bool{}
	for name := range f.request.Levels {
		levels[name] = true
	}
	return "", unknownName(name, known{}.names(levels))
}

// call is a program that is ready to be started.
type call struct {
	work  string // that the program is marked with
	name  string // as given, for messages
	path  string
	args  []string // with the program's name first
	env   []string // NAME=value, added to those of this process
	stdin string   // absolute, or ""
	dir   string
}

// call fills the templates, and finds the program.
func (f filler) call(v *Params, base string) (c call, err error) {
	fill := func(param, text string) string {
		s, ferr := expand(text, f.value)
		if ferr != nil && err == nil {
			err = workload.Wrong(param, ferr.Error(), "")
		}
		return s
	}
	for _, word := range v.Run {
		c.args = append(c.args, fill("run", string(word)))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		c.env = append(c.env, name+"="+fill("env."+name, string(v.Env[name])))
	}
	c.dir = workload.Under(base, fill("dir", v.Dir))
	if stdin := fill("stdin", v.Stdin); stdin != "" {
		c.stdin = workload.Under(base, stdin)
	}
	if err != nil {
		return c, err
	}
	if len(c.args) == 0 || c.args[0] == "" {
		return c, workload.Wrong("run", "names no program", "")
	}
	if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
		return c, workload.Wrong("dir", c.dir+" is not a directory", "relative ones start at "+base)
	}
	c.name = c.args[0]
	c.path, err = find(c.name, base)
	return c, err
}

// find returns the program's file. A name with a slash is a path, relative to
// base; any other is looked for in PATH.
func find(name, base string) (string, error) {
	if filepath.Base(name) == name {
		path, err := exec.LookPath(name)
		if err == nil {
			return path, nil
		}
		hint := "check the spelling, or give its path"
		if info, serr := os.Stat(filepath.Join(base, name)); serr == nil && !info.IsDir() {
			hint = fmt.Sprintf("for the file in %s write %q", base, "./"+name)
		}
		return "", workload.Wrong("run", fmt.Sprintf("no program %q in PATH", name), hint)
	}
	path, err := exec.LookPath(workload.Under(base, name))
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", workload.Wrong("run", fmt.Sprintf("no program %s", workload.Under(base, name)),
			"relative paths start at "+base)
	case errors.Is(err, fs.ErrPermission):
		return "", workload.Wrong("run", fmt.Sprintf("%s may not be executed", workload.Under(base, name)),
			"chmod +x, or name its interpreter first")
	}
	return "", workload.Wrong("run", fmt.Sprintf("cannot run %s: %v", workload.Under(base, name), errors.Unwrap(err)), "")
}
