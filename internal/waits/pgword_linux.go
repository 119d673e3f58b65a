package waits

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Words reads the words in which PostgreSQL's processes say what they wait for, from their memory: no statement runs on
// the server. Each process has a pointer to a word that all map at one address, as an exported symbol (pointers): the
// class is in its top byte, the event in the low 16 bits, 0 is no wait.
type Words struct {
	postmaster  int
	pointer     uint64         // where each process has its pointer: they are forks of one program
	further     uint64         // from where that leads to the word
	title, room uint64         // where each has its title, and how many bytes it may be, its end included
	at          map[int]uint64 // where its word is, by process
	xact        uint64         // from a word back to the number of the transaction that its process is in
	looker      *looker        // nil: not yet begun
	children    *os.File       // that lists them, and stays open; nil: not yet
	list        bytes.Buffer
	missed      Missed
	failed      int           // times in a row that a child ended or kept silent
	spent       time.Duration // CPU time of those
	// where a word should be was none: this build has other records, and no word is read any more
	odd bool
}

// OpenWords finds the symbol in the program of a server, by its first process.
func OpenWords(postmaster int) (*Words, error) {
	program, err := os.Open(fmt.Sprintf("/proc/%d/exe", postmaster))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, forbidden()
	case err != nil:
		return nil, fmt.Errorf("its program cannot be read: %w", err)
	}
	defer program.Close()
	at, err := symbolOf(program)
	if err != nil {
		return nil, err
	}
	if at.anywhere {
		base, err := loadBase(postmaster)
		if err != nil {
			return nil, err
		}
		at.value += base - at.first
	}
	w := &Words{postmaster: postmaster, pointer: at.value, further: at.further, at: map[int]uint64{}}
	// Of 13 the first process has no record, and so no word.
	if _, err := w.word(postmaster); err != nil && (w.further == 0 || !errors.Is(err, errNoWord)) {
		return nil, err
	}
	return w, w.arguments()
}

// pointers are the symbols by which a program leads to its word, the newest first.
var pointers = []struct {
	name    string
	further uint64
	with    string // another symbol, without which the program is of a version whose records are others
}{
	{"my_wait_event_info", 0, ""}, // 14 to 18: src/backend/utils/activity/wait_event.c
	// 13: wait_event_info in PGPROC (storage/proc.h), as all 64-bit builds for Unix have it. 12 sends no such signals.
	{"MyProc", 684, "EmitProcSignalBarrier"},
}

// linked is a program's pointer as it is linked.
type linked struct {
	value, further uint64
	first          uint64 // where the program begins
	anywhere       bool   // it is mapped anywhere
}

// looked is the program in which a pointer was found last: of 10,000 symbols, which a history would read each minute.
var looked struct {
	sync.Mutex
	program [4]int64
	at      linked
}

// symbolOf is symbol, once for a program that stays as it is.
func symbolOf(program *os.File) (linked, error) {
	var is unix.Stat_t
	if err := unix.Fstat(int(program.Fd()), &is); err != nil {
		return linked{}, err
	}
	id := [4]int64{int64(is.Dev), int64(is.Ino), is.Size, is.Mtim.Nano()} //nolint:gosec // they are compared alone
	looked.Lock()
	defer looked.Unlock()
	if id == looked.program {
		return looked.at, nil
	}
	at, err := symbol(program)
	if err == nil {
		looked.program, looked.at = id, at
	}
	return at, err
}

// symbol finds a program's pointer.
func symbol(program *os.File) (at linked, err error) {
	f, err := modest(program)
	if err != nil {
		return at, err
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != machine {
		return at, fmt.Errorf("its program is for another architecture (%s)", f.Machine)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return at, errors.New("its program exports no symbols, as a static build does")
	}
	values := map[string]uint64{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			values[s.Name] = s.Value
		}
	}
	for _, p := range pointers {
		if at.value == 0 && (p.with == "" || values[p.with] != 0) {
			at.value, at.further = values[p.name], p.further
		}
	}
	if at.value == 0 {
		return at, errors.New("its program has neither symbol my_wait_event_info, as PostgreSQL 14 and later have it, " +
			"nor those of 13")
	}
	at.first, at.anywhere = ^uint64(0), f.Type == elf.ET_DYN
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			at.first = min(at.first, p.Vaddr&^uint64(os.Getpagesize()-1))
		}
	}
	return at, nil
}

// modest opens a program whose symbols fit in memory, as any user may have made another to fill it: PostgreSQL's are
// 10,000.
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

// arguments finds where processes keep their titles: in the place of the arguments and the environment that the first
// one had.
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
		return forbidden()
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
	list, err := proc.Maps(pid)
	if err != nil {
		return 0, err
	}
	for _, m := range list {
		if m.Name == exe {
			return m.From - m.Offset, nil
		}
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
		return 0, errNoWord
	}
	return at + w.further, nil
}

// errNoWord is of a process that has just begun.
var errNoWord = errors.New("it has no word yet")

// Follow finds the words of processes: those that are given, and no others. One that has ended, or has no word in
// shared memory yet, is left out, and all are where the records of 13 hold something else in its place. It looks once
// at each: a process keeps its word until it ends.
func (w *Words) Follow(pids []int) {
	if w.odd {
		pids = nil
	}
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
	w.Read(map[int]uint32{})
}

// At are where the words of known processes are, by process.
func (w *Words) At() map[int]uint64 { return w.at }

// Children lists the processes that the first one has begun. Its error is of a kernel that does not list children.
func (w *Words) Children() (pids []int, err error) {
	if w.children == nil {
		if w.children, err = os.Open(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", w.postmaster)); err != nil {
			return nil, err
		}
	}
	w.list.Reset()
	_, err = w.list.ReadFrom(io.NewSectionReader(w.children, 0, math.MaxInt32))
	for text := range bytes.FieldsSeq(w.list.Bytes()) {
		if pid, err := strconv.Atoi(string(text)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// forbidden is of memory that this user may not read.
func forbidden() error {
	return fmt.Errorf("its memory may not be read: %s", cmp.Or(proc.CannotTrace(), "a security module or a user namespace forbids it"))
}

// peek reads pieces of a process' memory, one after another (process_vm_readv(2)), which takes the right to trace it.
func peek(pid int, at []unix.RemoteIovec, into []byte) error {
	local := []unix.Iovec{{Base: unsafe.SliceData(into)}}
	local[0].SetLen(len(into))
	n, err := unix.ProcessVMReadv(pid, local, at, 0)
	switch {
	case errors.Is(err, unix.EPERM):
		return forbidden()
	case err != nil:
		return err
	case n != len(into):
		return errors.New("its memory is not there")
	}
	return nil
}
