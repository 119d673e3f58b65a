//go:build linux && amd64 && system

package windows

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// counters is what wine/pdh.c tells of the first processor. Others have no instance, whatever this machine has.
const counters = `\Processor Information(*)\% of Maximum Frequency
0,0 46
0,_Total 46
_Total 46
\Processor Information(*)\% Processor Performance
0,0 118.5
_Total 118.5
\Processor Information(*)\Parking Status
0,0 1
_Total 1
`

// factsSeen is what these tests read of 'hostlab facts --format json'.
type factsSeen struct {
	Windows struct {
		SchemeName     seen             `json:"scheme_name"`
		ProcessorPower []processorSeen  `json:"processor_power"`
		Instances      seen             `json:"sql_server_instances"`
		SQLServers     []map[string]any `json:"sql_servers"`
	} `json:"windows"`
	Storage []struct {
		Purpose string `json:"purpose"`
		FSType  seen   `json:"fs_type"`
	} `json:"storage"`
}

type processorSeen struct {
	CPU         int  `json:"cpu"`
	OfMaximum   seen `json:"pct_of_maximum_frequency"`
	Performance seen `json:"pct_processor_performance"`
	Parked      seen `json:"parked"`
}

// seen is a fact in JSON.
type seen struct {
	Value  any    `json:"value"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

func (w *wine) setCounters(t *testing.T, text string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(filepath.Join(w.dir, "counters"), []byte(text), 0o600))
}

func (w *wine) readFacts(t *testing.T, faults string) (f factsSeen) {
	t.Helper()
	status, out := w.run(t, faults, "facts", "--format", "json")
	_, out, _ = strings.Cut("\n"+out, "\n{") // Wine may complain of its drive first
	if err := json.Unmarshal([]byte("{"+out), &f); err != nil || status != 0 || len(f.Windows.ProcessorPower) == 0 {
		t.Fatalf("facts with %q: exit status %d, %v:\n%s", faults, status, err, out)
	}
	return f
}

// facts reads counters, services and the registry as the program does on Windows.
func (w *wine) facts(t *testing.T) {
	w.begin(t)
	w.setCounters(t, counters)
	f := w.readFacts(t, "")
	cpu := f.Windows.ProcessorPower[0]
	if f.Windows.SchemeName.Value != "Balanced" || cpu.OfMaximum.Value != 46.0 || cpu.Performance.Value != 118.5 || cpu.Parked.Value != true {
		t.Errorf("scheme %+v, processor %+v", f.Windows.SchemeName, cpu)
	}
	for _, other := range f.Windows.ProcessorPower[1:] {
		if other.OfMaximum.State != "absent" || other.Parked.State != "absent" || other.Parked.Value != nil {
			t.Errorf("a processor without an instance: %+v", other)
		}
	}
	if f.Windows.Instances.State != "absent" {
		t.Errorf("SQL Server: %+v", f.Windows.Instances)
	}
	w.try(t, 10, `PWR-011.*down to 46 % of their maximum`, "", "check", "--exit-status")
	w.try(t, 0, `OS Windows 7.*scheme name Balanced.*% processor performance 118 %, cpu 0.*parked yes, cpu 0`, "", "facts")

	for _, c := range []struct{ counters, faults, state, reason string }{
		{counters, "PdhAddEnglishCounterW=3221228473", "absent", "no such counter"},
		{counters, "PdhAddEnglishCounterW=3221228507", "denied", "permission denied"},
		{counters, "PdhOpenQueryW=3221228507", "denied", "permission denied"},
		{counters, "PdhCollectQueryData=2147485653@2", "error", "no data"},
		{counters, "PdhGetFormattedCounterArrayW=3221228486", "error", "not valid"},
		{strings.ReplaceAll(counters, "0,0 46\n", "0,0 invalid\n"), "", "error", "not valid"},
		{strings.ReplaceAll(counters, "0,0 46\n", "0,0 0\n"), "", "error", "counts nothing"},
		{strings.ReplaceAll(counters, "0,0 46\n", ""), "", "absent", "no instance"},
		{strings.ReplaceAll(counters, "% of Maximum Frequency", "Another"), "", "absent", "no such counter"},
	} {
		w.setCounters(t, c.counters)
		if got := w.readFacts(t, c.faults).Windows.ProcessorPower[0].OfMaximum; got.Value != nil || got.State != c.state || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("with %q: %+v, expected %s: %s", c.faults, got, c.state, c.reason)
		}
	}
	w.setCounters(t, counters)
	w.sqlServer(t)
}

// sqlServer installs what the registry and the service manager have of two instances: one stopped, one without its service.
func (w *wine) sqlServer(t *testing.T) {
	t.Helper()
	const key = `HKLM\SOFTWARE\Microsoft\Microsoft SQL Server`
	log := `Z:` + w32(w.dir)
	for _, args := range [][]string{
		{"reg", "add", key + `\Instance Names\SQL`, "/v", "MSSQLSERVER", "/d", "MSSQL16.MSSQLSERVER", "/f"},
		{"reg", "add", key + `\Instance Names\SQL`, "/v", "ERP", "/d", "MSSQL15.ERP", "/f"},
		{"reg", "add", key + `\MSSQL16.MSSQLSERVER\Setup`, "/v", "PatchLevel", "/d", "16.0.4135.4", "/f"},
		{"reg", "add", key + `\MSSQL16.MSSQLSERVER\MSSQLServer\Parameters`, "/v", "SQLArg2", "/d", "-l" + log + `\mastlog.ldf`, "/f"},
	} {
		if out, err := w.command(wine64, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	var f factsSeen
	w.within(t, "the service manager has no service MSSQLSERVER", func() bool { // it may end meanwhile, and comes back with Wine's server
		f = w.readFacts(t, "")
		if len(f.Windows.SQLServers) != 2 {
			return false
		}
		state, _ := f.Windows.SQLServers[1]["state"].(map[string]any)
		if state["state"] == "ok" {
			return true
		}
		w.boot(t)
		_ = w.command(wine64, "sc", "create", "MSSQLSERVER", "binPath=", `C:\sqlservr.exe`).Run()
		return false
	})
	value := func(i int, name string) string {
		fact, _ := f.Windows.SQLServers[i][name].(map[string]any)
		text, _ := fact["value"].(string)
		state, _ := fact["state"].(string)
		return strings.TrimSpace(text + " " + state)
	}
	if f.Windows.Instances.Value != 2.0 || len(f.Windows.SQLServers) != 2 {
		t.Fatalf("%+v", f.Windows)
	}
	for _, c := range []struct {
		i          int
		name, want string
	}{
		{0, "state", "absent"}, {0, "version", "absent"}, {0, "log_dir", "absent"},
		{1, "state", "stopped ok"}, {1, "pid", "absent"}, {1, "version", "16.0.4135.4 ok"}, {1, "edition", "absent"}, {1, "log_dir", log + " ok"},
	} {
		if got := value(c.i, c.name); got != c.want {
			t.Errorf("instance %d: %s is %q, expected %q", c.i, c.name, got, c.want)
		}
	}
	if len(f.Storage) == 0 || f.Storage[len(f.Storage)-1].Purpose != "mssql log" || f.Storage[len(f.Storage)-1].FSType.State != "ok" {
		t.Errorf("the volume of the log: %+v", f.Storage)
	}
	row := regexp.MustCompile(`SQL servers instance service state version .*MSSQLSERVER MSSQLSERVER stopped 16\.0\.4135\.4`)
	w.within(t, "no row of the instance has its state", func() bool { // for the same reason
		status, out := w.run(t, "", "facts")
		if status == 0 && row.MatchString(strings.Join(strings.Fields(out), " ")) {
			return true
		}
		w.boot(t)
		return false
	})
}

// study runs power-governor for some seconds, at low loads of a machine that others use: each level is set, and put back.
func (w *wine) study(t *testing.T) {
	w.begin(t)
	w.try(t, 0, `power_scheme.*Takes.*Changes scheme: sets power_scheme before every run`, "", "run", "power-governor", "--dry-run")
	w.original(t, "a plan")
	if !*full {
		return
	}
	b := testkit.Must(os.ReadFile("../../studies/power-governor.toml"))(t)
	head, rest, _ := strings.Cut(string(b), "[[contrast]]")
	_, work, ok := strings.Cut(rest, "[workload]")
	short := strings.NewReplacer("[0.1, 0.5, 0.9]", "[0.1, 0.2]", `"2s"`, `"100ms"`, `"6s"`, `"1s"`, `"10%"`, `"100%"`).Replace(
		head + "[[contrast]]\nfactor = \"scheme\"\nat = {load = \"0.1\"}\n\n[workload]" + work)
	if err := os.WriteFile(filepath.Join(w.dir, "ps.toml"), []byte(short), 0o600); err != nil || !ok {
		t.Fatal(err)
	}
	w.try(t, 0, `2 of at most 2 blocks`, "", "run", "ps.toml", "--blocks", "2", "--out", "ps", "--yes")
	w.original(t, "a run")
	w.try(t, 11, `(?s)cpu_s|CPU time of a step`, "", "report", "ps", "--exit-status")
}

// boots runs the study whose firmware a person sets. Wine's server is Windows' kernel here: when it begins anew, that is a boot.
func (w *wine) boots(t *testing.T) {
	w.begin(t)
	w.try(t, 0, `Absent not on this host: governor performance, schedutil, powersave \(governor is a setting of Linux\).*`+
		`scheme: sets power_scheme before every run`, "", "run", "power-query-bios", "--dry-run")
	if !*full {
		return
	}
	w.try(t, 4, `bios has to be (os-control|maximum-performance) now`, "", "run", "power-query-bios", "--out", "bios", "--yes", "--blocks", "1",
		"--set", "workload.size=1MiB", "--set", "workload.passes=20")
	again := []string{"run", "--resume", "--out", "bios", "--yes"}
	for boot := 1; boot <= 3; boot++ { // of a superblock
		w.try(t, 4, `bios has to be`, "", again...) // a second call is no boot
		w.boot(t)
		if boot < 3 {
			w.try(t, 4, `bios has to be`, "", again...)
		} else {
			w.try(t, 0, `1 superblock`, "", again...)
		}
		w.original(t, "runs of a boot")
	}
}

// boot has Wine's server end, and begin anew with the next program.
func (w *wine) boot(t *testing.T) {
	t.Helper()
	_ = w.command(wineserver, "-k").Run() // fails where none runs
	for _, option := range []string{"-w", "-p"} {
		if err := w.command(wineserver, option).Run(); err != nil {
			t.Fatalf("wineserver %s: %v", option, err)
		}
	}
}

// role sets what a role's checks advise: another scheme than Balanced, under which the registry lets processors run slowly.
func (w *wine) role(t *testing.T) {
	w.begin(t)
	const schemes = `HKLM\SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes`
	reg := func(args ...string) {
		t.Helper()
		if out, err := w.command(wine64, append([]string{"reg"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	for setting, percent := range map[string]string{"893dee8e-2bef-41e0-89c6-b55d0929964c": "5", "bc5038f7-23e0-4960-96da-33abaf5935ec": "100"} {
		key := schemes + `\381b4222-f694-41f0-9685-ff5bb260df2e\54533251-82be-4824-96c1-47b60b740d00\` + setting
		reg("add", key, "/v", "ACSettingIndex", "/t", "REG_DWORD", "/d", percent, "/f")
	}
	defer reg("delete", schemes, "/f")
	w.try(t, 0, `Balanced -> High performance`, "", "set", "--role", "production-db", "--yes")
	w.try(t, 0, `put back to Balanced`, "", "revert")
	w.original(t, "set --role")
}
