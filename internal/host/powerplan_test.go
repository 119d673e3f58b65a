package host

import (
	"io/fs"
	"strings"
	"testing"

	"hostlab/internal/testkit"
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
