package setting

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// powerAPI is the calls of powrprof.dll that schemes make. GUIDs are in lower case, without braces; source is ac or dc,
// or else what is asked about. Errors wrap Windows' codes.
type powerAPI interface {
	active() (string, error)
	activate(scheme string) error
	schemes() ([]string, error)
	name(scheme string) (string, error)
	rename(scheme, name string) error
	duplicate(from, to string) error
	remove(scheme string) error
	read(scheme, setting, source string) (uint32, error)
	write(scheme, setting, source string, value uint32) error
	allowed(what, setting string) error // what: ac, dc, active, create
}

// The paths of Windows' power settings, which stand for calls of powrprof.dll. Settings, plans and the journal know no
// other machine than one of files.
const (
	powerDir   = "/powrprof/"
	schemePath = powerDir + "scheme"  // the GUID of the scheme in force
	copyPath   = powerDir + "copy"    // 1: hostlab's copy is there
	namesPath  = powerDir + "schemes" // a directory: of each scheme, by its GUID, its name
)

// hostlabScheme is the GUID of hostlab's copy of a scheme. All values are written there: a value that was written to a
// scheme and put back stays explicit, and does not follow the default any more.
const hostlabScheme = "6f1d1f5c-2b0e-4c55-9d7e-686f73746c62"

// The schemes that Windows brings along, by the names that powercfg and its windows have for them.
var knownSchemes = []struct{ guid, alias, name string }{
	{"381b4222-f694-41f0-9685-ff5bb260df2e", "SCHEME_BALANCED", "Balanced"},
	{"8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c", "SCHEME_MIN", "High performance"},
	{"a1841308-3541-4fab-bc81-f71556f20b4a", "SCHEME_MAX", "Power saver"},
	{"e9a42b02-d5df-448d-aa00-03f14749eb61", "", "Ultimate Performance"},
	{hostlabScheme, ownScheme, "hostlab's copy"},
}

// ownScheme is what a plan calls hostlab's copy.
const ownScheme = "hostlab"

// scheme is a power scheme: its GUID, or one of its names.
type scheme struct{ anything }

func (scheme) describe() string {
	return "a scheme's name, its alias as powercfg has it (SCHEME_MIN, SCHEME_BALANCED, SCHEME_MAX), or its GUID"
}

func (k scheme) parse(sys *System, _ Object, v string) (string, error) {
	list, err := sys.FS.ReadDir(namesPath)
	if err != nil {
		return "", unsettable{fmt.Errorf("the schemes cannot be listed: %w", err)}
	}
	guid, err := k.spell(v)
	switch {
	case v == ownScheme || err == nil && slices.Contains(list, guid):
		return guid, nil
	case err == nil:
		return "", fmt.Errorf("%q: this host has no such scheme; it has %s", screen.Short(v), schemeList(sys, list))
	}
	for _, guid := range list {
		if name, _ := sys.text(path.Join(namesPath, guid)); strings.EqualFold(name, v) {
			return guid, nil
		}
	}
	return "", fmt.Errorf("%q: expected %s", screen.Short(v), schemeList(sys, list))
}

func (scheme) spell(v string) (string, error) {
	for _, k := range knownSchemes {
		if strings.EqualFold(v, k.name) || strings.EqualFold(v, cmp.Or(k.alias, k.name)) {
			return k.guid, nil
		}
	}
	if guid, err := host.ParseGUID(v); err == nil {
		return guid, nil
	}
	return "", fmt.Errorf("%q: expected %s", screen.Short(v), scheme{}.describe())
}

func (scheme) show(_ Object, v string) string {
	for _, k := range knownSchemes {
		if v == k.guid {
			return k.name
		}
	}
	return v
}

func (scheme) note(sys *System, _ Object) string {
	list, err := sys.FS.ReadDir(namesPath)
	if err != nil {
		return ""
	}
	return schemeList(sys, list)
}

// schemeList names schemes, but for hostlab's copy.
func schemeList(sys *System, list []string) string {
	var names []string
	for _, guid := range list {
		if name, _ := sys.text(path.Join(namesPath, guid)); guid != hostlabScheme {
			names = append(names, cmp.Or(name, guid))
		}
	}
	return strings.Join(names, ", ")
}

// oldCopy refuses to activate a copy of hostlab's that is there already: it may be of another scheme than the one in
// force.
func oldCopy(sys *System, step Step, _ steps) error {
	if there, _ := sys.text(copyPath); step.To != hostlabScheme || step.From == step.To || there != "1" {
		return nil
	}
	return errors.New(
		"hostlab's copy of an earlier power scheme is still there; run 'hostlab revert' as the user who set " +
			"it, or, if no journal names it, 'powercfg /delete " + hostlabScheme + "'")
}

// powerSchemes are Windows' power schemes as files.
type powerSchemes struct{ api powerAPI }

// powerValue is what a path of a value names: the source, ac or dc, and the setting's GUID.
func powerValue(p string) (source, guid string, ok bool) {
	source, alias, _ := strings.Cut(strings.TrimPrefix(p, powerDir), "/")
	guid, known := powerGUIDs[alias]
	return source, guid, known && (source == "ac" || source == "dc")
}

// settablePower says whether a path is one of a power setting.
func settablePower(p string) bool {
	if !strings.HasPrefix(p, powerDir) {
		return false
	}
	_, _, value := powerValue(p)
	return p == schemePath || p == copyPath || value
}

func (s powerSchemes) ReadFile(p string) ([]byte, error) {
	text, err := s.text(p)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: p, Err: err}
	}
	return []byte(text + "\n"), nil
}

func (s powerSchemes) text(p string) (string, error) {
	source, setting, value := powerValue(p)
	switch {
	case p == schemePath:
		return s.api.active()
	case p == copyPath:
		list, err := s.api.schemes()
		if slices.Contains(list, hostlabScheme) {
			return "1", err
		}
		return "0", err
	case path.Dir(p) == namesPath:
		return s.api.name(path.Base(p))
	case value:
		active, err := s.api.active()
		if err != nil {
			return "", err
		}
		n, err := s.api.read(active, setting, source)
		return strconv.FormatUint(uint64(n), 10), err
	}
	return "", fs.ErrNotExist
}

// errInForce is why hostlab's copy is not deleted. Windows refuses it as well.
var errInForce = errors.New("it is the power scheme in force")

// errAnother is why no value is written to a scheme that is none of hostlab's.
var errAnother = errors.New("another power scheme was activated meanwhile, and hostlab writes to its own copy alone")

func (s powerSchemes) WriteFile(p string, value []byte) error {
	if err := s.write(p, string(value)); err != nil {
		return &fs.PathError{Op: "write", Path: p, Err: err}
	}
	return nil
}

func (s powerSchemes) write(p, v string) error {
	source, setting, value := powerValue(p)
	switch {
	case p == schemePath:
		return s.api.activate(v)
	case p == copyPath && v == "0":
		if active, err := s.api.active(); err != nil || active == hostlabScheme {
			return errors.Join(err, errInForce)
		}
		return s.api.remove(hostlabScheme)
	case p == copyPath:
		return s.copy()
	case !value:
		return fs.ErrNotExist
	}
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		return err
	}
	active, err := s.api.active()
	if err != nil {
		return err
	}
	if active != hostlabScheme {
		return errAnother
	}
	if err := s.api.write(active, setting, source, uint32(n)); err != nil {
		return err
	}
	return s.api.activate(active) // what is written to the scheme in force acts only then
}

// copy makes hostlab's copy of the scheme in force.
func (s powerSchemes) copy() error {
	active, err := s.api.active()
	if err != nil {
		return err
	}
	name, err := s.api.name(active)
	if err != nil {
		return err
	}
	if err := s.api.duplicate(active, hostlabScheme); err != nil {
		return err
	}
	return s.api.rename(hostlabScheme, name+" (hostlab)")
}

func (s powerSchemes) Hold(p string, _ []byte) (io.Closer, error) {
	return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
}

func (s powerSchemes) Writable(p string) error {
	source, setting, value := powerValue(p)
	what := "create"
	switch {
	case p == schemePath:
		what = "active"
	case value:
		what = source
	}
	if err := s.api.allowed(what, setting); err != nil {
		return &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return nil
}

func (s powerSchemes) ReadDir(p string) ([]string, error) {
	if p != namesPath {
		return nil, &fs.PathError{Op: "list", Path: p, Err: fs.ErrNotExist}
	}
	list, err := s.api.schemes()
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: p, Err: err}
	}
	return list, nil
}

// Win32 codes, as powrprof.dll returns them.
const (
	codeMissing = syscall.Errno(2)    // ERROR_FILE_NOT_FOUND
	codeDenied  = syscall.Errno(5)    // ERROR_ACCESS_DENIED
	codePolicy  = syscall.Errno(1260) // ERROR_ACCESS_DISABLED_BY_POLICY
)

const fixedByPolicy = "a group policy fixes it, and wins over what is set here"

var powerRefusals = []refusal{
	{codePolicy, fixedByPolicy},
	{codeDenied, "permission denied: run hostlab as an administrator"},
	{codeMissing, "the scheme no longer exists; activate another, for example with 'powercfg /setactive " +
		"SCHEME_BALANCED', then run 'hostlab revert' and 'hostlab revert --forget'"},
}

// Ranks of Windows' settings: a value is written to hostlab's copy of the scheme, once that is in force.
const (
	rankCopy = iota + 1
	rankScheme
	rankValue
)

// copyInForce is what each value of a scheme needs: hostlab's copy of it, in force.
var copyInForce = []Assignment{{Name: "power_scheme_copy", Value: "on"}, {Name: "power_scheme", Value: ownScheme}}

// windowsSettings are those of Windows, as powercfg calls them. To add one, add its value, and its text to texts.toml.
var windowsSettings = completed([]Setting{
	{
		Name: "power_scheme_copy", Title: "hostlab's copy of the power scheme", Order: rankCopy, Lasting: true,
		File: copyPath, Absent: "there are no power schemes here", Takes: onOff{},
		refusals: powerRefusals,
	},
	{
		Name: "power_scheme", Title: "Power scheme in force", Order: rankScheme, Lasting: true,
		Effect: "idle processors take more power under High performance",
		File:   schemePath,
		Absent: "there are no power schemes here", Takes: scheme{}, refusals: powerRefusals, against: oldCopy,
	},
	powerSetting("PROCTHROTTLEMIN", "893dee8e-2bef-41e0-89c6-b55d0929964c", "Lowest processor state",
		quantity{hi: 100, unit: "%"}),
	powerSetting("PROCTHROTTLEMAX", "bc5038f7-23e0-4960-96da-33abaf5935ec", "Highest processor state",
		quantity{lo: 1, hi: 100, unit: "%"}),
	powerSetting("PERFBOOSTMODE", "be337238-0d82-4146-a960-4f3749d470c7", "Turbo",
		modes("disabled", "enabled", "aggressive", "efficient_enabled", "efficient_aggressive",
			"aggressive_at_guaranteed", "efficient_aggressive_at_guaranteed")),
	powerSetting("PERFEPP", "36687f9e-e3a5-4dbf-b1dc-15eb381c6863", "Energy performance preference",
		quantity{hi: 100, unit: "%"}),
	powerSetting("PERFINCPOL", "465e1f50-b610-473a-ab58-00d1077dc418", "How the frequency rises",
		modes("ideal", "single", "rocket", "responsive")),
	powerSetting("PERFDECPOL", "40fbefc7-2e9d-4d25-a185-0cfd8574bac6", "How the frequency falls",
		modes("ideal", "single", "rocket")),
	powerSetting("PERFCHECK", "4d2b0152-7d5c-498b-88e2-34345392a2c5", "Time between looks at the load",
		quantity{lo: 1, hi: 5000, unit: "ms"}),
	powerSetting("CPMINCORES", "0cc5b647-c1df-4637-891a-dec35c318583", "Least cores that are not parked",
		quantity{hi: 100, unit: "%"}),
	powerSetting("CPMAXCORES", "ea062031-0e34-4ff1-9b6d-eb1059334028", "Most cores that are not parked",
		quantity{hi: 100, unit: "%"}),
	powerSetting("IDLEDISABLE", "5d76a2ca-e8c0-402f-a133-2158492d58ad", "Idle states off", onOff{}),
})

// powerGUIDs are the settings in the subgroup of processors, by their alias.
var powerGUIDs = map[string]string{}

// powerSetting is a value of the scheme in force, on mains power (ac) and on battery (dc).
func powerSetting(alias, guid, title string, takes kind) Setting {
	powerGUIDs[alias] = guid
	return Setting{
		Name: alias, Title: title, Takes: takes, Order: rankValue, Lasting: true, Rounds: true,
		Files:  []string{powerDir + "ac/" + alias, powerDir + "dc/" + alias},
		Absent: "the power scheme in force has no " + alias, Needs: copyInForce, refusals: powerRefusals,
	}
}

func modes(words ...string) quantity {
	q := quantity{hi: uint64(len(words) - 1), names: map[string]string{}, shown: map[string]string{}}
	for i, w := range words {
		n := strconv.Itoa(i)
		q.names[w], q.shown[n] = n, w
	}
	return q
}

// Windows reports a setting of Windows.
func (s Setting) Windows() bool { return len(s.Files) > 0 && settablePower(s.Files[0]) }

// Keeper is who keeps the setting's values, and may round them.
func (s Setting) Keeper() string {
	if s.Windows() {
		return "Windows"
	}
	return "the kernel"
}
