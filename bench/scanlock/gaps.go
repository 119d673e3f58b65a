package main

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

const gapJob = "gaps"

// gapServer is seed.c's gaps in a worker, as the threads of a session run: in the
// background, while the parent asks for the count.
func gapServer() worker.Func {
	clock := hot.StartClock()
	time.Sleep(50 * time.Millisecond)
	us := uint64(clock.Rate() / 1e6)
	var gaps atomic.Uint64
	running := false
	return worker.Handle(func(cpu int) (uint64, error) {
		if !running {
			running = true
			failed := make(chan error, 1)
			go func() {
				failed <- <-thread.On(cpu, func() error {
					failed <- nil
					for last := hot.Ticks(); ; {
						now := hot.Ticks()
						if now-last > us {
							gaps.Add(1)
						}
						last = now
					}
				})
			}()
			if err := <-failed; err != nil {
				return 0, err
			}
		}
		return gaps.Load(), nil
	})
}

// ourGaps is gaps above 1 us per second in the worker's environment.
func ourGaps(ctx context.Context, cpu int, window time.Duration) (map[string]float64, error) {
	s, err := worker.Start(ctx, gapJob, 1)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var first, last uint64
	if err := s.Call(cpu, &first); err != nil {
		return nil, err
	}
	begin := time.Now()
	for time.Since(begin) < window {
		time.Sleep(min(300*time.Millisecond, window)) // as often as a session asks
		if err := s.Call(cpu, &last); err != nil {
			return nil, err
		}
	}
	return map[string]float64{gapsPerS: float64(last-first) / time.Since(begin).Seconds()}, nil
}

// theirGaps is the same of the C program.
func theirGaps(ctx context.Context, seed string, cpu int, window time.Duration) (map[string]float64, error) {
	out, err := exec.CommandContext(ctx, seed, "gaps", strconv.Itoa(cpu), strconv.Itoa(int(window.Milliseconds()))).Output()
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return map[string]float64{gapsPerS: n}, err
}
