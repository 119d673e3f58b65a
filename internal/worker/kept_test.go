package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// A kept worker keeps its state, and comes back without it after a call that was
// cancelled.
func TestKept(t *testing.T) {
	k := Kept{Job: "count"}
	defer k.Close()
	call := func(threads int) (n int) {
		t.Helper()
		testkit.OK(t, k.Call(t.Context(), threads, 1, &n))
		return n
	}
	if a, b := call(1), call(1); a != 1 || b != 2 {
		t.Errorf("counted %d, %d", a, b)
	}
	if n := call(3); n != 1 { // a larger one
		t.Errorf("counted %d", n)
	}
	var job *Error
	if err := k.Call(t.Context(), 1, -1, nil); !errors.As(err, &job) {
		t.Errorf("error of the job came as %v", err)
	}
	testkit.Is(t, 2, call(1), "after an error of the job")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Call(ctx, 1, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	for range 2 {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	testkit.Is(t, 1, call(1), "after Close")
}

func TestKeptIsCancelled(t *testing.T) {
	k := Kept{Job: "spin"}
	defer k.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := k.Call(ctx, 3, spinParams{2}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
