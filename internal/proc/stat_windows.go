package proc

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	ntdll   = windows.NewLazySystemDLL("ntdll.dll")
	queryEx = ntdll.NewProc("NtQuerySystemInformationEx")
	groups  = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetActiveProcessorGroupCount")
)

// Snapshot asks for all processes and what their threads do now.
func Snapshot() ([]Process, error) {
	for size := uint32(256 << 10); ; {
		buf := make([]byte, size)
		var need uint32
		err := windows.NtQuerySystemInformation(windows.SystemProcessInformation, unsafe.Pointer(&buf[0]), size, &need)
		if errors.Is(err, windows.STATUS_INFO_LENGTH_MISMATCH) && size < 256<<20 {
			size = max(need, size) * 5 / 4 // some may start meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("NtQuerySystemInformation: %w", err)
		}
		return parseProcesses(buf[:min(need, size)], uint64(uintptr(unsafe.Pointer(&buf[0]))))
	}
}

func Read(pid int) (Stat, error) {
	for _, s := range All() {
		if s.PID == pid {
			return s, nil
		}
	}
	return Stat{}, fmt.Errorf("no process has the number %d", pid)
}

// All reads those that there are.
func All() (all []Stat) {
	list, _ := Snapshot()
	for _, p := range list {
		all = append(all, p.Stat)
	}
	return all
}

// Busy is for how long all CPUs were busy since the start of the system, s.
func Busy() (seconds float64, ok bool) {
	count := uintptr(1)
	if groups.Find() == nil {
		count, _, _ = groups.Call()
	}
	var all time.Duration
	buf := make([]byte, 48*64)
	for group := range uint16(count) { //nolint:gosec // a few
		var need uint32
		err := error(windows.STATUS_NOT_IMPLEMENTED)
		if queryEx.Find() == nil {
			status, _, _ := queryEx.Call(windows.SystemProcessorPerformanceInformation, uintptr(unsafe.Pointer(&group)),
				unsafe.Sizeof(group),
				uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), uintptr(unsafe.Pointer(&need)))
			if err = nil; status != 0 {
				err = windows.NTStatus(status)
			}
		}
		if err != nil && count == 1 { // as under Wine 8; it would tell of the caller's group alone
			err = windows.NtQuerySystemInformation(windows.SystemProcessorPerformanceInformation, unsafe.Pointer(&buf[0]),
				uint32(len(buf)), &need)
		}
		if err != nil || need == 0 {
			return 0, false
		}
		all += busyTime(buf[:min(int(need), len(buf))])
	}
	return all.Seconds(), true
}

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
