package privatedb

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hostlab/internal/trust"
)

// shm is the System V segment by which PostgreSQL keeps a second server from a
// cluster. It has no other use, holds some 50 bytes, and outlives a server that is
// killed.
type shm struct {
	key, id int
	owner   uint32
}

// segment reads it from postmaster.pid, whose seventh line has its key and number
// (LOCK_FILE_LINE_SHMEM_KEY in src/include/utils/pidfile.h).
func segment(data *os.Root) (s shm, ok bool) {
	// What is there is the server's account's to choose, and we may be root.
	f, err := trust.OpenFile(data, "postmaster.pid", os.O_RDONLY, 0)
	if err != nil {
		return s, false
	}
	defer f.Close()
	in, err := data.Stat(".")
	if err != nil {
		return s, false
	}
	var st unix.Stat_t
	if owner, ok := in.Sys().(*syscall.Stat_t); !ok || unix.Fstat(int(f.Fd()), &st) != nil || st.Uid != owner.Uid {
		return s, false
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return s, false
	}
	s.owner = st.Uid
	lines := strings.Split(string(b), "\n")
	if len(lines) < 7 {
		return s, false
	}
	numbers := strings.Fields(lines[6])
	if len(numbers) != 2 {
		return s, false
	}
	var err1, err2 error
	s.key, err1 = strconv.Atoi(numbers[0])
	s.id, err2 = strconv.Atoi(numbers[1])
	return s, err1 == nil && err2 == nil
}

// remove removes the segment if it is still that one and nobody has it attached.
func (s shm) remove() {
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(s.id, unix.IPC_STAT, &d); err == nil && int(d.Perm.Key) == s.key &&
		d.Perm.Uid == s.owner &&
		d.Nattch == 0 {
		_, _ = unix.SysvShmCtl(s.id, unix.IPC_RMID, nil) // best effort: 50 bytes
	}
}

// segmentOf returns what removes the segment of a server that is about to be ended.
func segmentOf(data *os.Root) func() {
	s, known := segment(data)
	if !known {
		return nil
	}
	return s.remove
}
