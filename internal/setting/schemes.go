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
