package trust

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// acl builds an access list of entries: tag, rights, ID.
func acl(entries ...[3]uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

// A user who may write through an access list is another user, also where the file's group is
// root's: the group's bits of the mode are the list's mask.
func TestAccessLists(t *testing.T) {
	const none = 0xffffffff
	owner, group, other := [3]uint32{0x01, 7, none}, [3]uint32{0x04, 5, none}, [3]uint32{0x20, 5, none}
	self := uint32(os.Geteuid()) //nolint:gosec // of this process
	for name, c := range map[string]struct {
		list []byte
		why  string
	}{
		"a user who writes": {acl(owner, [3]uint32{0x02, 7, 12345}, group, [3]uint32{0x10, 7, none}, other),
			"may be written to by uid 12345"},
		"a group that writes": {acl(owner, group, [3]uint32{0x08, 6, 12346}, [3]uint32{0x10, 7, none}, other),
			"may be written to by group 12346"},
		"a user whom the mask stops": {acl(owner, [3]uint32{0x02, 7, 12345}, group, [3]uint32{0x10, 5, none}, other), ""},
		"a user who reads":           {acl(owner, [3]uint32{0x02, 5, 12345}, group, [3]uint32{0x10, 7, none}, other), ""},
		"this user":                  {acl(owner, [3]uint32{0x02, 7, self}, group, [3]uint32{0x10, 7, none}, other), ""},
		"everyone": {acl(owner, [3]uint32{0x02, 5, 12345}, group, [3]uint32{0x10, 7, none},
			[3]uint32{0x20, 7, none}), "may be written to by everyone"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
			below := filepath.Join(dir, "shared", "below")
			testkit.OK(t, os.MkdirAll(below, 0o755))
			file := filepath.Join(below, "file")
			write(t, file, "")
			for _, path := range []string{filepath.Dir(below), file} {
				testkit.OK(t, unix.Setxattr(path, access, c.list, 0))
			}
			f := testkit.Must(os.Open(file))(t)
			defer f.Close()
			_, above := Parents(below)
			_, holder := Holder(filepath.Dir(below))
			for _, err := range []error{Ours(f), above, holder} {
				if c.why != "" {
					refused(t, err, c.why)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// What is no access list is refused and not read beyond its end.
func TestAccessListOfUnknownKind(t *testing.T) {
	for _, b := range [][]byte{{}, {2, 0, 0}, {3, 0, 0, 0}, append(acl([3]uint32{0x02, 7, 12345}), 1)} {
		testkit.Is(t, "has an access list of an unknown kind", listed(b, 0), b)
	}
}

// A directory that cannot be made is named whole, and not by its last name and a system call.
func TestMkdirAllSaysWhich(t *testing.T) {
	const path = "/proc/hostlab" // where nobody makes one
	if err := MkdirAll(path, 0o700); err == nil || !strings.HasPrefix(err.Error(), "cannot make "+path+": ") {
		t.Error(err)
	}
}
