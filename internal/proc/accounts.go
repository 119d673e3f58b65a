package proc

import (
	"errors"
	"io"
	"os"
	"strconv"
	"time"
)

// Accounts reads Schedstat of processes or threads again and again. Their files stay open: to find one of hundreds by
// its name takes the kernel ten times as long as to read it.
type Accounts struct{ files map[int64]*os.File }

// mostAccounts is how many files stay open: a process may have 1,024 by default.
const mostAccounts = 400

// Read is for how long a process or thread has been on a CPU and ready for one.
func (a *Accounts) Read(id int64) (ran, waited time.Duration, err error) {
	f := a.files[id]
	if f == nil {
		if len(a.files) >= mostAccounts {
			return Schedstat(strconv.FormatInt(id, 10))
		}
		if f, err = os.Open("/proc/" + strconv.FormatInt(id, 10) + "/schedstat"); err != nil {
			return 0, 0, err
		}
		if a.files == nil {
			a.files = map[int64]*os.File{}
		}
		a.files[id] = f
	}
	var b [128]byte // three numbers
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) { // it has ended
		a.Forget(id)
		return 0, 0, err
	}
	return schedstat(f.Name(), string(b[:n]))
}

// Forget closes the file of one that has ended.
func (a *Accounts) Forget(id int64) {
	if f := a.files[id]; f != nil {
		_ = f.Close()
		delete(a.files, id)
	}
}
