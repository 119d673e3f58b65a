package waits

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words reads the words in which PostgreSQL's processes say what they wait for, from their memory: no statement runs on the server.
// Each process has a pointer, the exported symbol my_wait_event_info, to a word that all map at one address (PostgreSQL 13 to 18,
// src/backend/utils/activity/wait_event.c): the class is in its top byte, the event in the low 16 bits, 0 is no wait.
type Words struct {
	postmaster int
	pointer    uint64         // where each process has its pointer: they are forks of one program
	at         map[int]uint64 // where its word is, by process
}

// OpenWords finds the symbol in the program of a server, by its first process.
func OpenWords(postmaster int) (*Words, error) {
	exe := fmt.Sprintf("/proc/%d/exe", postmaster)
	f, err := elf.Open(exe)
	if err != nil {
		return nil, fmt.Errorf("its program cannot be read: %w", err)
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 || f.Machine != machine {
		return nil, fmt.Errorf("its program is for another architecture (%s)", f.Machine)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, errors.New("its program exports no symbols: it is a static build")
	}
	value := uint64(0)
	for _, s := range symbols {
		if s.Name == "my_wait_event_info" && s.Section != elf.SHN_UNDEF {
			value = s.Value
		}
	}
	if value == 0 {
		return nil, errors.New("its program has no symbol my_wait_event_info: PostgreSQL 13 and later have it")
	}
	if f.Type == elf.ET_DYN { // it is mapped anywhere
		base, err := loadBase(postmaster)
		if err != nil {
			return nil, err
		}
		first := ^uint64(0)
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD {
				first = min(first, p.Vaddr&^uint64(os.Getpagesize()-1))
			}
		}
		value += base - first
	}
	w := &Words{postmaster: postmaster, pointer: value, at: map[int]uint64{}}
	if _, err := w.word(postmaster); err != nil {
		return nil, err
	}
	return w, nil
}

// loadBase is where a process' program begins in its memory.
func loadBase(pid int) (uint64, error) {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return 0, err
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || strings.Join(fields[5:], " ") != exe {
			continue
		}
		from, _, _ := strings.Cut(fields[0], "-")
		base, err1 := strconv.ParseUint(from, 16, 64)
		offset, err2 := strconv.ParseUint(fields[2], 16, 64)
		return base - offset, errors.Join(err1, err2)
	}
	return 0, errors.New("its program is not where its memory says")
}

// word finds where a process' word is.
func (w *Words) word(pid int) (uint64, error) {
	var b [8]byte
	if err := peek(pid, []uint64{w.pointer}, b[:], 8); err != nil {
		return 0, err
	}
	at := binary.NativeEndian.Uint64(b[:])
	if at == 0 {
		return 0, errors.New("it has no word yet")
	}
	return at, nil
}

// Know finds the words of processes anew: those that are given, and no others. One that has ended, or has no word in shared memory
// yet, is left out.
func (w *Words) Know(pids []int) {
	clear(w.at)
	own, _ := w.word(w.postmaster) // of the first process it is private, as of one that has just begun
	for _, pid := range pids {
		if at, err := w.word(pid); err == nil && at != own {
			w.at[pid] = at
		}
	}
}

// At are where the words of known processes are, by process.
func (w *Words) At() map[int]uint64 { return w.at }

// Read reads the words of all known processes by one call: all map the shared memory at one address. It returns none where that
// memory has gone, as when the server has restarted.
func (w *Words) Read(into map[int]uint32) {
	clear(into)
	pids := slices.Collect(maps.Keys(w.at))
	const most = 1024 // UIO_MAXIOV
	for group := range slices.Chunk(pids, most) {
		at := make([]uint64, len(group))
		for i, pid := range group {
			at[i] = w.at[pid]
		}
		b := make([]byte, 4*len(at))
		if peek(w.postmaster, at, b, 4) != nil {
			continue
		}
		for i, pid := range group {
			into[pid] = binary.NativeEndian.Uint32(b[4*i:])
		}
	}
}

// peek reads words of a process' memory (process_vm_readv(2)), which takes the right to trace it.
func peek(pid int, at []uint64, into []byte, size int) error {
	remote := make([]unix.RemoteIovec, len(at))
	for i, a := range at {
		remote[i] = unix.RemoteIovec{Base: uintptr(a), Len: size}
	}
	local := []unix.Iovec{{Base: unsafe.SliceData(into)}}
	local[0].SetLen(len(into))
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	switch {
	case errors.Is(err, unix.EPERM):
		return errors.New("this user may not read its memory: it takes root, or its own user where ptrace is permitted (kernel.yama.ptrace_scope)")
	case err != nil:
		return err
	case n != len(into):
		return errors.New("its memory is not there")
	}
	return nil
}
