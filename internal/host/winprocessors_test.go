package host

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
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
	testkit.Same(t, []PathQuery{{`E:\erp`, "mssql log", 0}, {`L:\log`, "mssql log", 0}}, windowsLogs(list))
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

func TestWindowsIdentity(t *testing.T) {
	version := func(name string) string { return winVersionKey + `\` + name }
	bios := func(name string) string { return winBIOSKey + `\` + name }
	for _, c := range []struct {
		name    string
		reg     fakeRegistry
		version [3]uint32
		want    [5]string // OS, kernel, product, BIOS, hypervisor
	}{
		{"server", fakeRegistry{
			version("ProductName"): "Windows Server 2022 Standard", version("DisplayVersion"): "21H2", version("UBR"): 2113,
			bios("SystemManufacturer"): "Microsoft Corporation", bios("SystemProductName"): "Virtual Machine", bios("BIOSVendor"): "American Megatrends Inc.",
			bios("BIOSVersion"): "090008", bios("BIOSReleaseDate"): "12/07/2018",
		}, [3]uint32{10, 0, 20348}, [5]string{
			"Windows Server 2022 Standard 21H2", "10.0.20348.2113", "Microsoft Corporation Virtual Machine", "American Megatrends Inc. 090008 12/07/2018", "hyper-v",
		}},
		{"Windows 11 calls itself 10", fakeRegistry{version("ProductName"): "Windows 10 Pro", version("DisplayVersion"): "23H2"}, [3]uint32{10, 0, 22631},
			[5]string{"Windows 11 Pro 23H2", "10.0.22631", "absent", "absent", "absent"}},
		{"Windows 10 is one", fakeRegistry{version("ProductName"): "Windows 10 Pro"}, [3]uint32{10, 0, 19045},
			[5]string{"Windows 10 Pro", "10.0.19045", "absent", "absent", "absent"}},
		{"the product repeats the vendor", fakeRegistry{version("ProductName"): "Microsoft Windows 7", bios("SystemManufacturer"): "VMware, Inc.", bios("SystemProductName"): "VMware, Inc. VMware7,1"},
			[3]uint32{6, 1, 7601}, [5]string{"Windows 7", "6.1.7601", "VMware, Inc. VMware7,1", "absent", "vmware"}},
		{"hardware proves nothing", fakeRegistry{version("ProductName"): "", bios("SystemManufacturer"): "Dell Inc.", bios("SystemProductName"): " ", bios("BIOSVersion"): errors.New("broken")},
			[3]uint32{10, 0, 17763}, [5]string{"absent", "10.0.17763", "Dell Inc.", "error", "absent"}},
	} {
		id := windowsIdentity(c.reg, c.version)
		var got [5]string
		for i, f := range []Fact[string]{id.OS, id.Kernel, id.Product, id.BIOS, windowsHypervisor(c.reg)} {
			if got[i] = f.Value; f.State != StateOK {
				got[i] = string(f.State)
			}
		}
		testkit.Same(t, c.want, got, c.name)
	}
}

func TestVolumeStorage(t *testing.T) {
	for _, c := range []struct {
		v     volume
		class string
		state State
	}{
		{volume{Root: `C:\`, FSType: "NTFS", Free: 1 << 30}, "", StateAbsent},
		{volume{Root: `\\srv\log\`, FSType: "NTFS", Remote: true}, ClassNetwork, StateOK},
		{volume{Root: `R:\`, FSType: "FAT32", Memory: true}, ClassMemory, StateOK},
		{volume{Root: `P:\`, FSType: "NTFS", DAX: true}, ClassPmemDAX, StateOK},
	} {
		s := c.v.storage("log", `C:\log`, "GetVolumeInformation")
		if s.Class.Value != c.class || s.Class.State != c.state {
			t.Errorf("%+v is %s %q", c.v, s.Class.State, s.Class.Value)
		}
		if s.MountPoint.Value != c.v.Root || s.FreeBytes.Value != c.v.Free || s.FreeBytes.Unit != "B" || s.Device.State != StateAbsent || s.Device.Reason != NotTold {
			t.Errorf("%+v", s)
		}
	}
}

// winRelation makes a SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX with one group mask.
func winRelation(rel uint32, masks int, groups, group uint16, mask uint64, set func([]byte)) []byte {
	b := make([]byte, masks+groupMask)
	binary.LittleEndian.PutUint32(b, rel)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	binary.LittleEndian.PutUint16(b[masks-2:], groups)
	binary.LittleEndian.PutUint64(b[masks:], mask)
	binary.LittleEndian.PutUint16(b[masks+8:], group)
	if set != nil {
		set(b)
	}
	return b
}

func TestWindowsTopology(t *testing.T) {
	smt := func(class byte) func([]byte) { return func(b []byte) { b[8], b[9] = 1, class } }
	var buf []byte
	for _, r := range [][]byte{
		winRelation(relCore, 32, 1, 0, 0b0011, smt(1)), winRelation(relCore, 32, 1, 0, 0b1100, smt(1)),
		winRelation(relCore, 32, 1, 1, 0b1, func(b []byte) { b[9] = 0 }),
		winRelation(relPackage, 32, 1, 0, 0b1111, nil), winRelation(relPackage, 32, 1, 1, 0b1, nil),
		winRelation(relNUMA, 32, 0, 0, 0b1111, nil), // Wine: a count of 0 groups
		winRelation(relNUMA, 32, 0, 1, 0b1, func(b []byte) { b[8] = 1 }),
		winRelation(4, 32, 0, 0, 0, nil), // group information: not ours
		winRelation(relCache, 40, 0, 0, 0b0011, func(b []byte) {
			b[8], b[9] = 1, 12
			binary.LittleEndian.PutUint16(b[10:], 64)
			binary.LittleEndian.PutUint32(b[12:], 48<<10)
			b[16] = 2
		}),
	} {
		buf = append(buf, r...)
	}
	top := windowsTopology(buf, nil)
	got := []any{top.Sockets.Value, top.Cores.Value, FormatList(top.Online.Value), top.SMTActive.Value, len(top.NUMA),
		top.CPUs[4].ID, top.CPUs[4].Socket.Value, top.CPUs[4].NUMANode.Value, top.CPUs[4].CoreType, FormatList(top.CPUs[3].Siblings.Value),
		top.Caches[0].Type, top.Caches[0].Size.Value, FormatList(top.Caches[0].CPUs)}
	want := []any{2, 3, "0-3,64", true, 2, 64, 1, 1, "efficiency", "2-3", "Data", int64(48 << 10), "0-1"}
	testkit.Same(t, want, got)
	for n := range buf { // cut anywhere, it is an error or a shorter list, but no panic
		windowsTopology(buf[:n], nil)
	}
	if top := windowsTopology(nil, errors.New("failed")); top.Online.State != StateError || top.Sockets.State != StateError {
		t.Errorf("a failed call gives %+v", top)
	}
}

func FuzzWindowsTopology(f *testing.F) {
	f.Add(winRelation(relCore, 32, 1, 0, 3, nil))
	f.Add(winRelation(relCache, 40, 0, 0, 3, nil))
	f.Add(winRelation(relCore, 32, 65535, 65535, 3, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		top := windowsTopology(b, nil)
		if top.Threads.State == StateOK && top.Threads.Value != len(top.CPUs) {
			t.Fatalf("%d threads, %d CPUs", top.Threads.Value, len(top.CPUs))
		}
	})
}

// fakeRegistry maps key\value to a string or a number; errors stand for
// themselves.
type fakeRegistry map[string]any

func (r fakeRegistry) Text(key, name string) (string, error) {
	switch v := r[key+`\`+name].(type) {
	case string:
		return v, nil
	case error:
		return "", v
	}
	return "", fs.ErrNotExist
}

func (r fakeRegistry) Number(key, name string) (uint64, error) {
	switch v := r[key+`\`+name].(type) {
	case int:
		return uint64(v), nil
	case error:
		return 0, v
	}
	return 0, fs.ErrNotExist
}

func (r fakeRegistry) Texts(key string) (map[string]string, error) {
	out := map[string]string{}
	for path, v := range r {
		if name, ok := strings.CutPrefix(path, key+`\`); ok && !strings.Contains(name, `\`) {
			if err, failed := v.(error); failed {
				return nil, err
			}
			out[name] = v.(string)
		}
	}
	if len(out) == 0 {
		return nil, fs.ErrNotExist
	}
	return out, nil
}

func TestWindowsPower(t *testing.T) {
	const (
		balanced = "381b4222-f694-41f0-9685-ff5bb260df2e"
		high     = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"
		custom   = "11111111-2222-3333-4444-555555555555"
		policy   = policyKey + `\` + activeValue
		user     = schemesKey + `\` + activeValue
	)
	inPlan := func(plan, setting string) string {
		return schemesKey + `\` + plan + `\` + processorGroup + `\` + setting + `\` + acValue
	}
	byDefault := func(plan, setting string) string {
		return settingsKey + `\` + processorGroup + `\` + setting + `\DefaultPowerSchemeValues\` + plan + `\` + acValue
	}
	text := func(f Fact[string]) string {
		if f.State != StateOK {
			return string(f.State)
		}
		return f.Value
	}
	number := func(f Fact[int64]) any {
		if f.State != StateOK {
			return string(f.State)
		}
		return int(f.Value)
	}
	for _, c := range []struct {
		name string
		reg  fakeRegistry
		want []any // scheme, name, min, max
	}{
		{"the user's plan with Windows' defaults",
			fakeRegistry{user: balanced, byDefault(balanced, throttleMin): 5, byDefault(balanced, throttleMax): 100},
			[]any{balanced, "Balanced", 5, 100}},
		{"a policy wins",
			fakeRegistry{user: high, policy: "{" + balanced + "}", byDefault(balanced, throttleMin): 5, byDefault(high, throttleMin): 100},
			[]any{balanced, "Balanced", 5, "absent"}},
		{"the name proves nothing: High performance was edited",
			fakeRegistry{user: high, inPlan(high, throttleMin): 5, inPlan(high, throttleMax): 70, byDefault(high, throttleMin): 100},
			[]any{high, "High performance", 5, 70}},
		{"a policy for one setting wins over the plan",
			fakeRegistry{user: high, inPlan(high, throttleMax): 70, policyKey + `\` + throttleMax + `\` + acValue: 99},
			[]any{high, "High performance", "absent", 99}},
		{"a plan of their own",
			fakeRegistry{user: custom, schemesKey + `\` + custom + `\FriendlyName`: "@%SystemRoot%\\system32\\powrprof.dll,-13,Fast, for us"},
			[]any{custom, "Fast, for us", "absent", "absent"}},
		{"no access", fakeRegistry{policy: fs.ErrPermission, user: high}, []any{"denied", "denied", "denied", "denied"}},
		{"garbled", fakeRegistry{user: "High"}, []any{"error", "error", "error", "error"}},
		{"a limit above 100 %", fakeRegistry{user: high, inPlan(high, throttleMin): 4096}, []any{high, "High performance", "error", "absent"}},
		{"nothing, as under Wine", fakeRegistry{}, []any{"absent", "absent", "absent", "absent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := windowsPower(c.reg, func() (string, error) { return "", fs.ErrNotExist })
			got := []any{text(w.ActiveScheme), text(w.SchemeName), number(w.ThrottleMin), number(w.ThrottleMax)}
			testkit.Same(t, c.want, got)
		})
	}
}

func TestWindowsPowerIsAskedWhereTheRegistryTellsNothing(t *testing.T) {
	const high = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"
	active := func() (string, error) { return high, nil }
	if w := windowsPower(fakeRegistry{}, active); w.SchemeName.Value != "High performance" || w.SchemeName.Source != "PowerGetActiveScheme" {
		t.Errorf("%+v", w.SchemeName)
	}
	if w := windowsPower(fakeRegistry{policyKey + `\` + activeValue: fs.ErrPermission}, active); w.ActiveScheme.State != StateDenied {
		t.Errorf("a policy that may not be read wins: %+v", w.ActiveScheme)
	}
}
