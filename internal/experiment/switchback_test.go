package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/studies"
)

// watched is a workload that watches a service.
type watched struct{ workload.Usual }

func (watched) Open(context.Context, workload.Config) (workload.Session, error) {
	return nil, errors.New("it is not run")
}

func (watched) Describe() workload.Description {
	lower := func(name, unit string) workload.Response {
		return workload.Response{Name: name, Unit: unit, Better: "lower"}
	}
	return workload.Description{Name: "watched", About: "A service.", Live: true, Responses: []workload.Response{
		lower("cpu_per_transaction", "s"), lower("latency_p99", "s"), {Name: "transactions_per_s", Unit: "1/s",
			Better: "higher"}}}
}

func (watched) Takes(_ workload.Params, block int) time.Duration {
	if block < 10 {
		return time.Minute
	}
	return 5 * time.Minute
}

// onService is a study of a service, with more of its lines in places of a table.
const onService = `[[factor]]
name = "idle"
apply = ["true", "{level}"]
restore = ["true"]
levels = ["all", "shallow"]
[workload]
name = "watched"
`

func parseWatched(text string) (*Study, error) {
	known := everything()
	known.Workloads = append(known.Workloads, watched{})
	return Parse("service.toml", "/", []byte(text), Overrides{}, known)
}

func TestSwitchback(t *testing.T) {
	s := testkit.Must(parseWatched(onService))(t)
	want := result.Design{Kind: result.Switchback, Alpha: 0.05, Looks: []int{10, 14, 20, 30, 43, 60, 86, 120}, Repeats: 1}
	testkit.Same(t, want, s.Design)
	if f := s.Factors[0]; f.Settle != PilotWashout || !f.Unsettled {
		t.Errorf("settles %v, a guess: %v", f.Settle, f.Unsettled)
	}
	nan := math.NaN()
	testkit.Is(t, "", cmp.Diff(&Harm{Responses: []string{"cpu_per_transaction", "latency_p99"}, Above: 0.4,
		Limits: []float64{nan, nan}, Strikes: 2, Every: 10 * time.Second},
		s.Harm, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })))
	// 1 warm-up, 10 short pairs, and long ones.
	if least, most := Duration(s, 0); least != 5*time.Minute+10*10*time.Minute || most != least+110*18*time.Minute {
		t.Errorf("takes %v to %v", least, most)
	}
	testkit.Equal(t, "testdata/switchback.txt", outlined(s))
}

// outlined is what a study does, a line a row.
func outlined(s *Study) string {
	var b strings.Builder
	for _, r := range Describe(s).Text {
		fmt.Fprintf(&b, "%s: %s\n", r.Label, r.Text)
	}
	return b.String()
}

// The coin of each pair is fair, whatever those before it showed.
func TestPairsAreDrawnByAFairCoin(t *testing.T) {
	s := testkit.Must(parseWatched(onService))(t)
	s.Design.Looks = []int{2000}
	for s.Design.Seed = range 5 {
		_, blocks := Plan(s)
		first, same := 0, 0
		for i, b := range blocks {
			if len(b.Plots) != 1 || len(b.Plots[0]) != 2 {
				t.Fatalf("pair %d is %v", i, b.Plots)
			}
			first += b.Plots[0][0]
			if i > 0 && b.Plots[0][0] == blocks[i-1].Plots[0][0] {
				same++
			}
		}
		for _, n := range []int{first, same} { // 5 standard deviations
			if math.Abs(float64(n)-1000) > 5*math.Sqrt(500) {
				t.Errorf("seed %d: the level came first in %d pairs of 2000, and the order of the pair before in %d",
					s.Design.Seed, first, same)
			}
		}
	}
}

func TestSwitchbackOfOwnWorkHasNoHarm(t *testing.T) {
	s := parse(t, smallest+"[design]\nkind = \"switchback\"\n", Overrides{})
	if s.Harm != nil || s.Design.Kind != result.Switchback || s.Factors[0].Settle != 0 || len(s.Warnings()) > 0 {
		t.Errorf("%+v, harm %v, warnings %v", s.Design, s.Harm, s.Warnings())
	}
}

// A period without a look would be watched by nobody.
func TestPeriodsHaveLooks(t *testing.T) {
	text := testkit.Must(studies.Files.ReadFile("live.toml"))(t)
	for short, want := range map[string]string{
		"1s":    "",
		"900ms": "live.toml: a period of 900ms is shorter than a look of 1s, so that harm would not be seen; make periods longer or looks shorter",
	} {
		study := strings.Replace(string(text), "[workload]", "[workload]\nevery = \"1s\"\nshort = \""+short+"\"", 1)
		_, err := Parse("live.toml", t.TempDir(), []byte(study), Overrides{}, everything())
		if said := fmt.Sprint(err); err == nil && want != "" || err != nil && said != want {
			t.Errorf("short = %s: %v, want %q", short, err, want)
		}
	}
}

// A live study has a name for each thing that it varies, and takes any other; the response that shows it decides.
func TestLives(t *testing.T) {
	k := everything()
	k.Setting = func(typed string) (string, error) { return typed, nil }
	for _, c := range []struct {
		study         string
		set           map[string]string
		factor, level string
		decides       string
	}{
		{"live-governor", nil, "governor", "performance", "cpu_per_transaction"},
		{"live-postgres", nil, "commit_delay", "1000", "elapsed_per_transaction"},
		{"live-scheduler", nil, "io_scheduler", "none", "elapsed_per_transaction"},
		{"live-thp", map[string]string{"setting.thp": "never"}, "thp", "never", "cpu_per_transaction"},
		{"live", map[string]string{"setting.read_ahead_kb": "128"}, "read_ahead_kb", "128", "elapsed_per_transaction"},
		{"live-scheduler", map[string]string{"setting.epp": "power"}, "epp", "power", "cpu_per_transaction"},
		{"live", map[string]string{"server.innodb_flush_log_at_trx_commit": "2"}, "innodb_flush_log_at_trx_commit", "2",
			"elapsed_per_transaction"},
	} {
		s, err := Find(c.study, Overrides{Set: c.set}, k)
		if err != nil {
			t.Fatalf("%s: %v", c.study, err)
		}
		f := s.Factors[0]
		if f.Name != c.factor || !slices.Equal(f.Levels, []string{Current, c.level}) || s.Name != c.study ||
			s.BuiltIn != c.study ||
			!strings.HasPrefix(s.Title, c.factor+" "+c.level+" on a live service") || len(s.Overrides) != len(c.set) {
			t.Errorf("%s: %s, %q, %+v", c.study, s.Name, s.Title, f)
		}
		testkit.Is(t, (c.study == "live-governor"), (s.Instead != ""), c.study, "instead", s.Instead)
		if again, err := Parse("copy.toml", "/", s.Source, Overrides{}, k); err != nil || c.set == nil &&
			again.Title != s.Title {
			t.Errorf("%s: its file: %v", c.study, err)
		}
		for _, r := range s.Responses {
			testkit.Is(t, (r.Name == c.decides), r.Primary, c.study, r.Name, "decides")
		}
	}
	for _, set := range []map[string]string{{"setting.thp": "never", "server.x": "1"},
		{"setting.thp": "never", "setting.epp": "power"}} {
		testkit.Refused(Find("live", Overrides{Set: set}, k))(t, "one can be varied at a time", set)
	}
	testkit.Is(t, len(files())+len(lives), len(Names()), Names())
}

func TestBadSwitchbacks(t *testing.T) {
	const factors, work = onService, "[workload]"
	for name, c := range map[string]struct{ text, want string }{
		"three levels": {strings.Replace(onService, `"shallow"`, `"shallow", "none"`, 1),
			"service.toml: a switchback compares one level with the baseline, and factor idle has 2 levels beside it; leave one"},
		"two factors": {strings.Replace(factors, work, strings.ReplaceAll(factors[:strings.Index(factors, work)],
			"idle", "clock")+work, 1),
			"service.toml: a switchback compares one level with the baseline, and there is a second factor, clock; take it out"},
		"reboot": {strings.Replace(onService, "restore", "change = \"reboot\"\nrestore", 1),
			`service.toml: factor idle has change = "reboot", and the service of a switchback keeps running; only what changes at once can be tried on it`},
		"another kind": {onService + "[design]\nkind = \"rcbd\"\n",
			`service.toml:9: kind = "rcbd", but workload watched watches a service that others use, which takes a switchback; take kind out`},
		"duplicate": {"[study]\naa = 7\n" + onService,
			"service.toml:2: aa = 7, but a service in use has no runs beside its pairs of periods; take it out"},
		"no load": {onService + "[design]\nload = \"transactions\"\n",
			`service.toml:9: load: the study has no response "transactions"; it has cpu_per_transaction, latency_p99, transactions_per_s; did you mean transactions_per_s?`},
		"own load": {onService + "[design]\nload = \"cpu_per_transaction\"\n",
			"service.toml:9: load: cpu_per_transaction decides, and what it is adjusted for would be its own effect; name another response"},
		"another load": {smallest + "[design]\nload = \"seconds\"\n",
			"service.toml:8: load belongs to a switchback; take it out"},
		"no harm": {smallest + "[harm]\n",
			"service.toml:7: [harm] watches a service that others use, and workload null does its own work; take it out"},
		"harm of what": {onService + "[harm]\nresponses = [\"latency\"]\n",
			"service.toml:9: [harm] watches latency, and neither the study nor workload watched has it"},
		"good harm": {onService + "[harm]\nresponses = [\"transactions_per_s\"]\n",
			"service.toml:9: [harm] watches transactions_per_s, of which more is better; harm is what rises"},
		"twice": {onService + "[harm]\nresponses = [\"latency_p99\", \"latency_p99\"]\n",
			"service.toml:9: responses: latency_p99 is there twice"},
		"limit of what": {onService + "[harm]\nlimit = {latency_p9 = \"20ms\"}\n",
			"service.toml:9: limit: [harm] does not watch latency_p9; it watches cpu_per_transaction, latency_p99; did you mean latency_p99?"},
		"limit of no unit": {onService + "[harm]\nlimit = {latency_p99 = \"20\"}\n",
			`service.toml:9: limit: "20" has no unit; write 20ms or 20s`},
		"limit": {onService + "[harm]\nlimit = {latency_p99 = \"20MB\"}\n",
			`service.toml:9: limit: "20MB" is no amount of s above 0`},
		"above": {onService + "[harm]\nabove = \"0%\"\n", "service.toml:9: above: 0% is outside of 1% to 1000%\n" +
			"service.toml: [harm] may have more mistakes, which show when those above are mended"},
		"nothing": {onService + "[[response]]\nname = \"transactions_per_s\"\n",
			"service.toml: nothing would say that the service is harmed: the study has none of latency_p99, latency, elapsed_per_transaction, cpu_per_transaction; name a response in [harm] responses"},
	} {
		_, err := parseWatched(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
		if _, ok := errors.AsType[*Problems](err); !ok {
			t.Errorf("%s: %T", name, err)
		}
	}
	s, err := parseWatched(onService + "[harm]\nlimit = {latency_p99 = \"20ms\"}\nabove = \"150%\"\nstrikes = 1\n")
	if err != nil || s.Harm.Limits[1] != 0.02 || s.Harm.Above != 1.5 || s.Harm.Strikes != 1 {
		t.Errorf("%v: %+v", err, s)
	}
}
