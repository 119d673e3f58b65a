//go:build !linux

package proc

import "os"

func line(name string) (string, error) {
	b, err := os.ReadFile(name)
	return string(b), err
}
