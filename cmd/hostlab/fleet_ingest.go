package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/screen"
)

// batch is how many documents a transaction takes: a commit each would cost a sync each.
const batch = 64

// intake keeps documents as they are read. Reading takes more of a CPU than keeping, so several are read at a time.
type intake struct {
	std   streams
	store *store.Store
	as    string
	now   time.Time

	coming               chan chan fleet.Spooled // in order, each full when it is read
	waiting              []*fleet.Document
	read, added, refused int
}

// path reads a spool, a file or standard input.
func (in *intake) path(ctx context.Context, path string) error {
	if path == "-" {
		return in.take(ctx, in.document(ctx, fleet.File{Path: "standard input"},
			func() (io.ReadCloser, bool, error) { return io.NopCloser(in.std.in), false, nil }))
	}
	info, err := os.Stat(path)
	if err != nil {
		return usageError{err}
	}
	if info.IsDir() {
		return in.spool(ctx, path)
	}
	return in.take(ctx, in.document(ctx, fleet.File{Path: path}, func() (io.ReadCloser, bool, error) {
		f, err := openNamed(path)
		err = plain(err)
		return f, strings.HasSuffix(path, ".gz"), err
	}))
}

// spool reads the files of a directory, several at a time, and keeps them in order.
func (in *intake) spool(ctx context.Context, dir string) error {
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
func (in *intake) document(ctx context.Context, f fleet.File, open func() (io.ReadCloser, bool, error)) fleet.Spooled {
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
		hash := fleet.Hash(body)
		switch known, err := in.store.Known(ctx, hash); {
		case err != nil:
			return storeFails{err}
		case known:
			out.Document = &fleet.Document{Hash: hash}
			return nil
		}
		host := in.as
		if host == "" {
			host = f.Host
		}
		body = bytes.Clone(body)
		if out.Document, err = fleet.Read(body, host, in.now); err == nil {
			out.Packed = fleet.Pack(body)
		}
		return err
	})
	return out
}

// storeFails is an error that is not the document's.
type storeFails struct{ error }

func (in *intake) take(ctx context.Context, d fleet.Spooled) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fails, is := errors.AsType[storeFails](d.Err); is {
		return fails.error
	}
	in.read++
	if d.Err != nil {
		in.refused++
		fmt.Fprintf(in.std.err, "hostlab: %s: %s\n", screen.Clean(d.Path), screen.OneLine(d.Err))
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

func (in *intake) keep(ctx context.Context) error {
	n, err := in.store.Put(ctx, in.waiting, "ingest", in.now)
	in.added, in.waiting = in.added+n, in.waiting[:0]
	if _, is := errors.AsType[*fleet.Refused](err); !is {
		return err
	}
	for line := range strings.Lines(err.Error()) {
		in.refused++
		fmt.Fprintf(in.std.err, "hostlab: %s\n", screen.Clean(strings.TrimSpace(line)))
	}
	return nil
}

// end keeps the rest and says what became of the documents.
func (in *intake) end(ctx context.Context) error {
	if err := in.keep(ctx); err != nil {
		return err
	}
	fmt.Fprintf(in.std.out, "%s read: %d new, %d known, %d refused\n", screen.Count(in.read, "document"), in.added,
		in.read-in.added-in.refused, in.refused)
	if in.refused > 0 {
		return errors.New("not all documents were stored")
	}
	return nil
}
