package ring

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/lockfile"
	"hostlab/internal/testkit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// all are the documents of a ring.
func all(t *testing.T, dir string) (list []string, damaged int) {
	t.Helper()
	damaged = testkit.Must(Read(dir, time.Time{}, noon.Add(1e4*time.Hour), func(_ time.Time, document []byte) error {
		list = append(list, string(document))
		return nil
	}))(t)
	return list, damaged
}

func begin(t *testing.T, dir string, keep time.Duration) *Writer {
	t.Helper()
	w := testkit.Must(Open(dir, keep))(t)
	t.Cleanup(w.Close)
	return w
}

func document(i int) []byte { return fmt.Appendf(nil, `{"n":%d}`, i) }

func add(t *testing.T, w *Writer, at time.Time, i int) {
	t.Helper()
	testkit.OK(t, w.Append(at, document(i)))
}

// TestRing writes three hours every half minute and reads them, whole and in part, while the last hour is written.
func TestRing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "ring")
	w := begin(t, dir, 48*time.Hour)
	const n = 3 * 120
	for i := range n {
		add(t, w, noon.Add(time.Duration(i)*30*time.Second), i)
	}
	got, damaged := all(t, dir)
	if len(got) != n || damaged != 0 || got[0] != string(document(0)) || got[n-1] != string(document(n-1)) {
		t.Fatalf("%d documents, %d damaged", len(got), damaged)
	}
	var part []time.Time
	_, err := Read(dir, noon.Add(59*time.Minute), noon.Add(61*time.Minute), func(at time.Time, _ []byte) error {
		part = append(part, at)
		return nil
	})
	if err != nil || len(part) != 4 || !part[0].Equal(noon.Add(59*time.Minute)) {
		t.Errorf("%v, %v", part, err)
	}
	s, err := SpanOf(dir)
	if err != nil || !s.First.Equal(noon) || !s.Last.Equal(noon.Add((n-1)*30*time.Second)) {
		t.Errorf("%+v, %v", s, err)
	}
	stop := errors.New("enough")
	if _, err := Read(dir, time.Time{}, noon.Add(time.Hour), func(time.Time, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if _, err := Open(dir, time.Hour); err == nil {
		t.Error("two write one ring")
	} else if busy, ok := errors.AsType[*lockfile.Busy](err); !ok || busy.PID != os.Getpid() {
		t.Error(err)
	}
	testkit.Fails(t, w.Append(noon, []byte("a\nb")), "", "two lines")
	testkit.Fails(t, w.Append(noon, make([]byte, mostLine)), "", "a line without end")
}

// TestForget keeps so many hours, whatever the clock says meanwhile: for one document it was ten years ahead, and then it was
// set back by three hours.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, dir, 4*time.Hour)
	at, i := noon, 0
	for range 9 * 6 {
		add(t, w, at, i)
		at, i = at.Add(10*time.Minute), i+1
	}
	add(t, w, noon.AddDate(10, 0, 0), i)
	for range 3 {
		i++
		add(t, w, at.Add(-3*time.Hour), i)
	}
	got, damaged := all(t, dir)
	if damaged != 0 || got[len(got)-1] != string(document(i)) || len(got) < 3*6 || len(got) > 6*6 {
		t.Errorf("%d documents, %d damaged, %q", len(got), damaged, got[len(got)-1])
	}
	if !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) {
		t.Error("not in the order in which they were written")
	}
}

// TestMostBytes writes five times what a ring may have within an hour: it never takes more, but for what was added since it was
// looked at, and the last lines are there.
func TestMostBytes(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, dir, time.Hour)
	line := make([]byte, 20<<10)
	n := 5 * int(w.most) / len(line)
	for i := range n {
		for k := range line { // nothing packs it by more than a quarter
			line[k] = byte('0' + rand.IntN(64))
		}
		text := fmt.Appendf(nil, "%d %s", i, bytes.ReplaceAll(line, []byte("\n"), []byte("n")))
		testkit.OK(t, w.Append(noon.Add(time.Duration(i)*time.Second), text))
		list := testkit.Must(os.ReadDir(dir))(t)
		size := int64(0)
		for _, e := range list {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		if size > w.most+counted+int64(len(text)) {
			t.Fatalf("after %d lines, %d B of %d", i, size, w.most)
		}
	}
	got, damaged := all(t, dir)
	if damaged != 0 || len(got) < n/8 || !strings.HasPrefix(got[len(got)-1], fmt.Sprint(n-1)+" ") {
		t.Errorf("%d of %d lines, %d damaged", len(got), n, damaged)
	}
}

// TestRings are two of one directory above, and one that is written to again and again.
func TestRings(t *testing.T) {
	dir := t.TempDir()
	one, two := begin(t, filepath.Join(dir, "1"), time.Hour), begin(t, filepath.Join(dir, "2"), time.Hour)
	add(t, one, noon, 1)
	add(t, two, noon, 2)
	three := filepath.Join(dir, "3")
	for i := range 100 {
		w := testkit.Must(Open(three, 48*time.Hour))(t)
		add(t, w, noon.Add(time.Duration(i)*10*time.Second), i)
		w.Close()
	}
	if got, damaged := all(t, three); len(got) != 100 || damaged != 0 {
		t.Errorf("%d documents, %d damaged", len(got), damaged)
	}
}

// TestCut cuts a ring behind each byte of its last file, and flips one: whole lines stay, and the next writer goes on.
func TestCut(t *testing.T) {
	made := t.TempDir()
	w := begin(t, made, time.Hour)
	for i := range 3 {
		add(t, w, noon, i)
	}
	name := w.at.name()
	text := testkit.Must(os.ReadFile(filepath.Join(made, name)))(t)
	for cut := range len(text) {
		whole := bytes.Count(text[:cut], []byte("\n"))
		dir := t.TempDir()
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), text[:cut], 0o600))
		if got, damaged := all(t, dir); len(got) != whole || damaged != 0 { // as if it was being written
			t.Fatalf("cut at %d: %d of %d, %d damaged", cut, len(got), whole, damaged)
		}
		again := begin(t, dir, time.Hour)
		add(t, again, noon, 9)
		if got, _ := all(t, dir); len(got) != whole+1 || got[whole] != string(document(9)) {
			t.Fatalf("cut at %d: %q", cut, got)
		}
	}
	for range 50 {
		bad := bytes.Clone(text)
		i := rand.IntN(len(bad))
		bad[i] ^= 1 << rand.IntN(7)
		dir := t.TempDir()
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), bad, 0o600))
		if got, damaged := all(t, dir); len(got) > 2 || len(got) < 1 || damaged < 1 && bad[len(bad)-1] == '\n' {
			t.Errorf("byte %d: %d lines, %d damaged", i, len(got), damaged)
		}
	}
}

// TestPackKilled has a packed hour beside the open one, as after a kill between the two: nothing is told twice.
func TestPackKilled(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, dir, 48*time.Hour)
	add(t, w, noon, 1)
	open := filepath.Join(dir, w.at.name())
	text := testkit.Must(os.ReadFile(open))(t)
	add(t, w, noon.Add(time.Hour), 2) // packs the hour before
	if _, err := os.Stat(open); err == nil {
		t.Fatal("not packed")
	}
	testkit.OK(t, os.WriteFile(open, text, 0o600))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "packing"), []byte("half"), 0o600))
	if got, damaged := all(t, dir); len(got) != 2 || damaged != 0 {
		t.Errorf("%q, %d damaged", got, damaged)
	}
	w.Close()
	begin(t, dir, 48*time.Hour)
	if got, damaged := all(t, dir); len(got) != 2 || damaged != 0 {
		t.Errorf("%q, %d damaged", got, damaged)
	}
}

// TestFull is a disk without room: what cannot be written is an error, the next is kept, and no line is torn. The limit of this
// process' files stands for it.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, dir, time.Hour)
	add(t, w, noon, 1)
	w.f.Close() // as a disk that takes nothing
	if err := w.Append(noon, document(2)); err == nil {
		t.Fatal("written to nowhere")
	}
	add(t, w, noon, 3)
	if got, damaged := all(t, dir); damaged != 0 || strings.Join(got, " ") != `{"n":1} {"n":3}` {
		t.Errorf("%q, %d damaged", got, damaged)
	}
}

// TestStrange are directories that are no ring, and names that are none of its files.
func TestStrange(t *testing.T) {
	dir := t.TempDir()
	testkit.Refused(Read(dir, noon, noon, nil))(t, "holds no ring")
	testkit.Refused(Read(filepath.Join(dir, "none"), noon, noon, nil))(t, "", "no directory")
	w := begin(t, dir, time.Hour)
	add(t, w, noon, 1)
	for _, name := range []string{"notes.txt", "00000009-20260301T12.jsonl.bak", "9-20260301T12.jsonl", "00000009-2026.jsonl"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o600))
	}
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "00000009-20260301T12.jsonl"), 0o700))
	if got, damaged := all(t, dir); len(got) != 1 || damaged != 1 {
		t.Errorf("beside a directory: %q, %d damaged", got, damaged)
	}
	long := append(bytes.Repeat([]byte{0}, 3*mostLine), '\n')
	name := filepath.Join(dir, w.at.name())
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, slices.Concat(long, text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, damaged := all(t, dir); len(got) != 1 || damaged != 2 {
		t.Errorf("behind a long line: %q, %d damaged", got, damaged)
	}
}

// TestKilled kills a writer 200 times while it writes as fast as it can, and packs an hour now and then. Whatever it was told to
// be on the disk is read afterwards, and nothing else but one that was under way.
func TestKilled(t *testing.T) {
	const variable = "HOSTLAB_TEST_RING"
	if dir := os.Getenv(variable); dir != "" { // the writer
		w := testkit.Must(Open(dir, 48*time.Hour))(t)
		for i := 0; ; i++ {
			testkit.OK(t, w.Append(noon.Add(time.Duration(i)*6*time.Minute), document(i)))
			fmt.Printf("kept %d\n", i)
		}
	}
	dir, before := t.TempDir(), 0
	for n := range testkit.Times(200, 40) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$") //nolint:gosec // this test
		cmd.Env = append(os.Environ(), variable+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, kept, most := bufio.NewScanner(out), 0, 1+rand.IntN(15)
		for kept < most && lines.Scan() {
			if strings.HasPrefix(lines.Text(), "kept ") {
				kept++
			}
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		testkit.OK(t, cmd.Process.Kill())
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "kept ") {
				kept++
			}
		}
		_ = cmd.Wait()
		got, damaged := all(t, dir)
		if now := len(got) - before; now != kept && now != kept+1 || damaged > n+1 {
			t.Fatalf("kill %d: %d of %d are there, %d damaged", n, now, kept, damaged)
		}
		before = len(got)
		if n%20 == 19 { // so that a ring does not become long
			dir, before = t.TempDir(), 0
		}
	}
}
