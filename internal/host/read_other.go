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

func (t Tree) open(path string) (*os.File, error) {
	if t.at != nil && t.at.ctx.Err() != nil {
		return nil, errors.New("interrupted before it was read")
	}
	return os.Open(t.Join(path))
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

func (t Tree) lstat(path string) (fs.FileMode, error) { return lstat(t.Join(path)) }

func (t Tree) readlink(path string) (string, error) { return os.Readlink(t.Join(path)) }

func (t Tree) list(path string) ([]string, error) {
	f, err := t.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (t Tree) exists(path string) bool {
	_, err := os.Stat(t.Join(path))
	return err == nil
}
