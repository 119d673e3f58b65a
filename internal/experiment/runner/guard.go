package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"hostlab/internal/delayfs"
	"hostlab/internal/emulate"
	"hostlab/internal/lockfile"
	"hostlab/internal/result/store"
	"hostlab/internal/worker"
)

const guardJob = "live-guard"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: guardJob, New: func() worker.Func {
		return worker.Handle(func(r guardRequest) (any, error) {
			guarded.Store(&r)
			return nil, nil
		})
	}, End: endGuarded}}
}

// guarded is what a guard's own process is asked for.
var guarded atomic.Pointer[guardRequest]

// guard is a process that does what --restore does when this one is killed. It holds a pipe of
// ours, whose end is our end, and stands apart from our group and our terminal.
type guard struct {
	s    *worker.Session
	asks guardRequest
}

type guardRequest struct {
	Dir   string // of the record; "": all is as it was
	Root  int    // of the processes that an emulated policy stops; 0: none
	Alone string // what keeps another live experiment away
	Left  string // registryAt
}

func startGuard(dir string, m *emulation) (*guard, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	g := &guard{asks: guardRequest{Dir: at, Root: m.root(), Alone: aloneName, Left: registryAt}}
	return g, g.check()
}

// check sees to it that the guard lives, and starts it again where it has ended.
func (g *guard) check() error {
	if g.s != nil && g.s.Call(g.asks, nil) == nil {
		return nil
	}
	// It must not end before it has done its work, so no context that can be cancelled.
	s, err := worker.StartApart(context.Background(), guardJob)
	if err == nil {
		err = s.Call(g.asks, nil)
	}
	if err != nil {
		return fmt.Errorf("the guard, which puts the baseline back if hostlab is killed, does not start: %w", err)
	}
	g.s = s
	return nil
}

// close ends the guard without anything to do.
func (g *guard) close() {
	if g.s.Call(guardRequest{}, nil) == nil {
		_ = g.s.Close()
	}
}

// How often and for how long the guard tries where it fails, as while a server is away.
const (
	guardTries = 20
	guardPause = 10 * time.Second
)

// endGuarded is called when the process that is guarded has gone. Nobody reads what this one would say:
// the record's journal has what was put back.
func endGuarded() {
	asks := guarded.Load()
	if asks == nil || asks.Dir == "" {
		return
	}
	if asks.Root != 0 {
		emulate.Rescue(asks.Root)
	}
	delayfs.Sweep()
	aloneName, registryAt = asks.Alone, asks.Left
	var only *alone // another experiment would take a level of ours for what there was
	for range guardTries {
		if only == nil {
			only, _ = tryAlone()
		}
		err := restoreKilled(asks.Dir)
		if err == nil || Gone(err) {
			return
		}
		// A session that was resumed, or --restore, sees to it, unless it fails too.
		if _, busy := errors.AsType[*lockfile.Busy](err); busy && only != nil {
			_ = only.close()
			only = nil
		}
		time.Sleep(guardPause)
	}
}

// restoreKilled puts back what a killed session of a record has left.
func restoreKilled(dir string) error {
	if r, err := store.Load(dir); err != nil || len(r.Changed()) == 0 {
		return err
	}
	st, err := Recorded(dir, nil)
	if err != nil {
		return err
	}
	return Restore(context.Background(), Config{Study: st, Dir: dir})
}
