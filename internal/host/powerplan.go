package host

import (
	"fmt"
	"strings"

	"hostlab/internal/lazyre"
)

// Windows' power plan is read from the registry: PowerGetActiveScheme does not
// tell a policy from a user's choice, and is missing under Wine. What decides
// about a plan is in windowsPower, so that it can be tried on any system.

// hklm reads values below HKEY_LOCAL_MACHINE. A missing key or value gives an
// error that is fs.ErrNotExist.
type hklm interface {
	Text(key, name string) (string, error)
	Number(key, name string) (uint64, error)
	Texts(key string) (map[string]string, error) // a key's values that are texts, by their names
}

const (
	policyKey   = `SOFTWARE\Policies\Microsoft\Power\PowerSettings`
	schemesKey  = `SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes`
	settingsKey = `SYSTEM\CurrentControlSet\Control\Power\PowerSettings`
	activeValue = "ActivePowerScheme"
	acValue     = "ACSettingIndex" // on mains power, where servers are

	processorGroup = "54533251-82be-4824-96c1-47b60b740d00"
	throttleMin    = "893dee8e-2bef-41e0-89c6-b55d0929964c"
	throttleMax    = "bc5038f7-23e0-4960-96da-33abaf5935ec"
)

var schemeNames = map[string]string{
	"381b4222-f694-41f0-9685-ff5bb260df2e": "Balanced",
	"8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "High performance",
	"a1841308-3541-4fab-bc81-f71556f20b4a": "Power saver",
	"e9a42b02-d5df-448d-aa00-03f14749eb61": "Ultimate Performance",
}

// windowsPower reads the plan in force. A group policy's plan wins over the one
// chosen on the machine; the processor limits come from inside the plan, since
// its name proves nothing: anybody may have edited "High performance".
//
// active asks Windows itself, where the registry tells nothing.
func windowsPower(reg hklm, active func() (string, error)) *Windows {
	w := &Windows{
		PolicyScheme: Convert(regText(reg, policyKey, activeValue), "", ParseGUID),
		UserScheme:   Convert(regText(reg, schemesKey, activeValue), "", ParseGUID),
	}
	w.ActiveScheme = w.PolicyScheme
	if w.PolicyScheme.State == StateAbsent {
		w.ActiveScheme = w.UserScheme
	}
	if w.ActiveScheme.State == StateAbsent {
		if guid, err := active(); err == nil {
			w.ActiveScheme = Known(guid, "", "PowerGetActiveScheme")
		}
	}
	w.SchemeName = Convert(w.ActiveScheme, "", func(guid string) (string, error) { return schemeName(reg, guid) })
	w.ThrottleMin = throttle(reg, w.ActiveScheme, throttleMin)
	w.ThrottleMax = throttle(reg, w.ActiveScheme, throttleMax)
	return w
}

// throttle finds a processor setting: a policy for that setting, else the value
// in the plan, else the default that Windows ships for the plan.
func throttle(reg hklm, scheme Fact[string], setting string) Fact[int64] {
	if scheme.State != StateOK {
		return unlike[int64](scheme)
	}
	var f Fact[int64]
	for _, key := range []string{
		policyKey + `\` + setting,
		schemesKey + `\` + scheme.Value + `\` + processorGroup + `\` + setting,
		settingsKey + `\` + processorGroup + `\` + setting + `\DefaultPowerSchemeValues\` + scheme.Value,
	} {
		if f = regPercent(reg, key); f.State != StateAbsent {
			return f
		}
	}
	f.Reason = "neither a policy nor the plan nor Windows' defaults set it"
	return f
}

func regPercent(reg hklm, key string) Fact[int64] {
	source := `HKLM\` + key + `\` + acValue
	n, err := reg.Number(key, acValue)
	if err == nil && n > 100 {
		err = fmt.Errorf("expected 0 to 100 %%, found %d", n)
	}
	if err != nil {
		return Unknown[int64](source, err)
	}
	return Known(int64(n), "%", source)
}

func regText(reg hklm, key, name string) Fact[string] {
	source := `HKLM\` + key + `\` + name
	s, err := reg.Text(key, name)
	if err != nil {
		return Unknown[string](source, err)
	}
	return Known(strings.TrimSpace(s), "", source)
}

// ParseGUID returns a GUID in lower case without braces.
func ParseGUID(s string) (string, error) {
	g := strings.ToLower(strings.Trim(s, "{} "))
	if !guidForm.MatchString(g) {
		return "", fmt.Errorf("expected a GUID, found %s", clip(s))
	}
	return g, nil
}

var guidForm = lazyre.New(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// schemeName names a plan. FriendlyName is either plain text or of the form
// "@powrprof.dll,-13,High performance", whose third part is the English name.
func schemeName(reg hklm, guid string) (string, error) {
	if name, ok := schemeNames[guid]; ok {
		return name, nil
	}
	name, err := reg.Text(schemesKey+`\`+guid, "FriendlyName")
	if err != nil {
		return "", fmt.Errorf("no FriendlyName: %w", err)
	}
	if parts := strings.SplitN(name, ",", 3); strings.HasPrefix(name, "@") && len(parts) == 3 {
		name = parts[2]
	}
	return name, nil
}
