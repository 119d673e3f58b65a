package waits

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program that is no PostgreSQL of this architecture is refused by one clear clause, and none fills the memory.
func TestProgramsWithoutTheSymbol(t *testing.T) {
	own, err := os.ReadFile("/bin/sh") // which has symbols of its libraries, where a program of Go may have none
	if err != nil {
		t.Fatal(err)
	}
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
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.size > 0 {
				if err := os.Truncate(path, c.size); err != nil {
					t.Fatal(err)
				}
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err = symbol(f); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := OpenWords(os.Getpid()); err == nil || !strings.Contains(err.Error(), "its program ") {
		t.Errorf("of this program: %v", err)
	}
	if _, err := OpenWords(1 << 30); err == nil || !strings.Contains(err.Error(), "its program cannot be read") {
		t.Errorf("of a process that has ended: %v", err)
	}
}
