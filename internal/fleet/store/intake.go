package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"time"

	"hostlab/internal/fleet"
)

// batch is how many documents a transaction takes: a commit each would cost a sync each.
const batch = 64

// Intake keeps documents as they are read. Reading takes more of a CPU than keeping, so several are read at a time.
type Intake struct {
	Store *Store                 // nil: there is none yet
	Make  func() (*Store, error) // makes it when a document can be kept
	Host  string                 // they belong to it, whatever they say; "": as they say
	Now   time.Time
	// Refused gets each document that is not kept, by its path, or "" where the error names it.
	Refused func(path string, err error)

	made                 *Store                  // by Make
	coming               chan chan fleet.Spooled // in order, each full when it is read
	waiting              []*fleet.Document
	read, added, refused int
}

// One keeps the document of a file, which open opens, and says whether it is packed.
func (in *Intake) One(ctx context.Context, path string, open func() (io.ReadCloser, bool, error)) error {
	return in.take(ctx, in.document(ctx, fleet.File{Path: path}, open))
}

// Spool reads the files of a directory, several at a time, and keeps them in order.
func (in *Intake) Spool(ctx context.Context, dir string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in.coming = make(chan chan fleet.Spooled, batch) // the next ones are read while these are kept
	kept := make(chan error, 1)
	go func() {
		var failed error
		for c := range in.coming {
			if d := <-c; failed == nil {
				if failed = in.take(ctx, d); failed != nil {
					stop()
				}
			}
		}
		kept <- failed
	}()
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	err := fleet.Files(dir, func(f fleet.File) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c := make(chan fleet.Spooled, 1)
		in.coming <- c
		slots <- struct{}{}
		r, packed, err := f.Open() // here: the directory is closed after its last file
		go func() {
			c <- in.document(ctx, f, func() (io.ReadCloser, bool, error) { return r, packed, err })
			<-slots
		}()
		return nil
	})
	close(in.coming)
	if failed := <-kept; failed != nil {
		return failed // which has stopped the reading
	}
	return err
}

// document reads one, unless the store knows its bytes: then Document has nothing but their hash.
func (in *Intake) document(ctx context.Context, f fleet.File, open func() (io.ReadCloser, bool, error)) fleet.Spooled {
	out := fleet.Spooled{Path: f.Path, Err: f.Err}
	if out.Err != nil {
		return out
	}
	r, packed, err := open()
	if err != nil {
		out.Err = err
		return out
	}
	defer r.Close()
	out.Err = fleet.Body(r, packed, func(body []byte) error {
		if in.Store != nil {
			hash := fleet.Hash(body)
			switch known, err := in.Store.Known(ctx, hash); {
			case err != nil:
				return storeFails{err}
			case known:
				out.Document = &fleet.Document{Hash: hash}
				return nil
			}
		}
		body = bytes.Clone(body)
		if out.Document, err = fleet.Read(body, cmp.Or(in.Host, f.Host), in.Now); err == nil {
			out.Packed = fleet.Pack(body)
		}
		return err
	})
	return out
}

// storeFails is an error that is not the document's.
type storeFails struct{ error }

func (in *Intake) take(ctx context.Context, d fleet.Spooled) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fails, is := errors.AsType[storeFails](d.Err); is {
		return fails.error
	}
	in.read++
	if d.Err != nil {
		in.refused++
		in.Refused(d.Path, d.Err)
		return nil //nolint:nilerr // the others are kept; end fails
	}
	if d.Body == nil { // known
		return nil
	}
	in.waiting = append(in.waiting, d.Document)
	if len(in.waiting) < batch {
		return nil
	}
	return in.keep(ctx)
}

// store is where documents go. It is made late: files that are all refused leave none behind.
func (in *Intake) store() (_ *Store, err error) {
	if in.Store == nil && in.made == nil {
		in.made, err = in.Make()
	}
	return cmp.Or(in.Store, in.made), err
}

func (in *Intake) keep(ctx context.Context) error {
	if len(in.waiting) == 0 {
		return nil
	}
	to, err := in.store()
	if err != nil {
		return err
	}
	n, err := to.Put(ctx, in.waiting, "ingest", in.Now)
	in.added, in.waiting = in.added+n, in.waiting[:0]
	if _, is := errors.AsType[*fleet.Refused](err); !is {
		return err
	}
	for line := range strings.Lines(err.Error()) {
		in.refused++
		in.Refused("", errors.New(strings.TrimSpace(line)))
	}
	return nil
}

func (in *Intake) Close() error {
	if s := cmp.Or(in.Store, in.made); s != nil {
		return s.Close()
	}
	return nil
}

// End keeps the rest, and counts the documents that were read, that are new, and that were refused.
func (in *Intake) End(ctx context.Context) (read, added, refused int, err error) {
	if err = in.keep(ctx); err == nil && in.refused == 0 {
		_, err = in.store() // also of an empty spool
	}
	return in.read, in.added, in.refused, err
}
