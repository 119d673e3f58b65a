package check

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// words are what random facts say: what checks look for, and rubbish.
var words = []string{"", "performance", "powersave", "schedutil", "balance_performance", "acpi-cpufreq", "intel_pstate",
	"amd-pstate-epp", "low-power balanced performance", "on", "off", "notsupported", "tsc", "hpet", "kvm-clock", "kvm",
	"none",
	"write back", "write through", "rw,discard", "memory", "network", "pmem-block", "pmem-dax", "ssd", "nvme", "disk",
	"ext4",
	"Amazon EC2 m5.large", "6.1.0", "GenuineIntel", "idle=poll", "\x1b[31mred\nnext", "\u202eright to left", "\xff\xfe",
	"/a path/with 'quotes' and $(a command)", strings.Repeat("long/", 60), strings.Repeat("x", 200)}

var isFact = strings.HasPrefix

// fill gives every field of v a random value. Facts get each state, with and
// without a source; anything else is as the types allow.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		if isFact(v.Type().Name(), "Fact[") {
			fillFact(t, v, depth)
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i), depth)
		}
	case reflect.Pointer:
		if depth < 6 && rapid.Bool().Draw(t, "pointer") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "n")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), depth+1)
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom(words).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-10, 1e10).Draw(t, "float"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Int64Range(-2, 200), rapid.Int64()).Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint"))
	default:
		t.Fatalf("no random value for %s", v.Type())
	}
}

func fillFact(t *rapid.T, v reflect.Value, depth int) {
	state := rapid.SampledFrom([]host.State{"", host.StateOK, host.StateOK, host.StateOK, host.StateAbsent,
		host.StateDenied, host.StateError}).Draw(t, "state")
	v.FieldByName("State").SetString(string(state))
	v.FieldByName("Source").SetString(rapid.SampledFrom([]string{"", "/sys/a/cpu0/x", "/sys/a/cpu1/x", "/proc/b"}).Draw(t,
		"source"))
	if state == host.StateOK {
		fill(t, v.FieldByName("Value"), depth+1)
	}
}

// TestAnyFacts holds what every answer promises, whatever the host says.
func TestAnyFacts(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		f := &host.Facts{}
		fill(t, reflect.ValueOf(f).Elem(), 0)
		role := rapid.SampledFrom(Roles).Draw(t, "role")
		before := testkit.Must(json.Marshal(f))(t)
		results := Run(f, role, All())
		if after, _ := json.Marshal(f); string(before) != string(after) {
			t.Fatal("a check changed the facts")
		}
		if again := Run(f, role, All()); !reflect.DeepEqual(results, again) {
			t.Fatal("a second look gives another answer")
		}
		for _, r := range results {
			promises(t, r)
		}
		var b strings.Builder
		testkit.OK(t, document.WriteText(&b, Document(named("host"), role, results, rapid.Bool().Draw(t, "verbose"), time.Time{}),
			document.TextOptions{}))
		for line := range strings.SplitSeq(b.String(), "\n") {
			if bad := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r == '\u202e' }); bad >= 0 {
				t.Fatalf("control character in %q", line)
			}
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func promises(t fataler, r Result) {
	switch r.Status {
	case Finding:
		if len(r.Evidence) == 0 || r.Detail == "" || r.Remedy == "" {
			t.Fatalf("%s: a finding without evidence, detail or remedy: %+v", r.ID, r)
		}
	case Unknown:
		blind := slices.ContainsFunc(r.Evidence, func(e Evidence) bool {
			return e.Value == "denied" || strings.HasPrefix(e.Value, "error: ")
		})
		if read := len(r.Evidence) > 0 && strings.Contains(r.Detail, "not know"); !blind && !read || r.Detail == "" {
			t.Fatalf("%s: unknown without saying what could not be read: %+v", r.ID, r)
		}
	case OK, NotApplicable:
		if r.Detail == "" || r.Remedy != "" {
			t.Fatalf("%s: %s without a reason, or with a remedy: %+v", r.ID, r.Status, r)
		}
	default:
		t.Fatalf("%s: status %q", r.ID, r.Status)
	}
	for _, e := range r.Evidence {
		if e.Path == "" || e.Value == "" {
			t.Fatalf("%s: empty evidence: %+v", r.ID, r)
		}
	}
}

// TestNoFacts is the emptiest host there is: nobody has looked.
func TestNoFacts(t *testing.T) {
	for _, role := range Roles {
		for _, f := range []*host.Facts{nil, {}} {
			for _, r := range Run(f, role, All()) {
				promises(t, r)
				testkit.Is(t, NotApplicable, r.Status, r.ID, "as", role, "without any facts")
			}
		}
	}
}

// withState gives every known fact another state, as for a user who may read
// nothing, or a machine that has nothing.
func withState(v reflect.Value, s host.State) {
	switch v.Kind() {
	case reflect.Struct:
		if isFact(v.Type().Name(), "Fact[") {
			if v.FieldByName("State").String() == string(host.StateOK) {
				v.FieldByName("State").SetString(string(s))
				v.FieldByName("Value").SetZero()
			}
			return
		}
		for i := range v.NumField() {
			withState(v.Field(i), s)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			withState(v.Elem(), s)
		}
	case reflect.Slice:
		for i := range v.Len() {
			withState(v.Index(i), s)
		}
	}
}

// TestFindingsNeedEyes takes away what each finding stands on. A check that may
// not read must say so, and one whose object is gone must not apply: neither
// may still find fault, nor be content.
func TestFindingsNeedEyes(t *testing.T) {
	// These recognise their object by a fact that is gone then.
	elsewhere := map[string]bool{"KRN-008": true}
	for _, c := range allCases() {
		if c.want != Finding {
			continue
		}
		for state, want := range map[host.State]Status{host.StateDenied: Unknown, host.StateError: Unknown,
			host.StateAbsent: NotApplicable} {
			if elsewhere[c.id] {
				want = NotApplicable
			}
			blind := c
			blind.facts = func(f *host.Facts) {
				c.facts(f)
				withState(reflect.ValueOf(f).Elem(), state)
			}
			if r := blind.run(t); r.Status != want {
				t.Errorf("%s/%s with all facts %s: %s (%s), want %s", c.id, c.name, state, r.Status, r.Detail, want)
			}
		}
	}
}

// better is a number that a check judges: of two values, the better one must not be a finding where the worse one is
// none.
type better struct {
	check string
	name  string
	from  int64 // the range of values, from the best to the worst
	to    int64
	set   func(f *host.Facts, v int64)
}

var betters = []better{
	{"MEM-005", "background ratio", 0, 100, func(f *host.Facts, v int64) { dirty(24*gib, 0, 0, 80, v)(f) }},
	{"MEM-005", "hard ratio", 0, 100, func(f *host.Facts, v int64) { dirty(24*gib, 0, 0, v, 90)(f) }},
	{"MEM-005", "both ratios", 0, 100, func(f *host.Facts, v int64) { dirty(24*gib, 0, 0, v, v/2)(f) }},
	{"MEM-005", "background bytes", 1, 8 << 30, func(f *host.Facts, v int64) { dirty(24*gib, 16*gib, v, 0, 0)(f) }},
	{"MEM-006", "swappiness", 1, 200, func(f *host.Facts, v int64) { swapping(v, 8*gib)(f) }},
	{"MEM-006", "swappiness below 1", 1, 0, func(f *host.Facts, v int64) { swapping(v, 8*gib)(f) }},
	{"KRN-002", "shmmax", 64 << 30, 0, func(f *host.Facts, v int64) { segments(uint64(v), 1<<60, 8*gib)(f) }},
	{"KRN-003", "shmall", 1 << 24, 0, func(f *host.Facts, v int64) { segments(1<<60, uint64(v), 8*gib)(f) }},
	{"KRN-005", "pid_max", 4194304, 301, func(f *host.Facts, v int64) {
		f.Kernel.PIDMax, f.Kernel.Threads = known(v, kernDir+"/pid_max"), known[int64](20000, "/proc/loadavg")
	}},
	{"KRN-008", "a volume's timeout, in s", 4294966, 1, func(f *host.Facts, v int64) { waiting(float64(v))(f) }},
	{"STO-003", "read-ahead, in KiB", 65536, 0, func(f *host.Facts,
		v int64) {
		drives("none", disk("vda", host.ClassVirtual, "[none]", 0, v))(f)
	}},
	{"IDL-001", "latency of the deepest state, in us", 0, 2000,
		func(f *host.Facts, v int64) { idling(float64(v), noLimit)(f) }},
	{"IDL-001", "limit of the latency, in us", 0, 2000, func(f *host.Facts, v int64) { idling(133, float64(v))(f) }},
	{"VRT-001", "stolen per mille", 0, 1000, func(f *host.Facts, v int64) {
		f.Virt.Hypervisor, f.Virt.Steal = known("kvm", "cpuid"), known(float64(v)/1000, "/proc/stat")
	}},
}

// TestMakingAValueBetterAddsNoFinding draws two values of each number.
func TestMakingAValueBetterAddsNoFinding(t *testing.T) {
	for _, b := range betters {
		t.Run(b.check+"/"+b.name, func(t *testing.T) {
			answers := map[Status]bool{}
			at := func(v int64) Status {
				f := &host.Facts{}
				b.set(f, v)
				s := Run(f, ProductionDB, []Check{testkit.Must(Find(b.check))(t)})[0].Status
				answers[s] = true
				return s
			}
			at(b.from)
			at(b.to)
			testkit.Check(t, rapid.Check, func(t *rapid.T) {
				good, bad := rapid.Int64Range(min(b.from, b.to), max(b.from, b.to)).Draw(t, "one"),
					rapid.Int64Range(min(b.from, b.to), max(b.from, b.to)).Draw(t, "other")
				if (good > bad) == (b.from < b.to) {
					good, bad = bad, good
				}
				if worse, now := at(bad), at(good); now == Finding && worse != Finding {
					t.Fatalf("%d is a finding, and the worse %d is %s", good, bad, worse)
				}
			})
			if !answers[Finding] || len(answers) < 2 {
				t.Errorf("the range shows only %v", answers)
			}
		})
	}
}
