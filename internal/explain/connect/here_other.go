//go:build !linux

package connect

import "errors"

// Here fails: socket files of processes are found on Linux only.
func Here(string, int) (*DSN, error) {
	return nil, errors.New("a server here is found on Linux only; name it with --dsn")
}
