package host

import (
	"encoding/binary"
	"encoding/json"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/counters"
	"hostlab/internal/testkit"
)

// TestRead reads what facts of every fixture, and of a Windows host, are written as: they are written so again.
func TestRead(t *testing.T) {
	machines := map[string]*Facts{}
	for name := range fixtures {
		machines[name] = Collect(t.Context(), Options{Tree: unpack(t, readFixture(t, name))})
	}
	top := twoGroups()
	machines["windows"] = &Facts{Schema: Schema, Topology: top, Windows: &Windows{
		Processors: windowsProcessors(top, map[int]groupPower{}, map[string]counters.Series{"Parking Status": {Err: counters.NoData}}),
		SQLServers: []SQLServer{{Instance: "ERP", PID: Known(7, "", "QueryServiceStatusEx")}}}}
	for name, f := range machines {
		want := testkit.Must(json.Marshal(f))(t)
		wide := []byte("\xff\xfe")
		for _, u := range utf16.Encode([]rune(string(want) + "\r\n")) {
			wide = binary.LittleEndian.AppendUint16(wide, u)
		}
		if _, err := Read(wide); err != nil {
			t.Errorf("%s as UTF-16: %v", name, err)
		}
		read, err := Read(append([]byte("\ufeff"), want...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := json.Marshal(read); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(string(want), string(got)))
		}
	}
	for text, why := range map[string]string{
		"": "no facts", "[]": "no facts", "{}": "no facts of version 1", `{"schema":9}`: "no facts of version 1", `{"schema":1}`: "no facts of version 1",
		`{"schema":1,"topology":{"online":{"value":[0],"state":"sure"}}}`: `state "sure"`,
		`{"schema":1,"topology":{"online":{"value":null,"state":"ok"}}}`:  "no value",
		`{"schema":1,"topology":{"online":{"value":"x","state":"ok"}}}`:   "no facts",
	} {
		testkit.Refused(Read([]byte(text)))(t, why, text)
	}
}
