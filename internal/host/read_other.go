//go:build !linux

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

type session struct {
	ctx   context.Context
	shown sync.Map // what masked has found out
}

func (t Tree) begin(ctx context.Context) (_ Tree, end func()) {
	t.at = &session{ctx: ctx}
	return t, func() {}
}

// here returns where a path lies. /proc and /sys of the machine itself are nowhere,
// whatever happens to be found at \proc of the current drive: a database server
// has data there, and Wine has another system's files.
func (t Tree) here(path string) (string, error) {
	if t.Foreign() {
		return "", errForeign
	}
	return t.Join(path), nil
}

func (t Tree) open(path string) (*os.File, error) {
	if t.at != nil && t.at.ctx.Err() != nil {
		return nil, errors.New("interrupted before it was read")
	}
	name, err := t.here(path)
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

func (t Tree) read(path string, use func([]byte) error) error {
	f, err := t.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(b) > maxFile {
		return fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	return use(b)
}

func (t Tree) head(path string, n int) ([]byte, error) {
	f, err := t.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(n)))
}

func (t Tree) lstat(path string) (fs.FileMode, error) {
	name, err := t.here(path)
	if err != nil {
		return 0, err
	}
	return lstat(name)
}

func (t Tree) readlink(path string) (string, error) {
	name, err := t.here(path)
	if err != nil {
		return "", err
	}
	return os.Readlink(name)
}

func (t Tree) list(path string) ([]string, error) {
	f, err := t.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (t Tree) exists(path string) bool {
	name, err := t.here(path)
	if err == nil {
		_, err = os.Stat(name)
	}
	return err == nil
}
