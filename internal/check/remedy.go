package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	format string   // of printf, for its value
	words  []string // that it prints
	script string   // or text for a shell, which holds no name of the host's
	remark string   // after it, or alone
}

func run(args ...string) command              { return command{args: args} }
func write(value, files string) command       { return command{value: value, files: files} }
func script(text string) command              { return command{script: text} }
func remark(text string) command              { return command{remark: text} }
func into(value string, to ...string) command { return command{value: value, into: to} }

// noting puts a remark after a command.
func (c command) noting(text string) command {
	c.remark = text
	return c
}

// effect is what else a change of a setting does.
func effect(name string) string {
	s, _ := setting.Find(name)
	return s.Effect
}

// String is the command as a person types it.
func (c command) String() string {
	line := c.script
	var words []string
	for _, w := range append(c.args, c.into...) {
		words = append(words, screen.Word(w))
	}
	switch {
	case c.format != "":
		line = "printf " + screen.Word(c.format)
		for _, w := range c.words {
			line += " " + screen.Word(w)
		}
		line += " | sudo tee " + strings.Join(words, " ")
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

// with puts a remark below the commands.
func (r remedy) with(text string) remedy { return append(r, remark(text)) }

// and adds what another server takes; a remark that both end with stands once.
func (r remedy) and(more remedy) remedy {
	if n := len(r); n > 0 && len(more) > 0 && r[n-1].remark != "" && r[n-1].String() == more[len(more)-1].String() {
		r = r[:n-1]
	}
	return append(slices.Clone(r), more...)
}

func (r remedy) String() string {
	lines := make([]string, len(r))
	for i, c := range r {
		lines[i] = c.String()
	}
	return strings.Join(lines, "\n")
}

// tillBoot stands below what a profile keeps best.
var tillBoot = remark("lasts until a reboot; hostlab export writes a profile that keeps it")

// sets are the commands for what is advised, now and at every boot. Objects that get the same value share one.
func sets(f *host.Facts, advice []setting.Assignment) (out remedy) {
	var keep remedy
	for n, a := range advice {
		s, _ := setting.Find(a.Name)
		value, err := s.Spell(a.Value)
		if err != nil {
			value = a.Value
		}
		if s.Sysctl != "" {
			k := s.Keep("", value)
			now := []string{"-p", k.File}
			if s.Module != "" {
				now = []string{"-q", s.Sysctl + "=" + value}
			}
			out = append(out, into(k.Words[0], k.File).noting(s.Effect), run(append([]string{"sudo", "sysctl"}, now...)...))
			continue
		}
		file := strings.Replace(s.Files[0], "*", a.Object, 1)
		i := slices.IndexFunc(out, func(c command) bool { return c.into != nil && c.value == value })
		switch {
		case a.Object == "":
			file = strings.ReplaceAll(s.Files[0], "[0-9]", "")
			out = append(out, write(value, file).noting(s.Effect))
		case i >= 0:
			out[i].into = append(out[i].into, file)
		default:
			out = append(out, into(value, file).noting(s.Effect))
		}
		if last := n == len(advice)-1 || advice[n+1].Name != a.Name; last {
			keep = append(keep, kept(f, s.Name, s.Files[0], value, keptOn(f, s.Name, value)...)...)
		}
	}
	return append(append(out, keep...), tools(f, out)...)
}

// kept are the commands that keep a value over a reboot. Of TuneD the profile does, and would win over a file.
func kept(f *host.Facts, name, files, value string, disks ...string) remedy {
	if f.Kernel.TunedProfile.State == host.StateOK {
		return remedy{remark("a profile of TuneD is active, and may set it again; hostlab export tuned writes one that " +
			"builds on it")}
	}
	s, _ := setting.Find(name)
	k := s.Keep(strings.ReplaceAll(files, "[0-9]", ""), value, disks...)
	return remedy{command{format: k.Format, words: k.Words, into: []string{k.File}}.noting("keeps it over a reboot")}
}

// tools warns where a tool that keeps sysctls is active, too. It names no profile or note: a shell would run what
// stands after a line's end in a name.
func tools(f *host.Facts, commands remedy) (out remedy) {
	ofFile := func(c command) bool { return slices.Contains(c.args, "sysctl") && slices.Contains(c.args, "-p") }
	if !slices.ContainsFunc(commands, ofFile) {
		return nil
	}
	if f.Kernel.TunedProfile.State == host.StateOK {
		out = append(out, remark("a profile of TuneD is active: with reapply_sysctl=1, its default, this file wins over it"))
	}
	if f.Kernel.SaptuneNotes.State == host.StateOK {
		out = append(out, remark("saptune has notes applied: 'saptune note verify' reports a file that differs; "+
			"hostlab export saptune writes a note"))
	}
	return out
}

// keptOn are the disks for which a file keeps a value: all that are judged and shall have it, since the file is
// written as a whole.
func keptOn(f *host.Facts, name, value string) (names []string) {
	switch name {
	case "io_scheduler":
		for _, b := range disks(f) {
			if c := b.Scheduler.Or(host.Choice{}); !spinning(f, b) && cmp.Or(unsorted(c), c.Active) == value {
				names = append(names, b.Name)
			}
		}
	case "io_timeout":
		for _, b := range volumes(f) {
			names = append(names, b.Name)
		}
	}
	return names
}

// advised returns what a check says to set.
func (c Check) advised(f *host.Facts, r Role) []setting.Assignment {
	switch {
	case c.advise != nil:
		return withoutLowering(f, c.advise(f, r))
	case c.goals != nil:
		return withoutLowering(f, missed(c.goals(f)))
	}
	return withoutLowering(f, slices.Clone(byAdvice[c.ID]))
}

// byAdvice are the values that settings advise, by check.
var byAdvice = func() map[string][]setting.Assignment {
	out := map[string][]setting.Assignment{}
	for _, s := range setting.All() {
		for id, v := range s.Advice {
			out[id] = append(out[id], setting.Assignment{Name: s.Name, Value: v})
		}
	}
	return out
}()

// Advise returns what a host's findings of at least a severity recommend to set, in the order
// of the checks, each setting and object once. left says of each other finding, and of each that is accepted, why it is
// not set.
func Advise(f *host.Facts, r Role, results []Result, least Severity) (list []setting.Assignment, left []string) {
	for _, res := range results {
		if res.Status == Accepted && res.Severity >= least {
			left = append(left, res.Exception.withheld(res.Title))
		}
		if res.Status != Finding || res.Severity < least {
			continue
		}
		c, _ := Find(res.ID)
		advice := c.advised(f, r)
		list = add(list, advice)
		if len(advice) == 0 {
			left = append(left, res.ID+", "+res.Title+": "+cmp.Or(c.left,
				"a person decides; see 'hostlab check --explain "+res.ID+"'"))
		}
	}
	return list, left
}

// Recommended returns what the checks of a role recommend for this host and others of its kind, whatever their
// settings are: for the servers and disks that it has, no limit lower than it has, and no other value where its own is
// accepted. Information alone is left out, and so are what else depends on the host, and the checks that an exception
// excuses.
func Recommended(f *host.Facts, r Role, excused map[string]Exception) (list []setting.Assignment) {
	alike := &host.Facts{Databases: f.Databases, Apps: f.Apps, Identity: f.Identity, Virt: f.Virt, Storage: f.Storage,
		Data: f.Data}
	alike.Memory.NUMABalancing = f.Memory.NUMABalancing // of which a part stays
	for _, c := range all() {
		if _, is := excused[c.ID]; !is && c.speaks(f, r) {
			list = add(list, withAccepted(f, c, r, withoutLowering(f, c.advised(alike, r))))
		}
	}
	if judged := keptOn(f, "io_scheduler", "none"); len(f.Block) > 0 &&
		slices.ContainsFunc(list, func(a setting.Assignment) bool { return a.Name == "io_scheduler" }) {
		list = slices.DeleteFunc(list, func(a setting.Assignment) bool { return a.Name == "io_scheduler" })
		for _, b := range disks(f) {
			if slices.Contains(judged, b.Name) && sortingOn(f, b) >= Low {
				list = append(list, setting.Assignment{Name: "io_scheduler", Object: b.Name, Value: "none"})
			}
		}
	}
	return list
}

// speaks says that a check has more than information for a role and for servers of a host.
func (c Check) speaks(f *host.Facts, r Role) bool {
	sev, applies := c.Severity[r]
	return applies && sev >= Low && (c.asked == nil || c.asked(f)) && (c.For == nil || len(of(c.For, servers(f))) > 0)
}

func add(list, more []setting.Assignment) []setting.Assignment {
	for _, a := range more {
		if !slices.ContainsFunc(list, func(b setting.Assignment) bool { return a.Name == b.Name && a.Object == b.Object }) {
			list = append(list, a)
		}
	}
	return list
}

// withoutLowering gives limits the higher of what is advised and what the host has: a limit costs nothing, and to lower
// one may stop what runs under it.
func withoutLowering(f *host.Facts, list []setting.Assignment) []setting.Assignment {
	for i, a := range list {
		if s, ok := setting.Find(a.Name); ok && s.Limit {
			list[i].Value = higher(a.Value, f.AsRead(s.Files[0]))
		}
		if a.Name == "ip_local_port_range" {
			list[i].Value = wider(a.Value, f.Network.PortRange.Or(nil))
		}
	}
	return list
}

// withAccepted puts what the host has in place of what is advised where the check accepts that, so that a profile does
// not replace it. What is in force in another form, such as a limit in %, is left out.
func withAccepted(f *host.Facts, c Check, r Role, list []setting.Assignment) (out []setting.Assignment) {
	var wrong []setting.Assignment
	switch runOne(f, r, c).Status {
	case OK:
	case Finding:
		wrong = c.advised(f, r)
	default:
		return list
	}
	for _, a := range list {
		now, known := inForce(f, a.Name)
		bad := slices.ContainsFunc(wrong, func(w setting.Assignment) bool { return w.Name == a.Name })
		if known && !bad {
			a.Value = now
		}
		if a.Value != "" {
			out = append(out, a)
		}
	}
	return out
}

// inForce is what the host has of a setting of which checks accept several values; "" where another form of it is in
// force.
func inForce(f *host.Facts, name string) (value string, known bool) {
	m, n := f.Memory, f.Network
	switch name {
	case "swappiness":
		if m.SwapTotal.Or(1) == 0 { // every value is accepted, and none is recommended
			return "", true
		}
		value = asRead(m.Swappiness)
	case "dirty_bytes", "dirty_background_bytes":
		fact := map[bool]host.Fact[int64]{true: m.DirtyBytes, false: m.DirtyBackgroundBytes}[name == "dirty_bytes"]
		if value = asRead(fact); value == "0" {
			return "", true
		}
	case "ksm":
		value = asRead(m.KSM)
	case "thp":
		value = m.THPEnabled.Or(host.Choice{}).Active
	case "thp_defrag":
		value = m.THPDefrag.Or(host.Choice{}).Active
	case "tcp_keepalive_time":
		value = asRead(n.KeepaliveTime)
	case "tcp_keepalive_intvl":
		value = asRead(n.KeepaliveIntvl)
	case "tcp_keepalive_probes":
		value = asRead(n.KeepaliveProbes)
	case "tcp_retries2":
		value = asRead(n.Retries2)
	case "tcp_timestamps":
		value = asRead(n.Timestamps)
	}
	return value, value != ""
}

func asRead[T any](f host.Fact[T]) string {
	if v, ok := f.Get(); ok {
		return fmt.Sprint(v)
	}
	return ""
}

// wider keeps an end of a range that goes further already.
func wider(advised string, has []int) string {
	var first, last int
	if n, _ := fmt.Sscan(advised, &first, &last); n != 2 || len(has) != 2 {
		return advised
	}
	return fmt.Sprint(min(first, has[0]), " ", max(last, has[1]))
}

// higher takes each number of a limit from where it is higher.
func higher(advised, has string) string {
	want, now := strings.Fields(advised), strings.Fields(has)
	if len(want) != len(now) {
		return advised
	}
	for i := range want {
		w, wrong := strconv.ParseUint(want[i], 10, 64)
		n, err := strconv.ParseUint(now[i], 10, 64)
		if wrong == nil && err == nil && n > w {
			want[i] = now[i]
		}
	}
	return strings.Join(want, " ")
}
