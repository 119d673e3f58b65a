package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// access is the name of a file's access list, which setfacl(1) writes.
const access = "system.posix_acl_access"

// openList reads an open file's access list, pathList that of a path; nil: it has none.
func openList(f *os.File) ([]byte, error) {
	return readList(func(b []byte) (int, error) {
		return unix.Fgetxattr(int(f.Fd()), access, b)
	}) //nolint:gosec // a descriptor is small
}

func pathList(path string) ([]byte, error) {
	return readList(func(b []byte) (int, error) { return unix.Lgetxattr(path, access, b) })
}

func readList(get func([]byte) (int, error)) ([]byte, error) {
	b := make([]byte, 64<<10) // XATTR_SIZE_MAX of linux/limits.h
	n, err := get(b)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil, nil
	}
	return b[:max(n, 0)], err
}

// listed says whom an access list lets write: the owner's group, or users and groups of its
// own. Its layout is in linux/posix_acl_xattr.h: a version, then entries of a tag, rights and
// an ID. The mask bounds all that it names.
func listed(b []byte, group uint32) string {
	const version, head, entry = 2, 4, 8
	const user, groupOwner, otherGroup, mask, write = 0x02, 0x04, 0x08, 0x10, 2
	if len(b) < head || binary.LittleEndian.Uint32(b) != version || (len(b)-head)%entry != 0 {
		return "has an access list of an unknown kind"
	}
	most, whys := uint16(7), []string(nil)
	for b = b[head:]; len(b) > 0; b = b[entry:] {
		rights, id := binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint32(b[4:])
		switch tag := binary.LittleEndian.Uint16(b); {
		case tag == mask:
			most = rights
		case rights&write == 0:
		case tag == user && id != 0 && int(id) != os.Geteuid():
			whys = append(whys, fmt.Sprintf("may be written to by %s (getfacl shows it)", Account(id)))
		case tag == groupOwner && !ownGroup(group):
			whys = append(whys, fmt.Sprintf("may be written to by group %d", group))
		case tag == otherGroup && !ownGroup(id):
			whys = append(whys, fmt.Sprintf("may be written to by group %d (getfacl shows it)", id))
		}
	}
	if most&write == 0 || len(whys) == 0 {
		return ""
	}
	return whys[0]
}
