package setting

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"hostlab/internal/host"
)

// powrprof is this machine's powrprof.dll. Its functions return a Win32 code.
type powrprof struct{}

var (
	powrprofDLL = windows.NewLazySystemDLL("powrprof.dll")

	getActiveScheme   = powrprofDLL.NewProc("PowerGetActiveScheme")
	setActiveScheme   = powrprofDLL.NewProc("PowerSetActiveScheme")
	enumerate         = powrprofDLL.NewProc("PowerEnumerate")
	readFriendlyName  = powrprofDLL.NewProc("PowerReadFriendlyName")
	writeFriendlyName = powrprofDLL.NewProc("PowerWriteFriendlyName")
	duplicateScheme   = powrprofDLL.NewProc("PowerDuplicateScheme")
	deleteScheme      = powrprofDLL.NewProc("PowerDeleteScheme")
	accessCheck       = powrprofDLL.NewProc("PowerSettingAccessCheck")
	readValue         = map[string]*windows.LazyProc{
		"ac": powrprofDLL.NewProc("PowerReadACValueIndex"), "dc": powrprofDLL.NewProc("PowerReadDCValueIndex")}
	writeValue = map[string]*windows.LazyProc{
		"ac": powrprofDLL.NewProc("PowerWriteACValueIndex"), "dc": powrprofDLL.NewProc("PowerWriteDCValueIndex")}
)

// powrprofMissing is why power settings can neither be read nor changed here; nil: they can.
func powrprofMissing() error {
	for _, p := range []*windows.LazyProc{getActiveScheme, setActiveScheme, enumerate, readFriendlyName, writeFriendlyName,
		duplicateScheme, deleteScheme, accessCheck, readValue["ac"], readValue["dc"], writeValue["ac"], writeValue["dc"]} {
		if p.Find() != nil {
			return fmt.Errorf("this system's powrprof.dll has no %s, as under Wine; 'hostlab export powercfg' and 'hostlab "+
				"export dsc' write files that set what Windows has", p.Name)
		}
	}
	if _, err := (powrprof{}).active(); err != nil {
		return fmt.Errorf("the power scheme in force cannot be read: %w", err)
	}
	return nil
}

// processorGroup is the subgroup of settings for processors.
var processorGroup = guid("54533251-82be-4824-96c1-47b60b740d00")

// guid is a GUID in Windows' form; nil of "".
func guid(text string) *windows.GUID {
	g, err := windows.GUIDFromString("{" + text + "}")
	if err != nil {
		return nil
	}
	return &g
}

func guidText(g *windows.GUID) (string, error) { return host.ParseGUID(g.String()) }

// call calls a function. Pointers are turned to numbers in the call itself, so that what they lead to stays in its
// place.
//
//go:uintptrescapes
func call(p *windows.LazyProc, args ...uintptr) error {
	if err := p.Find(); err != nil {
		return err
	}
	if code, _, _ := p.Call(args...); code != 0 {
		return syscall.Errno(code)
	}
	return nil
}

func (powrprof) active() (string, error) {
	var g *windows.GUID
	if err := call(getActiveScheme, 0, uintptr(unsafe.Pointer(&g))); err != nil {
		return "", err
	}
	defer windows.LocalFree(windows.Handle(uintptr(unsafe.Pointer(g)))) //nolint:errcheck // nothing to do about it
	return guidText(g)
}

func (powrprof) activate(scheme string) error {
	return call(setActiveScheme, 0, uintptr(unsafe.Pointer(guid(scheme))))
}

func (powrprof) schemes() (list []string, _ error) {
	const accessScheme, most = 16, 1000
	for i := range uintptr(most) {
		var g windows.GUID
		size := uint32(unsafe.Sizeof(g))
		err := call(enumerate, 0, 0, 0, accessScheme, i, uintptr(unsafe.Pointer(&g)), uintptr(unsafe.Pointer(&size)))
		if errors.Is(err, windows.ERROR_NO_MORE_ITEMS) {
			break
		}
		if err != nil {
			return nil, err
		}
		text, err := guidText(&g)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func (powrprof) name(scheme string) (string, error) {
	size := uint32(0)
	if err := call(readFriendlyName, 0, uintptr(unsafe.Pointer(guid(scheme))), 0, 0, 0,
		uintptr(unsafe.Pointer(&size))); err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return "", err
	}
	buf := make([]uint16, size/2+1)
	size = uint32(2 * len(buf)) //nolint:gosec // a name
	if err := call(readFriendlyName, 0, uintptr(unsafe.Pointer(guid(scheme))), 0, 0, uintptr(unsafe.Pointer(&buf[0])),
		uintptr(unsafe.Pointer(&size))); err != nil {
		return "", err
	}
	return strings.TrimSpace(windows.UTF16ToString(buf)), nil
}

func (powrprof) rename(scheme, name string) error {
	text, err := windows.UTF16FromString(name)
	if err != nil {
		return err
	}
	return call(writeFriendlyName, 0, uintptr(unsafe.Pointer(guid(scheme))), 0, 0, uintptr(unsafe.Pointer(&text[0])),
		uintptr(2*len(text)))
}

func (powrprof) duplicate(from, to string) error {
	g := guid(to)
	return call(duplicateScheme, 0, uintptr(unsafe.Pointer(guid(from))), uintptr(unsafe.Pointer(&g)))
}

func (powrprof) remove(scheme string) error {
	return call(deleteScheme, 0, uintptr(unsafe.Pointer(guid(scheme))))
}

func (powrprof) read(scheme, setting, source string) (uint32, error) {
	var value uint32
	err := call(readValue[source], 0, uintptr(unsafe.Pointer(guid(scheme))), uintptr(unsafe.Pointer(processorGroup)),
		uintptr(unsafe.Pointer(guid(setting))), uintptr(unsafe.Pointer(&value)))
	return value, err
}

func (powrprof) write(scheme, setting, source string, value uint32) error {
	return call(writeValue[source], 0, uintptr(unsafe.Pointer(guid(scheme))), uintptr(unsafe.Pointer(processorGroup)),
		uintptr(unsafe.Pointer(guid(setting))), uintptr(value))
}

// allowed asks for the access to a setting (0 and 1), to the scheme in force (19) and to new schemes (20), as group
// policies grant it (POWER_DATA_ACCESSOR of powrprof.h).
func (powrprof) allowed(what, setting string) error {
	accessor := map[string]uintptr{"ac": 0, "dc": 1, "active": 19, "create": 20}[what]
	return call(accessCheck, accessor, uintptr(unsafe.Pointer(guid(setting))))
}
