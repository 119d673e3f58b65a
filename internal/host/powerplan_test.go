package host

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
			w := windowsPower(c.reg)
			got := []any{text(w.ActiveScheme), text(w.SchemeName), number(w.ThrottleMin), number(w.ThrottleMax)}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWindowsMHz(t *testing.T) {
	var buf []byte
	for _, r := range [][6]uint32{{0, 2600, 1200, 2600, 2, 1}, {1, 2600, 0, 1300, 2, 1}} {
		for _, v := range r {
			buf = binary.LittleEndian.AppendUint32(buf, v)
		}
	}
	list := windowsMHz(append(buf, 1, 2, 3), nil) // a torn record is dropped
	if len(list) != 2 || list[0].Current.Value != 1200e6 || list[1].Limit.Value != 1300e6 || list[1].Current.State != StateError {
		t.Errorf("%+v", list)
	}
	cur := windowsCurrent(list)
	if got := cur[0].Percent.Value; got < 46.1 || got > 46.2 {
		t.Errorf("1200 of 2600 MHz are %v %%", got)
	}
	if f := windowsMHz(nil, errors.New("x")); f[0].Current.State != StateError {
		t.Errorf("a failed call gives %+v", f)
	}
}
