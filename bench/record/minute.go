//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/proc"
	"hostlab/internal/service"
)

// minute measures the whole live minute of assess beside pgbench. The CPUs of a shared host change their pace by a
// tenth within seconds, so slices are short: a process of its own watches all of the time, and is stopped for every
// other slice, in pairs by lot. What beginning takes, once a minute, is no part of it.
func minute(ctx context.Context, o options) (ok bool, err error) {
	if o.load != "pgbench" {
		return false, errors.New("-minute watches a database; leave -load out")
	}
	l, err := startPgbench(ctx, o.clients)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	p := l.(*pgbench)
	w := exec.CommandContext(ctx, "/proc/self/exe", "watch", strconv.Itoa(p.s.PID()), p.dsn())
	w.Stderr, w.SysProcAttr = os.Stderr, &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	end, err := w.StdinPipe()
	if err != nil {
		return false, err
	}
	answer, err := w.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := w.Start(); err != nil {
		return false, err
	}
	defer func() {
		_ = end.Close()
		err = errors.Join(err, w.Wait())
	}()
	if _, err := fmt.Fscanln(answer); err != nil { // it has begun
		return false, err
	}
	var moments []time.Time
	var watched []bool
	for range o.pairs {
		first := rand.IntN(2) == 0
		for _, on := range []bool{first, !first} {
			sig := unix.SIGSTOP
			if on {
				sig = unix.SIGCONT
			}
			if err := w.Process.Signal(sig); err != nil {
				return false, err
			}
			moments, watched = append(moments, time.Now()), append(watched, on)
			select {
			case <-time.After(o.slice):
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}
	}
	moments = append(moments, time.Now())
	if err := w.Process.Signal(unix.SIGCONT); err != nil {
		return false, err
	}
	if err := end.Close(); err != nil {
		return false, err
	}
	var own, answers, programs float64
	if _, err := fmt.Fscanln(answer, &own, &answers, &programs); err != nil {
		return false, err
	}
	all := o.slice.Seconds() * float64(o.pairs*runtime.NumCPU()) / 100 // the load uses all CPUs all of the time
	fmt.Printf("CPU time of what there is: %.3f %% of the process, %.3f %% of the server's answers, %.3f %% of the programs in the kernel\n",
		own/all, answers/all, programs/all)
	counts, err := p.between(moments)
	if err != nil {
		return false, err
	}
	var with, without []float64
	for i, n := range counts {
		rate := n / moments[i+1].Sub(moments[i]).Seconds()
		if watched[i] {
			with = append(with, rate)
		} else {
			without = append(without, rate)
		}
	}
	return judge(o, with, without, (own+answers+programs)/all/100), nil
}

// watch is the process that watches, until standard input ends: it prints when it has begun, and what CPU time was
// taken since by it, by the server's process that answers it, and by the programs in the kernel, in s.
func watch(ctx context.Context) (bool, error) {
	of, err := service.Spec{Kind: service.Process, Name: os.Args[2]}.Find(nil, nil)
	if err != nil {
		return false, err
	}
	dsn, err := connect.Parse(os.Args[3])
	if err != nil {
		return false, err
	}
	source, err := connect.Open(ctx, dsn)
	if err != nil {
		return false, err
	}
	defer source.Close()
	ctx, stop := context.WithCancel(ctx)
	type seen struct {
		minute *assess.Minute
		err    error
	}
	ended := make(chan seen, 1)
	// Counters are read every second of a minute, and of ten.
	go func() {
		m, err := assess.Watch(ctx, of, source, "", assess.Options{For: 10 * time.Minute, CPUs: runtime.NumCPU()})
		ended <- seen{m, err}
	}()
	time.Sleep(3 * time.Second)
	asked := func() float64 {
		used, _ := source.(explain.Costed).OwnCPU()
		return used
	}
	own, answers := proc.Own(), asked()
	fmt.Println()
	_, _ = io.Copy(io.Discard, os.Stdin)
	own, answers = proc.Own()-own, asked()-answers
	stop()
	s := <-ended
	if s.err != nil {
		return false, s.err
	}
	fmt.Println(own, answers, s.minute.Programs)
	return true, nil
}
