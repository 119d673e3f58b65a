package proc

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"
	"unicode/utf16"
)

// Process is one of Windows with what its threads do at a moment.
type Process struct {
	Stat
	Threads int
	Running int // on a CPU
	Ready   int // no CPU is free
}

// What SYSTEM_PROCESS_INFORMATION and SYSTEM_THREAD_INFORMATION have where, on 64-bit Windows (winternl.h; phnt's
// ntexapi.h).
const (
	processSize, threadSize                            = 256, 80
	atThreads, atCreated, atUser, atKernel             = 4, 32, 40, 48
	atNameLength, atNamePointer, atNumber, atInherited = 56, 64, 80, 88
	atState                                            = 68
)

// Thread states (KTHREAD_STATE of wdm.h): a thread in standby has been chosen for a CPU, one in deferred ready not yet.
const (
	stateReady, stateRunning, stateStandby, stateDeferred = 1, 2, 3, 7
)

const windowsTick = 100 * time.Nanosecond

var errCut = errors.New("the list of processes is cut short")

// parseProcesses reads what class 5 of NtQuerySystemInformation writes to an address. The idle process is none.
func parseProcesses(b []byte, address uint64) (list []Process, err error) {
	for at := 0; ; {
		if at+processSize > len(b) {
			return nil, errCut
		}
		e := b[at:]
		number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(e[at:])) } //nolint:gosec // times and numbers
		p := Process{Threads: int(binary.LittleEndian.Uint32(e[atThreads:]))}
		p.PID, p.Parent, p.Started, p.State = int(number(atNumber)), int(number(atInherited)), number(atCreated), 'R'
		p.CPU = time.Duration(number(atUser)+number(atKernel)) * windowsTick
		from, length := binary.LittleEndian.Uint64(e[atNamePointer:])-address,
			uint64(binary.LittleEndian.Uint16(e[atNameLength:]))
		if end := from + length; length > 0 && from < end && end <= uint64(len(b)) {
			p.Name = programName(b[from:end])
		}
		if processSize+p.Threads*threadSize > len(e) {
			return nil, errCut
		}
		for i := range p.Threads {
			switch binary.LittleEndian.Uint32(e[processSize+i*threadSize+atState:]) {
			case stateRunning:
				p.Running++
			case stateReady, stateStandby, stateDeferred:
				p.Ready++
			}
		}
		if p.PID != 0 {
			list = append(list, p)
		}
		next := int(binary.LittleEndian.Uint32(e))
		if next == 0 {
			return adopted(list), nil
		}
		at += next
	}
}

// programName is one without its .exe.
func programName(b []byte) string {
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	name := string(utf16.Decode(u))
	if at := len(name) - len(".exe"); at > 0 && strings.EqualFold(name[at:], ".exe") {
		return name[:at]
	}
	return name
}

// adopted takes out parents that have ended, whose number a later process has got.
func adopted(list []Process) []Process {
	started := map[int]int64{}
	for _, p := range list {
		started[p.PID] = p.Started
	}
	for i, p := range list {
		if parent, there := started[p.Parent]; there && parent > p.Started {
			list[i].Parent = 0
		}
	}
	return list
}

// busyTime sums what CPUs did up by SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION: idle, kernel with idle in it, user,
// three others.
func busyTime(b []byte) (busy time.Duration) {
	for ; len(b) >= 48; b = b[48:] {
		at := func(i int) time.Duration { return time.Duration(binary.LittleEndian.Uint64(b[8*i:])) * windowsTick } //nolint:gosec // times
		busy += at(1) - at(0) + at(2)
	}
	return busy
}
