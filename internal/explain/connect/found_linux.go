package connect

import (
	"errors"
	"fmt"
	"net"
)

// check compares who answers at the socket with the process that was found, and asks whether it is trusted.
func (f *found) check(c net.Conn, d *DSN) error {
	cred, err := peerOf(c)
	if err != nil {
		return err
	}
	switch pid := int(cred.Pid); {
	case pid == 0:
		f.doubt = errors.New("its process does not show here")
	case pid != f.pid && (pid != initPID || cred.Uid != 0):
		return fmt.Errorf("process %d answers at its socket %s, not it: name the server with --dsn", pid, f.file)
	default:
		f.doubt = d.Vendor.doubt(c, f.file, f.pid)
	}
	if d.trusted && f.doubt != nil {
		return errKeptBack
	}
	return nil
}
