package host

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// ownerOf is the user ID of a file's owner, on the machine itself.
func ownerOf(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(st.Uid), 10), nil
}
