package postgres

import (
	"fmt"
	"github.com/jackc/pgx/v5"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
	"hostlab/internal/waits"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	port := os.Getenv("ZZPORT")
	c, err := pgx.Connect(t.Context(), "host=/dev/shm/pg port="+port+" user=postgres dbname=postgres")
	if err != nil {
		t.Fatal(err)
	}
	own := int(c.PgConn().PID())
	st, _ := proc.Read(own)
	major, _ := strconv.Atoi(port[2:])
	m, err := openMemory(st.Parent, own, major)
	if err != nil {
		t.Fatal(err)
	}
	w := m.words.(*waits.Words)
	fmt.Println(len(m.backends), "backends")
	for pid, b := range m.backends {
		title, _ := w.Title(pid)
		fmt.Println(pid, b.kind, title, m.got[pid])
		if len(m.backends) > 30 {
			break
		}
	}
	tm := func(name string, n int, f func()) {
		a, _ := thread.ProcessCPU()
		for range n {
			f()
		}
		b, _ := thread.ProcessCPU()
		fmt.Printf("%-20s %v\n", name, (b-a)/time.Duration(n))
	}
	tm("children", 1000, func() { _, _ = w.Children() })
	tm("read", 1000, func() { w.Read(m.got) })
	tm("title", 1000, func() { w.Title(own) })
	tm("look", 1000, func() { _, _ = m.look() })
	m.settle(func(int64) bool { return false })
	tm("look still", 1000, func() { _, _ = m.look() })
	fd, e := os.Open(fmt.Sprintf("/proc/%d/syscall", own))
	var buf [256]byte
	fmt.Println(fd, e)
	tm("runs", 1000, func() { w.Runs(own) })
	tm("syscall", 1000, func() { _, _ = fd.ReadAt(buf[:], 0) })
	fd, _ = os.Open(fmt.Sprintf("/proc/%d/stat", own))
	tm("stat", 1000, func() { _, _ = fd.ReadAt(buf[:], 0) })
	tm("sleep", 500, func() { time.Sleep(2 * time.Millisecond) })
	m.cpu = 0
	m.settle(func(int64) bool { return false })
	tm("look at 50 Hz", 200, func() { _, _ = m.look(); thread.Sleep(20 * time.Millisecond) })
	fmt.Println("of that looked", m.cpu/200)
}
