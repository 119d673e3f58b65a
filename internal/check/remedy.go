package check

import (
	"cmp"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// remedy is what changes a finding: commands, each with its remark, in the order of typing.
type remedy []command

// command is one line of a remedy.
type command struct {
	args   []string // a program with its arguments, which reach it as they are
	value  string   // or what root writes into files
	files  string   // of the kernel, perhaps a pattern of them, with no name of the host's
	into   []string // or these
	script string   // or text for a shell, which holds no name of the host's
	remark string   // behind it, or alone
}

func run(args ...string) command              { return command{args: args} }
func write(value, files string) command       { return command{value: value, files: files} }
func script(text string) command              { return command{script: text} }
func remark(text string) command              { return command{remark: text} }
func into(value string, to ...string) command { return command{value: value, into: to} }

// noting puts a remark behind a command.
func (c command) noting(text string) command {
	c.remark = text
	return c
}

// String is the command as a person types it.
func (c command) String() string {
	line := c.script
	var words []string
	for _, w := range append(c.args, c.into...) {
		words = append(words, screen.Word(w))
	}
	switch {
	case c.value != "":
		line = "echo " + screen.Word(c.value) + " | sudo tee " + c.files + strings.Join(words, " ")
	case c.args != nil:
		line = strings.Join(words, " ")
	}
	switch {
	case c.remark == "":
		return line
	case line == "":
		return "# " + c.remark
	}
	return line + " # " + c.remark
}

func (r remedy) String() string {
	lines := make([]string, len(r))
	for i, c := range r {
		lines[i] = c.String()
	}
	return strings.Join(lines, "\n")
}

// tillBoot stands below what writes to files of the kernel.
var tillBoot = remark("lasts until a reboot; hostlab export writes a profile that keeps it")

// sets are the commands for what is advised. Objects that get the same value share one.
func sets(advice []setting.Assignment) (out remedy) {
	files := false
	for _, a := range advice {
		s, _ := setting.Find(a.Name)
		value, err := s.Spell(a.Value)
		if err != nil {
			value = a.Value
		}
		if s.Sysctl != "" {
			set := s.Sysctl + "=" + value
			out = append(out, run("sudo", "sysctl", "-w", set), script(`echo "`+set+`" | sudo tee -a /etc/sysctl.d/90-hostlab.conf`))
			continue
		}
		files = true
		file := strings.Replace(s.Files[0], "*", a.Object, 1)
		i := slices.IndexFunc(out, func(c command) bool { return c.into != nil && c.value == value })
		switch {
		case a.Object == "":
			out = append(out, write(value, strings.ReplaceAll(s.Files[0], "[0-9]", "")))
		case i >= 0:
			out[i].into = append(out[i].into, file)
		default:
			out = append(out, into(value, file))
		}
	}
	if files {
		out = append(out, tillBoot)
	}
	return out
}

// advised returns what a check says to set.
func (c Check) advised(f *host.Facts, r Role) (list []setting.Assignment) {
	if c.advise != nil {
		return c.advise(f, r)
	}
	for _, s := range setting.All() {
		if v := s.Advice[c.ID]; v != "" {
			list = append(list, setting.Assignment{Name: s.Name, Value: v})
		}
	}
	return list
}

// Advise returns what a host's findings of at least a severity recommend to set, in the order
// of the checks, each setting and object once. left says of each other finding why it is not set.
func Advise(f *host.Facts, r Role, results []Result, least Severity) (list []setting.Assignment, left []string) {
	for _, res := range results {
		if res.Status != Finding || res.Severity < least {
			continue
		}
		c, _ := Find(res.ID)
		advice := c.advised(f, r)
		list = add(list, advice)
		if len(advice) == 0 {
			left = append(left, res.ID+", "+res.Title+": "+cmp.Or(c.left, "a person decides; see 'hostlab explain-check "+res.ID+"'"))
		}
	}
	return list, left
}

// Recommended returns what the checks of a role recommend on any host, whatever this one
// has, for a profile that many hosts share. Information alone is left out, and so is what depends on the host
// or speaks for some servers alone.
func Recommended(r Role) (list []setting.Assignment) {
	for _, c := range all {
		if sev, applies := c.Severity[r]; applies && sev >= Low && c.For == nil {
			list = add(list, c.advised(&host.Facts{}, r))
		}
	}
	return list
}

func add(list, more []setting.Assignment) []setting.Assignment {
	for _, a := range more {
		if !slices.ContainsFunc(list, func(b setting.Assignment) bool { return a.Name == b.Name && a.Object == b.Object }) {
			list = append(list, a)
		}
	}
	return list
}
