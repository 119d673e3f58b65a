package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/screen"
)

// batch is how many documents a transaction takes: a commit each would cost a sync each.
const batch = 64

// intake keeps documents as they are read.
type intake struct {
	std   streams
	store *store.Store
	as    string
	now   time.Time

	waiting              []*fleet.Document
	read, added, refused int
}

func (in *intake) path(ctx context.Context, path string) error {
	take := func(d fleet.Spooled) error { return in.take(ctx, d) }
	if path == "-" {
		d, err := fleet.From(in.std.in, false, in.as, in.now)
		return take(fleet.Spooled{Document: d, Path: "standard input", Err: err})
	}
	info, err := os.Stat(path)
	if err != nil {
		return usageError{err}
	}
	if info.IsDir() {
		return fleet.Spool(path, in.now, take)
	}
	f, err := os.Open(path) //nolint:gosec // the user's own choice
	if err != nil {
		return usageError{err}
	}
	defer f.Close()
	d, err := fleet.From(f, strings.HasSuffix(path, ".gz"), in.as, in.now)
	return take(fleet.Spooled{Document: d, Path: path, Err: err})
}

func (in *intake) take(ctx context.Context, d fleet.Spooled) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	in.read++
	if d.Err != nil {
		in.refused++
		fmt.Fprintf(in.std.err, "hostlab: %s: %s\n", screen.Clean(d.Path), screen.Clean(oneLine(d.Err)))
		return nil //nolint:nilerr // the others are kept; end fails
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
	fmt.Fprintf(in.std.out, "%s read: %d new, %d known, %d refused\n", screen.Count(in.read, "document"), in.added, in.read-in.added-in.refused, in.refused)
	if in.refused > 0 {
		return errors.New("not all documents are kept")
	}
	return nil
}
