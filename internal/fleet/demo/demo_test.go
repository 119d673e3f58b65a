package demo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// The embedded machines are those that package host has recorded.
func TestMachines(t *testing.T) {
	for _, m := range machines {
		want := testkit.Must(os.ReadFile("../../host/testdata/" + m.file + ".txtar"))(t)
		if testkit.Update() {
			var out bytes.Buffer
			z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
			testkit.Must(z.Write(want))(t)
			testkit.OK(t, z.Close())
			testkit.Write(t, "machines/"+m.file+".txtar.gz", out.String())
			continue
		}
		if got, err := archive(m.file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("machines/%s.txtar.gz differs from the recording; run the test with -update: %v", m.file, err)
		}
	}
}

func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	m := Maker{Hosts: 40, Seed: 1, Now: now, Version: "1", Days: 27, Each: 9}
	planted := testkit.Must(m.Make(t.Context(), dir))(t)
	by := map[string][]*fleet.Document{}
	err := fleet.Spool(dir, now, func(s fleet.Spooled) error {
		if s.Err != nil {
			t.Fatalf("%s: %v", s.Path, s.Err)
		}
		by[s.Host] = append(by[s.Host], s.Document)
		return nil
	})
	if err != nil || len(by) != 40 {
		t.Fatalf("%v, %d hosts", err, len(by))
	}
	// Checks find what was planted in the newest document, and nothing in hosts without a fault.
	faulty := map[string]string{}
	for _, f := range planted.Faults {
		if f.Check != "" {
			faulty[f.Host] = f.Check
		}
	}
	for name, docs := range by {
		newest := docs[len(docs)-1]
		var found []string
		for _, f := range newest.Findings {
			if f.Status == "finding" && f.Severity != "info" {
				found = append(found, f.Check)
			}
		}
		want := []string{}
		if id := faulty[name]; id != "" {
			want = append(want, id)
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: findings %v, planted %v", name, found, want)
		}
	}
	if silent := by[planted.Silent.Host]; now.Sub(silent[len(silent)-1].Started) < 9*24*time.Hour {
		t.Errorf("%s wrote at %s", planted.Silent.Host, silent[len(silent)-1].Started)
	}
	if a, b := by[planted.Clone[0]][0], by[planted.Clone[1]][0]; a.Machine == "" || a.Machine != b.Machine {
		t.Errorf("clones %q and %q", a.Machine, b.Machine)
	}
	text := testkit.Must(os.ReadFile(dir + ".planted.json"))(t)
	var again Planted
	if err := json.Unmarshal(text, &again); err != nil || again.Documents != planted.Documents {
		t.Errorf("%v: %s", err, text)
	}
	// The same seed makes the same bytes.
	twice := filepath.Join(t.TempDir(), "spool")
	testkit.Must(m.Make(t.Context(), twice))(t)
	compared := 0
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		compared++
		one, err1 := os.ReadFile(file)
		other, err2 := os.ReadFile(filepath.Join(twice, strings.TrimPrefix(file, dir)))
		if err1 != nil || err2 != nil || !bytes.Equal(one, other) {
			t.Fatalf("%s differs: %v, %v", file, err1, err2)
		}
		return nil
	})
	if err != nil || compared != planted.Documents {
		t.Errorf("%d files of %d documents, %v", compared, planted.Documents, err)
	}
	// Hosts that ran a study say what it found: the effect that was put in is in the interval of the next host.
	ran := 0
	for _, docs := range by {
		for _, d := range docs {
			for _, e := range d.Effects {
				if ran++; e.Study == "live-idle" && (*e.Value > -0.03 || *e.Value < -0.09) {
					t.Errorf("%s: %+v", d.Host, e)
				}
			}
		}
	}
	testkit.Is(t, 2*tried-4, ran, "experiments")
	for n := Least; n <= 20; n++ { // a small fleet is one too
		hosts, p := Maker{Hosts: n, Seed: 1, Now: now}.plan()
		if len(hosts) != n || p.SlowTwin.Like == "" || len(p.Clone) != 2 || p.Silent.Host == "" {
			t.Errorf("%d hosts: %d, %+v", n, len(hosts), p)
		}
	}
	testkit.Refused(m.Make(t.Context(), dir))(t, "", "a directory with something in it was taken")
}
