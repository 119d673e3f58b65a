package waits

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words reads the words in which PostgreSQL's processes say what they wait for, from their memory: no statement runs on the server.
// Each process has a pointer, the exported symbol my_wait_event_info, to a word that all map at one address (PostgreSQL 14 to 18,
// src/backend/utils/activity/wait_event.c): the class is in its top byte, the event in the low 16 bits, 0 is no wait.
type Words struct {
	postmaster  int
	pointer     uint64         // where each process has its pointer: they are forks of one program
	title, room uint64         // where each has its title, and how many bytes it may be, its end included
	at          map[int]uint64 // where its word is, by process
	xact        uint64         // from a word back to the number of the transaction that its process is in
	calls       map[int]int    // descriptors of what tells a process' system call, held open
}

// OpenWords finds the symbol in the program of a server, by its first process.
func OpenWords(postmaster int) (*Words, error) {
	program, err := os.Open(fmt.Sprintf("/proc/%d/exe", postmaster))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, errForbidden
	case err != nil:
		return nil, fmt.Errorf("its program cannot be read: %w", err)
	}
	defer program.Close()
	value, first, anywhere, err := symbol(program)
	if err != nil {
		return nil, err
	}
	if anywhere {
		base, err := loadBase(postmaster)
		if err != nil {
			return nil, err
		}
		value += base - first
	}
	w := &Words{postmaster: postmaster, pointer: value, at: map[int]uint64{}, calls: map[int]int{}}
	if _, err := w.word(postmaster); err != nil {
		return nil, err
	}
	return w, w.arguments()
}

// symbol is where a program has the pointer, as it is linked, where it begins, and whether it is mapped anywhere.
func symbol(program *os.File) (value, first uint64, anywhere bool, err error) {
	f, err := modest(program)
	if err != nil {
		return 0, 0, false, err
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != machine {
		return 0, 0, false, fmt.Errorf("its program is for another architecture (%s)", f.Machine)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, 0, false, errors.New("its program exports no symbols, as a static build does")
	}
	for _, s := range symbols {
		if s.Name == "my_wait_event_info" && s.Section != elf.SHN_UNDEF {
			value = s.Value
		}
	}
	if value == 0 {
		return 0, 0, false, errors.New("its program has no symbol my_wait_event_info: PostgreSQL 14 and later have it")
	}
	first = ^uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			first = min(first, p.Vaddr&^uint64(os.Getpagesize()-1))
		}
	}
	return value, first, f.Type == elf.ET_DYN, nil
}

// modest opens a program whose symbols fit in memory, as any user may have made another to fill it: PostgreSQL's are 10,000.
func modest(program *os.File) (*elf.File, error) {
	const mostFile, mostTable = 1 << 29, 1 << 24
	if info, err := program.Stat(); err != nil || info.Size() > mostFile {
		return nil, errors.New("its program is larger than any PostgreSQL")
	}
	f, err := elf.NewFile(program)
	if err != nil {
		return nil, fmt.Errorf("its program cannot be read: %w", err)
	}
	for _, s := range f.Sections {
		switch s.Type {
		case elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_GNU_VERSYM, elf.SHT_GNU_VERNEED, elf.SHT_GNU_VERDEF:
			if s.Size > mostTable || s.Flags&elf.SHF_COMPRESSED != 0 {
				return nil, errors.New("its program's symbols are more than any PostgreSQL has")
			}
		}
	}
	return f, nil
}

// arguments finds where processes keep their titles: in the place of the arguments and the environment that the first one had.
func (w *Words) arguments() error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.postmaster))
	if err != nil {
		return err
	}
	const start, end = 48 - 3, 51 - 3 // arg_start and env_end (proc_pid_stat(5)), after the name
	_, after, _ := bytes.Cut(b, []byte(") "))
	f := strings.Fields(string(after))
	if len(f) <= end {
		return errors.New("this kernel does not tell where its title is")
	}
	from, err1 := strconv.ParseUint(f[start], 10, 64)
	to, err2 := strconv.ParseUint(f[end], 10, 64)
	if err := errors.Join(err1, err2); err != nil || from == 0 || to <= from { // 0: this user may not know
		return errForbidden
	}
	w.title, w.room = from, to-from
	return nil
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
	if err := peek(pid, []unix.RemoteIovec{{Base: uintptr(w.pointer), Len: len(b)}}, b[:]); err != nil {
		return 0, err
	}
	at := binary.NativeEndian.Uint64(b[:])
	if at == 0 {
		return 0, errors.New("it has no word yet")
	}
	return at, nil
}

// Follow finds the words of processes: those that are given, and no others. One that has ended, or has no word in shared memory yet, is
// left out. It looks once at each: a process keeps its word until it ends.
func (w *Words) Follow(pids []int) {
	own, _ := w.word(w.postmaster) // of the first process it is private, as of one that has just begun
	at := make(map[int]uint64, len(pids))
	for _, pid := range pids {
		word, known := w.at[pid]
		if !known {
			var err error
			if word, err = w.word(pid); err != nil || word == own {
				continue
			}
		}
		at[pid] = word
	}
	w.at = at
	for pid := range w.calls {
		if _, here := at[pid]; !here {
			w.release(pid)
		}
	}
}

// At are where the words of known processes are, by process.
func (w *Words) At() map[int]uint64 { return w.at }

// Children lists the processes that the first one has begun. Its error is of a kernel that does not list children.
func (w *Words) Children() (pids []int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", w.postmaster))
	for text := range bytes.FieldsSeq(b) {
		if pid, err := strconv.Atoi(string(text)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// errForbidden is of memory that this user may not read.
var errForbidden = errors.New("this user may not read its memory: it takes root, or its own user where ptrace is permitted (kernel.yama.ptrace_scope)")

// peek reads pieces of a process' memory, one after another (process_vm_readv(2)), which takes the right to trace it.
func peek(pid int, at []unix.RemoteIovec, into []byte) error {
	local := []unix.Iovec{{Base: unsafe.SliceData(into)}}
	local[0].SetLen(len(into))
	n, err := unix.ProcessVMReadv(pid, local, at, 0)
	switch {
	case errors.Is(err, unix.EPERM):
		return errForbidden
	case err != nil:
		return err
	case n != len(into):
		return errors.New("its memory is not there")
	}
	return nil
}
