package postgres

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
)

type peered struct {
	*Asker
	pid int
}

func (p peered) Peer() int    { return p.pid }
func (p peered) Pooled() bool { return false }

func TestYY(t *testing.T) {
	port := os.Getenv("ZZPORT")
	c, err := pgx.Connect(t.Context(), "host=/dev/shm/pg port="+port+" user=postgres dbname=postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	own := int(c.PgConn().PID())
	st, _ := proc.Read(own)
	pid := st.Parent
	if os.Getenv("ZZNO") != "" {
		pid = 0
	}
	src, err := New(t.Context(), peered{&Asker{Conn: c, Direct: true}, pid}, "x", true)
	if err != nil {
		t.Fatal(err)
	}
	if f := os.Getenv("ZZPROF"); f != "" {
		w, _ := os.Create(f)
		_ = pprof.StartCPUProfile(w)
		defer pprof.StopCPUProfile()
	}
	s := src.(*Source)
	a, _ := thread.ProcessCPU()
	b0, _ := s.threads.Used(s.own)
	for4, _ := time.ParseDuration(os.Getenv("ZZFOR"))
	r, err := explain.Record(t.Context(), src, explain.Options{For: for4, Part: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	z, _ := thread.ProcessCPU()
	b1, _ := s.threads.Used(s.own)
	fmt.Printf("samples %d questions %d wall %.1f interval %.4f cost %.4f here %.4f there %.4f looked %v\n", r.Samples, r.Questions, r.Wall, r.Interval, r.Cost, (z-a).Seconds()/r.Wall, (b1-b0)/r.Wall, func() any {
		if s.memory != nil {
			return s.memory.cpu.Seconds() / r.Wall
		}
		return nil
	}())
	for _, p := range r.Parts {
		fmt.Printf("  %-12s %8.2f s  %5.1f %% [%5.1f %5.1f] %d %s\n", p.Name, p.Seconds, 100*p.Share.Value, 100*p.Share.Low, 100*p.Share.High, p.Share.N, p.Source)
	}
	for _, e := range r.Events {
		fmt.Printf("    %-30s %s %.2f\n", e.Name, e.Part, e.Seconds)
	}
	fmt.Println(r.Missing, r.Warnings)
}
