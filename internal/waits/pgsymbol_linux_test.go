package waits

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"hostlab/internal/testkit"
)

// A program that is no PostgreSQL of this architecture is refused by one clear clause, and none fills the memory.
func TestProgramsWithoutTheSymbol(t *testing.T) {
	own := testkit.Must(os.ReadFile("/bin/sh"))(t)     // which has symbols of its libraries, where a program of Go may have none
	const machineAt, sectionsAt, countsAt = 18, 40, 60 // e_machine, e_shoff, e_shnum and e_shstrndx (elf(5))
	other, bare := slices.Clone(own), slices.Clone(own)
	binary.LittleEndian.PutUint16(other[machineAt:], uint16(elf.EM_S390))
	clear(bare[sectionsAt : sectionsAt+8])
	clear(bare[countsAt : countsAt+4])
	for name, c := range map[string]struct {
		content []byte
		size    int64
		want    string
	}{
		"without symbols":          {content: bare, want: "exports no symbols"},
		"another program":          {content: own, want: "as PostgreSQL 14 and later have it, nor those of 13"},
		"of another architecture":  {content: other, want: "for another architecture"},
		"no program":               {content: []byte("#!/bin/sh\n"), want: "its program cannot be read"},
		"a file of a terabyte":     {content: own, size: 1 << 40, want: "larger than any PostgreSQL"},
		"cut off within its parts": {content: own[:100], want: "its program cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "postgres")
			testkit.OK(t, os.WriteFile(path, c.content, 0o600))
			if c.size > 0 {
				testkit.OK(t, os.Truncate(path, c.size))
			}
			f, err := os.Open(path)
			testkit.OK(t, err)
			defer f.Close()
			if _, err = symbol(f); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	testkit.Refused(OpenWords(os.Getpid()))(t, "its program ", "of this program")
	testkit.Refused(OpenWords(1<<30))(t, "its program cannot be read", "of a process that has ended")
}

// TestWordsThatAreNone: where one of what should be words is none that PostgreSQL writes, none is read, now or later.
func TestWordsThatAreNone(t *testing.T) {
	for word, is := range map[uint32]bool{0: true, 0x06000000: true, 0x0300000a: true, 0x0100ffff: true, 0x0b000001: true,
		1: false, 0x02000001: false, 0x0c000000: false, 0x06010000: false, 0xffffffff: false, 0x00007f12: false} {
		memory := []uint32{0x06000000, 0, word}
		at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&memory[i]))) }
		w := &Words{postmaster: os.Getpid(), pointer: at(0), further: 684, at: map[int]uint64{1: at(0), 2: at(1), 3: at(2)}}
		w.Follow([]int{1, 2, 3})
		words := map[int]uint32{}
		w.Read(words)
		want := 0
		if is {
			want = 3
		}
		if len(words) != want || len(w.At()) != want || len(w.Look(w.Group([]int{1, 2, 3}))) != want {
			t.Errorf("%#x: %v at %v", word, words, w.At())
		}
		exact := &Words{postmaster: os.Getpid(), at: map[int]uint64{3: at(2)}}
		if exact.Read(words); words[3] != word || len(words) != 1 {
			t.Errorf("where a symbol leads to it, %#x is %v", word, words)
		}
		memory[2] = 0
		if w.Follow([]int{1, 2, 3}); !is && len(w.At()) > 0 {
			t.Errorf("%#x: followed again", word)
		}
		runtime.KeepAlive(memory)
	}
}
