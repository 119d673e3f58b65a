package check

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/lazyre"
	"hostlab/internal/setting"
)

// reading is one value that a check judges: where it was read, how it is shown,
// what is known of it and whether it is as it should be.
type reading struct {
	path    string
	value   string
	state   host.State
	bad     bool
	context bool   // shown as evidence, but decides nothing
	needed  bool   // without it the others mean nothing
	of      int    // PID of the server that it is of, or for which it is judged; 0: the host
	why     string // it is unknown, as a sentence; "": by its state and value
}

const noSource = "(no source recorded)"

// read judges a fact. A fact that nobody has looked at counts as absent.
func read[T any](f host.Fact[T], good func(T) bool) reading {
	return readAs(f, func(v T) string { return display(v, f.Unit) }, good)
}

// readAs is read with a form of its own for the value.
func readAs[T any](f host.Fact[T], show func(T) string, good func(T) bool) reading {
	r := reading{path: cmp.Or(f.Source, noSource), state: f.State}
	switch f.State {
	case host.StateOK:
		r.value, r.bad = show(f.Value), !good(f.Value)
	case host.StateDenied:
		r.value = "denied"
	case host.StateError, host.StateMasked:
		r.value = "error: " + cmp.Or(f.Reason, "no reason recorded")
	default:
		r.state, r.value = host.StateAbsent, "absent"
	}
	return r
}

// oneOf judges a fact by the values that are known to be good or bad. Any other is unknown, and tell says who knows
// more of it.
func oneOf[T comparable](f host.Fact[T], good, bad []T, tell string) reading {
	return read(f, func(v T) bool { return slices.Contains(good, v) }).
		unless(slices.Contains(good, f.Value) || slices.Contains(bad, f.Value), tell)
}

// unless makes a reading unknown whose value hostlab does not know.
func (r reading) unless(known bool, tell string) reading {
	if r.state == host.StateOK && !known {
		return r.open(fmt.Sprintf("hostlab does not know the value %q of %s: %s", r.value, r.path, tell))
	}
	return r
}

// open makes a reading unknown, for a reason.
func (r reading) open(why string) reading {
	r.state, r.bad, r.why = host.StateError, false, why
	return r
}

// because says why a reading that could not be made is unknown.
func (r reading) because(sentence string) reading {
	if r.state == host.StateError || r.state == host.StateMasked {
		r.why = sentence
	}
	return r
}

// aside reads a fact that explains the others and decides nothing.
func aside[T any](f host.Fact[T]) reading {
	r := whole(f)
	r.context = true
	return r
}

// needed reads a fact that explains the others, and without which they mean nothing.
func needed[T any](f host.Fact[T]) reading { return aside(f).need() }

func (r reading) need() reading {
	r.needed = true
	return r
}

// whole reads a fact that has no wrong value, but without which there is no answer.
func whole[T any](f host.Fact[T]) reading { return read(f, func(T) bool { return true }) }

// What values are good.
func is[T comparable](want T) func(T) bool { return func(v T) bool { return v == want } }

func atLeast[T cmp.Ordered](least T) func(T) bool { return func(v T) bool { return v >= least } }

// unknown reports that the value was there and could not be read.
func (r reading) unknown() bool {
	return r.state == host.StateDenied || r.state == host.StateError || r.state == host.StateMasked
}

// wrong are the readings that are not as they should be.
func wrong(rs []reading) (out []reading) {
	for _, r := range rs {
		if r.bad && !r.context && r.state == host.StateOK {
			out = append(out, r)
		}
	}
	return out
}

// judge turns readings into an answer. One bad value makes a finding even if
// others could not be read; one unreadable value among good ones makes unknown,
// because the check cannot vouch for it; absent values decide nothing.
func (c Check) judge(v view) Result {
	var unknown []reading
	var absent, known bool
	for _, r := range v.readings {
		switch {
		case r.needed && r.unknown():
			return Result{Status: Unknown, Evidence: group(present(v.readings)), Detail: whyUnknown([]reading{r})}
		case r.needed && r.state != host.StateOK:
			absent = true
		case r.context:
		case r.unknown():
			unknown = append(unknown, r)
		case r.state == host.StateOK && !r.bad:
			known = true
		}
	}
	seen := group(present(v.readings))
	switch {
	case absent:
	case len(wrong(v.readings)) > 0:
		seen = group(present(append(wrong(v.readings),
			v.readings...))) // what is wrong first: of many rows the last are not shown
		fix := v.fix
		if fix == nil {
			fix = c.fix
		}
		return Result{Status: Finding, Evidence: seen, Detail: cmp.Or(v.bad, c.bad), Remedy: fix.String()}
	case len(unknown) > 0:
		return Result{Status: Unknown, Evidence: seen, Detail: whyUnknown(unknown)}
	case known:
		return Result{Status: OK, Evidence: seen, Detail: cmp.Or(v.ok, c.ok)}
	}
	return Result{Status: NotApplicable, Evidence: group(v.readings), Detail: cmp.Or(v.absent, c.absent)}
}

func whyUnknown(rs []reading) string {
	for _, r := range rs {
		if r.state == host.StateDenied {
			return "this user may not read " + r.path + "; run as root to see it"
		}
	}
	if rs[0].why != "" {
		return rs[0].why
	}
	if why, ok := strings.CutPrefix(rs[0].value, "error: "); ok && strings.HasPrefix(why, "hostlab does not know") {
		return why + " (" + rs[0].path + ")"
	}
	return "could not read " + rs[0].path + " (" + rs[0].value + ")"
}

func present(rs []reading) []reading {
	var out []reading
	for _, r := range rs {
		if r.state != host.StateAbsent {
			out = append(out, r)
		}
	}
	return out
}

// goal is a value that a setting should have here. It is advised only where the reading is wrong, so that no
// advice lowers a limit that is higher.
type goal struct {
	setting, value string
	reading        reading
}

// raised wants a number that is not below the one that a source names.
func raised(setting string, f host.Fact[int64], n int64) goal {
	return goal{setting, fmt.Sprint(n), read(f, atLeast(n))}
}

// lowered wants a number that is not above the one that a source names.
func lowered(setting string, f host.Fact[int64], n int64) goal {
	return goal{setting, fmt.Sprint(n), read(f, func(v int64) bool { return v <= n })}
}

// readings are those of a list of wanted values.
func readings(list []goal) (out []reading) {
	for _, w := range list {
		out = append(out, w.reading)
	}
	return out
}

// unread says that nobody has looked: the host is one of a kind, for which a profile is written.
func (g goal) unread() bool {
	return g.reading.path == noSource && g.reading.state == host.StateAbsent
}

// missed are the assignments of goals that are not reached, or of which nothing is known on hosts of a kind.
func missed(goals []goal) (list []setting.Assignment) {
	for _, g := range goals {
		if g.setting != "" && (g.unread() || len(wrong([]reading{g.reading})) > 0) {
			list = append(list, setting.Assignment{Name: g.setting, Value: g.value})
		}
	}
	return list
}

// share shows a share of time as pressure has it.
func share(v float64) string { return fmt.Sprintf("%.2f %% of the last 5 minutes", 100*v) }

// maskedCPUs is the reading of a host whose /sys is hidden, which tells nothing of its processor.
func maskedCPUs(f *host.Facts) []reading {
	if f.Topology.Present.State == host.StateMasked {
		return []reading{whole(f.Topology.Present)}
	}
	return nil
}

func agesWanted(f *host.Facts) []goal {
	within := func(most float64) func(float64) bool { return func(v float64) bool { return v > 0 && v <= most } }
	return []goal{{"dirty_expire_centisecs", "500", read(f.Memory.DirtyExpire, within(5))},
		{"dirty_writeback_centisecs", "100", read(f.Memory.DirtyWriteback, within(1))}}
}

func filesWanted(f *host.Facts) []goal {
	const want = 6815744
	return []goal{{"file_max", strconv.Itoa(want), read(f.Kernel.FileMax, atLeast[uint64](want))}}
}

func guestClockWanted(f *host.Facts) []goal {
	offered := f.Kernel.Clocksources
	v, ok := offered.Get()
	if ok && !strings.Contains(fmt.Sprintf(" %s ", v), " tsc ") {
		return nil
	}
	name := "clocksource"
	if !ok {
		name = "" // nobody knows whether tsc is offered
	}
	now := f.Kernel.Clocksource
	r := read(now, func(v string) bool { return v != "kvm-clock" })
	r.context = r.state == host.StateOK && now.Value != "tsc" && now.Value != "kvm-clock" // of which KRN-007 speaks
	return []goal{{name, "tsc", r}, {reading: needed(offered)}}
}

// unitName is what systemd takes as the name of a unit that a drop-in can change; scopes have none.
var unitName = lazyre.New(`^[A-Za-z0-9:_.@\\-]+\.(service|slice)$`)

// unitOf is the unit of this host's systemd that a control group is of: a service, or a slice of services. "" where it
// is another's: a session's, a container's, that of a user's own systemd, or a group that a service made for itself.
func unitOf(group string) string {
	words := strings.Split(strings.Trim(group, "/"), "/")
	unit := words[len(words)-1]
	for _, above := range words[:len(words)-1] {
		if !strings.HasSuffix(above, ".slice") {
			return ""
		}
	}
	if !unitName.MatchString(unit) || strings.HasPrefix(unit, "user@") {
		return ""
	}
	return unit
}

// serviceOf is the service that started a server; "" where no drop-in of this host's can change that.
func serviceOf(d host.Database) string {
	if unit := unitOf(d.Limits.Cgroup.Or("")); strings.HasSuffix(unit, ".service") {
		return unit
	}
	return ""
}

// limitedBy is the unit that a limit of a server is of, by the limit's file: the server's own, or one above it.
func limitedBy(d host.Database, file string) string {
	for group := d.Limits.Cgroup.Or(""); len(group) > 1; group = path.Dir(group) {
		if strings.HasSuffix(path.Dir(file), group) {
			return unitOf(group)
		}
	}
	return ""
}

// dropIn writes lines into a file of their own beside a unit's: to write it twice leaves it as it is.
func dropIn(unit, key string, lines ...string) remedy {
	dir, section := "/etc/systemd/system/"+unit+".d", "Service"
	if path.Ext(unit) == ".slice" {
		section = "Slice"
	}
	return remedy{
		run("sudo", "mkdir", "-p", dir),
		{format: `[` + section + `]\n` + strings.Repeat(`%s\n`, len(lines)), words: lines,
			into: []string{dir + "/90-hostlab-" + key + ".conf"}},
		run("sudo", "systemctl", "daemon-reload").noting("an override.conf of 'systemctl edit' would override this file"),
	}
}

// restart stands below what a server takes over when it starts.
var restart = remark("it takes effect when the server restarts: restart it when you can")
