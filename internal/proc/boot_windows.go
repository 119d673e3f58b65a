package proc

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Boot names this boot by when it began. The bias is by how much clocks were set since then (phnt's ntexapi.h), so
// that setting the clock makes no other boot. "": Windows does not say.
func Boot() string {
	var t struct {
		Boot, Current, Zone int64 // in 100 ns since 1601
		ZoneID, _           uint32
		Bias, _             int64
	}
	var n uint32
	err := windows.NtQuerySystemInformation(windows.SystemTimeOfDayInformation, unsafe.Pointer(&t),
		uint32(unsafe.Sizeof(t)), &n)
	if err != nil || t.Boot == 0 {
		return ""
	}
	return fmt.Sprint(t.Boot - t.Bias)
}
