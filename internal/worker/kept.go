package worker

import (
	"context"
	"errors"
	"sync"
)

// Kept is a worker that is started when it is first called, and again after a
// call that was cancelled: nothing but the end of its process stops a hot loop.
// A value with nothing but Job set is ready. Close must be called.
type Kept struct {
	Job string

	mu      sync.Mutex
	s       *Session
	cancel  context.CancelFunc
	threads int
}

// Call is Session.Call on a worker for at least so many threads. It ends with
// ctx's error within moments after ctx is cancelled.
func (k *Kept) Call(ctx context.Context, threads int, params, out any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.s != nil && threads > k.threads {
		k.end()
	}
	if k.s == nil {
		life, cancel := context.WithCancel(context.Background())
		s, err := Start(life, k.Job, threads)
		if err != nil {
			cancel()
			return err
		}
		k.s, k.cancel, k.threads = s, cancel, threads
	}
	unwatch := context.AfterFunc(ctx, k.cancel)
	err := k.s.Call(params, out)
	unwatch()
	var job *Error
	if err == nil || errors.As(err, &job) {
		if ctx.Err() == nil {
			return err
		}
		// Answered just as ctx ended: the worker may be dying.
	}
	k.end()
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	return err
}

func (k *Kept) end() {
	k.cancel()
	k.s.Close()
	k.s = nil
}

// Close ends the worker. It may be called again.
func (k *Kept) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.s != nil {
		k.end()
	}
	return nil
}
