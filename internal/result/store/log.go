package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hostlab/internal/result"
	"hostlab/internal/trust"
)

// log is a file that only grows, a line at a time.
type log struct {
	name string
	f    *os.File
	size int64 // of whole lines
	bad  bool  // what follows size could not be cut off
}

// openLog opens a file for appending and cuts it to its whole lines.
func (d *folder) openLog(name string, size int64) (*log, error) {
	f, err := d.open(name, os.O_RDWR|os.O_CREATE)
	name = filepath.Join(d.Name(), name)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", name, why(err))
	}
	l := &log{name: name, f: f, size: size}
	if err := l.cut(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// cut removes what follows the last whole line.
func (l *log) cut() error {
	l.bad = true
	info, err := l.f.Stat()
	if err == nil && info.Size() != l.size {
		if err = l.f.Truncate(l.size); err == nil {
			err = l.f.Sync()
		}
	}
	if err == nil {
		_, err = l.f.Seek(l.size, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", l.name, why(err))
	}
	l.bad = false
	return nil
}

// append adds one line, durable when it returns nil. After an error the file is as
// before, or is cut before the next line is added.
func (l *log) append(v any) error {
	if l.bad {
		if err := l.cut(); err != nil {
			return err
		}
	}
	line, err := result.RecordJSON(v)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", l.name, err)
	}
	// One write: a kill comes before or after it, so only a power cut or a full disk
	// can tear the line.
	line = append(line, '\n')
	_, err = l.f.Write(line)
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		err = fmt.Errorf("cannot write %s: %w", l.name, why(err))
		if cut := l.cut(); cut != nil {
			return fmt.Errorf("%w (nor cut it back to its %d bytes)", err, l.size)
		}
		return err
	}
	l.size += int64(len(line))
	return nil
}

func (l *log) close() error {
	if err := l.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%s: %w", l.name, why(err))
	}
	return nil
}

// writeWhole writes a file whole or not at all, durably.
func (d *folder) writeWhole(name string, data []byte) (err error) {
	tmp := temporary(name)
	defer func() {
		if err != nil {
			_ = d.Remove(tmp)
			err = fmt.Errorf("cannot write %s: %w", filepath.Join(d.Name(), name), why(err))
		}
	}()
	f, err := d.open(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.Rename(tmp, name); err != nil {
		return err
	}
	return syncDir(d.Name())
}

func temporary(name string) string { return "." + name + ".new" }

// why is trust.Bare, also of what is refused.
func why(err error) error {
	if r, ok := errors.AsType[*trust.Refused](err); ok {
		return errors.New(r.Why)
	}
	return trust.Bare(err)
}
