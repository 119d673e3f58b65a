package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// lookCase is one machine for one check. Strings are parts of what is expected;
// empty ones are not looked at.
type lookCase struct {
	id, name string
	role     Role // "" means production-db
	facts    func(f *host.Facts)
	want     Status
	evidence string // of "path = value"
	detail   string
	remedy   string
}

// allCases are the cases of every subject, each in the test file beside it.
func allCases() []lookCase {
	return slices.Concat(powerCases, limitsCases, windowsCases, idleCases, memoryCases, kernelCases, queueCases, schedulerCases,
		engineCases, serverCases,
		storageCases, virtCases, networkCases, cardCases, mountCases, habitCases, cloudCases)
}

func (c lookCase) facts0() *host.Facts {
	f := &host.Facts{}
	c.facts(f)
	return f
}

func (c lookCase) run(t *testing.T) Result {
	t.Helper()
	return c.runOn(t, c.facts0())
}

func (c lookCase) runOn(t *testing.T, f *host.Facts) Result {
	t.Helper()
	ck := testkit.Must(Find(c.id))(t)
	role := cmp.Or(c.role, ProductionDB)
	return Run(f, role, []Check{ck})[0]
}

func TestLooks(t *testing.T) {
	for _, c := range allCases() {
		t.Run(c.id+"/"+c.name, func(t *testing.T) {
			r := c.run(t)
			testkit.Is(t, c.want, r.Status, "status", "detail", r.Detail, "evidence", r.Evidence)
			var rows []string
			for _, e := range r.Evidence {
				rows = append(rows, e.Path+" = "+e.Value)
			}
			expectPart(t, "evidence", strings.Join(rows, "\n"), c.evidence)
			expectPart(t, "detail", r.Detail, c.detail)
			expectPart(t, "remedy", r.Remedy, c.remedy)
		})
	}
}

func expectPart(t *testing.T, what, got, part string) {
	t.Helper()
	testkit.Has(t, got, part, what)
}

// TestCasesCoverEveryCheck fails for a check that nobody has shown to find
// something, to be content, not to apply and to say that it cannot see.
func TestCasesCoverEveryCheck(t *testing.T) {
	seen := map[string]map[Status]bool{}
	for _, c := range allCases() {
		if seen[c.id] == nil {
			seen[c.id] = map[Status]bool{}
		}
		seen[c.id][c.want] = true
	}
	for _, c := range All() {
		for _, s := range []Status{OK, Finding, NotApplicable, Unknown} {
			if !seen[c.ID][s] {
				t.Errorf("no case in which %s (%s) is %s", c.ID, c.Title, s)
			}
		}
	}
}

func known[T any](v T, source string) host.Fact[T] { return host.Known(v, "", source) }

func hz(ghz float64, source string) host.Fact[int64] {
	return host.Known(int64(ghz*1e6)*1000, "Hz", source)
}

func size(bytes int64, source string) host.Fact[int64] { return host.Known(bytes, "B", source) }

func secs(us float64, source string) host.Fact[float64] { return host.Known(us*1e-6, "s", source) }

func denied[T any](source string) host.Fact[T] { return host.Unknown[T](source, fs.ErrPermission) }

func failed[T any](source string) host.Fact[T] { return host.Unknown[T](source, errors.New("broken")) }

func absent[T any](source string) host.Fact[T] { return host.Unknown[T](source, fs.ErrNotExist) }

// pick makes a choice as the kernel writes it, the active one in brackets.
func pick(source, text string) host.Fact[host.Choice] {
	var c host.Choice
	for _, w := range strings.Fields(text) {
		bare := strings.Trim(w, "[]")
		c.Offers = append(c.Offers, bare)
		if bare != w {
			c.Active = bare
		}
	}
	if len(c.Offers) == 1 {
		c.Active = c.Offers[0]
	}
	return known(c, source)
}

const cpufreqDir = "/sys/devices/system/cpu/cpufreq/policy"

// policies makes n alike policies and lets each be changed.
func policies(n int, each func(p *host.Policy, dir string)) []host.Policy {
	ps := make([]host.Policy, n)
	for i := range ps {
		ps[i].ID = i
		each(&ps[i], fmt.Sprintf("%s%d", cpufreqDir, i))
	}
	return ps
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
