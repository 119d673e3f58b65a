package host

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/counters"
	"hostlab/internal/testkit"
)

func powerRecords(records ...[6]uint32) (buf []byte) {
	for _, r := range records {
		for _, v := range r {
			buf = binary.LittleEndian.AppendUint32(buf, v)
		}
	}
	return buf
}

// twoGroups is a host with two NUMA nodes, each a processor group of its own.
func twoGroups() Topology {
	return Topology{Online: Known([]int{0, 1, 64, 65}, "", ""), NUMA: []NUMANode{
		{ID: 0, CPUs: Known([]int{0, 1}, "", "")}, {ID: 1, CPUs: Known([]int{64, 65}, "", "")}}}
}

func TestWindowsProcessors(t *testing.T) {
	groups := map[int]groupPower{
		0: {records: append(powerRecords([6]uint32{0, 2600, 1200, 2600, 2, 1}, [6]uint32{1, 2600, 0, 1300, 2, 1}), 1, 2, 3)}, // torn
		1: {records: powerRecords([6]uint32{1, 2600, 2500, 2600, 2, 1})},
	}
	series := map[string]counters.Series{
		"% of Maximum Frequency": {Values: []counters.Value{{Instance: "0,0", Value: 46}, {Instance: "1,1", Value: 96}, {Instance: "0,1"},
			{Instance: "0,_Total", Value: 70}, {Instance: "_Total", Value: 71}}},
		"% Processor Performance": {Values: []counters.Value{{Instance: "0,0", Value: 118.5}, {Instance: "0,1", Err: counters.InvalidValue}}},
		"Parking Status":          {Values: []counters.Value{{Instance: "0,0"}, {Instance: "1,0", Value: 1}}},
	}
	state := func(f AnyFact) any {
		v, _, _, state, _ := f.Any()
		if state != StateOK {
			return string(state)
		}
		return v
	}
	var got [][]any
	list := windowsProcessors(twoGroups(), groups, series)
	for _, c := range list {
		got = append(got, []any{c.CPU, state(c.Current), state(c.Limit), state(c.OfMaximum), state(c.Performance), state(c.Parked)})
	}
	want := [][]any{
		{0, int64(1200e6), int64(2600e6), 46.0, 118.5, false},
		{1, "error", int64(1300e6), "error", "error", "absent"}, // 0 is no frequency
		{64, "absent", "absent", "absent", "absent", true},
		{65, int64(2500e6), int64(2600e6), 96.0, "absent", "absent"},
	}
	testkit.Same(t, want, got)
	if got := windowsCurrent(list)[0].Percent.Value; got < 46.1 || got > 46.2 {
		t.Errorf("1200 of 2600 MHz are %v %%", got)
	}

	denied := counters.Series{Err: counters.AccessDenied}
	for _, c := range windowsProcessors(twoGroups(), map[int]groupPower{0: {err: errors.New("x")}, 1: {err: errors.New("x")}},
		map[string]counters.Series{"% of Maximum Frequency": {Err: counters.NoCounter}, "% Processor Performance": denied, "Parking Status": {Err: counters.NoData}}) {
		if d := cmp.Diff([]any{"error", "absent", "denied", "error"}, []any{state(c.Max), state(c.OfMaximum), state(c.Performance), state(c.Parked)}); d != "" {
			t.Errorf("CPU %d: %s", c.CPU, d)
		}
	}
}

func TestWindowsSQLServers(t *testing.T) {
	const id = sqlKey + `\MSSQL16.MSSQLSERVER`
	const named = sqlKey + `\MSSQL15.ERP`
	reg := fakeRegistry{
		sqlKey + `\Instance Names\SQL\MSSQLSERVER`: "MSSQL16.MSSQLSERVER", sqlKey + `\Instance Names\SQL\ERP`: "MSSQL15.ERP",
		id + `\Setup\Version`: "16.0.1000.6", id + `\Setup\PatchLevel`: "16.0.4135.4", id + `\Setup\Edition`: "Standard Edition",
		id + `\MSSQLServer\DefaultLog`: `L:\log`, id + `\MSSQLServer\DefaultData`: `D:\data`,
		named + `\Setup\Version`:                      "15.0.2000.5",
		named + `\MSSQLServer\Parameters\SQLArg0`:     `-dE:\erp\master.mdf`,
		named + `\MSSQLServer\Parameters\SQLArg2`:     `-lE:\erp\mastlog.ldf`,
		named + `\MSSQLServer\SuperSocketNetLib\name`: "none of its values",
	}
	look := func(name string) (Service, error) {
		if name == "MSSQL$ERP" {
			return Service{State: "stopped"}, nil
		}
		return Service{State: "running", PID: 4711}, nil
	}
	count, list := windowsSQLServers(reg, look)
	var got [][]any
	for _, s := range list {
		got = append(got, []any{s.Instance, s.Service, s.State.Value, s.PID.Or(-1), s.Version.Or("?"), s.Edition.Or("?"), s.DataDir.Or("?"), s.LogDir.Or("?")})
	}
	if db := windowsDatabases(list); len(db) != 1 || db[0].PID != 4711 || db[0].Product() != "SQL Server" || db[0].LogDir.Or("") != `L:\log` {
		t.Errorf("those that run: %+v", db)
	}
	want := [][]any{
		{"ERP", "MSSQL$ERP", "stopped", -1, "15.0.2000.5", "?", "?", `E:\erp`},
		{"MSSQLSERVER", "MSSQLSERVER", "running", 4711, "16.0.4135.4", "Standard Edition", `D:\data`, `L:\log`},
	}
	if d := cmp.Diff(want, got); d != "" || count.Value != 2 {
		t.Errorf("%+v\n%s", count, d)
	}
	testkit.Same(t, []PathQuery{{`E:\erp`, "mssql log"}, {`L:\log`, "mssql log"}}, windowsLogs(list))
	denied := func(string) (Service, error) { return Service{}, fs.ErrPermission }
	if _, list := windowsSQLServers(reg, denied); list[0].State.State != StateDenied || list[0].PID.State != StateDenied {
		t.Errorf("%+v", list[0])
	}
	if count, _ := windowsSQLServers(fakeRegistry{}, look); count.State != StateAbsent {
		t.Errorf("no SQL Server: %+v", count)
	}
	if count, _ := windowsSQLServers(fakeRegistry{sqlKey + `\Instance Names\SQL\X`: fs.ErrPermission}, look); count.State != StateDenied {
		t.Errorf("a registry that may not be read: %+v", count)
	}
}
