package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestLook(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	testkit.Fails(t, host.Look(host.Tree{Root: missing}), missing, "a folder that is not there")
	for _, c := range []struct {
		name, archive string
		ok            bool
	}{
		{"both masked", "-- proc/ --\n-- sys/ --\n", false},
		{"another kind of folder", "-- readme --\nx\n", false},
		{"a file for a folder", "-- proc --\nx\n", false},
		{"closed", "-- proc --\n!errno EACCES\n", false},
		{"only /proc", "-- proc/stat --\nx\n", true},
		{"only /sys", "-- sys/block/ --\n-- proc/ --\n", true},
	} {
		err := host.Look(host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, c.archive)})
		testkit.Is(t, c.ok, (err == nil), c.name, err)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", c.name, err)
		}
	}
}

func TestWalkPaths(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(dir))
	f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: dir}})
	seen := map[string]host.AnyFact{}
	walkFacts(f, func(path string, fact host.AnyFact) {
		if seen[path] != nil {
			t.Errorf("%s is visited twice", path)
		}
		seen[path] = fact
	})
	for path, want := range map[string]string{
		"topology.sockets":                          "1",
		"topology.core_types[performance].capacity": "1024",
		"frequency.policies[3].governor":            "powersave",
		"frequency.epb[7].value":                    "6",
		"frequency.uncore[package_00_die_00].min":   "800000000",
		"idle.states[3].latency":                    "0.00027",
		"topology.caches[0].size":                   "49152",
	} {
		if seen[path] == nil {
			t.Errorf("%s is not visited", path)
		} else if got := stateText(seen[path]); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for path := range seen {
		if strings.HasPrefix(path, "windows") {
			t.Errorf("%s of a machine that is not Windows", path)
		}
	}
}

// Whatever its files hold, a machine gives facts that are consistent, can be
// written as JSON and as text, and cause no panic.
func TestGarbledMachines(t *testing.T) {
	base := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(base))
	var files []string
	testkit.OK(t, filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		kept := map[string][]byte{}
		defer func() {
			for path, b := range kept {
				os.RemoveAll(path)
				testkit.OK(t, os.WriteFile(path, b, 0o644))
			}
		}()
		for range rapid.IntRange(1, 40).Draw(t, "how many") {
			path := rapid.SampledFrom(files).Draw(t, "file")
			if kept[path] == nil {
				b := testkit.Must(os.ReadFile(path))(t)
				kept[path] = b
			}
			os.RemoveAll(path)
			content := rapid.OneOf(
				rapid.SampledFrom([]string{"", "\n", "-1", "0", "0-", "0-65535", "9223372036854775807", "65536", "NaN", "!errno EACCES", "!errno EBUSY", "\x00\xff\xfe", "\x1b[31m", "7-0", "7", "3 2 1 0", "<unknown>", "mkdir", "rm"}),
				rapid.String(),
			).Draw(t, "content")
			var err error
			switch content {
			case "mkdir":
				err = os.Mkdir(path, 0o755)
			case "rm":
			default:
				err = os.WriteFile(path, []byte(content), 0o644)
			}
			testkit.OK(t, err)
		}
		f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: base}})
		testkit.Must(json.Marshal(f))(t)
		var text strings.Builder
		testkit.OK(t, document.WriteText(&text, f.Document(time.Time{}, ""), document.TextOptions{}))
		for line := range strings.Lines(text.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > 80 || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("a line of %d characters: %q", n, line)
			}
		}
		walkFacts(f, func(path string, fact host.AnyFact) {
			if _, _, source, state, why := fact.Any(); source != "" && (state != host.StateOK) != (why != "") {
				t.Fatalf("%s is %s with reason %q", path, state, why)
			}
		})
		if top := f.Topology; top.Cores.State == host.StateOK && top.Cores.Value > top.Threads.Value {
			t.Fatalf("%d cores, %d threads", top.Cores.Value, top.Threads.Value)
		}
	})
}

// Files of which the same set is read give the same facts, whatever the order in
// which the workers come by them.
func TestCollectIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(dir))
	opt := host.Options{Tree: host.Tree{Root: dir}}
	first := host.Collect(context.Background(), opt)
	for range 20 {
		if d := cmp.Diff(first, host.Collect(context.Background(), opt)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestInterruptedCollect(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(dir))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := host.Collect(ctx, host.Options{Tree: host.Tree{Root: dir}})
	if f.Topology.Online.State != host.StateError || !strings.Contains(f.Topology.Online.Reason, "interrupted") {
		t.Errorf("online: %s", stateText(f.Topology.Online))
	}
}

// What moves by itself says nothing of how a machine is set up: no reading of a moment, no count, nothing of one process.
func TestSetUp(t *testing.T) {
	moves := regexp.MustCompile(`(^|[._])(free|available|reserved|current|hostname|steal|pid|aio_nr|threads|exceeded|` +
		`opens|overflows|drops|pressure_cpu|pressure_io|stalled_io|stalled_memory|events|kills|throttled)$`)
	wanted := map[string]bool{"topology.threads": true} // of the processor
	n := 0
	for path, says := range host.SetUp() {
		of := moves.MatchString(path)
		if within := regexp.MustCompile(`^(limits|storage|databases|app_servers|cloud_volumes|cloud_networks)\b`); within.MatchString(path) {
			continue
		}
		if n++; of && says != wanted[path] {
			t.Errorf("%s: says how the machine is set up: %v", path, says)
		}
	}
	for path, want := range map[string]bool{"memory.swappiness": true, "frequency.policies[].governor": true,
		"network.passive_opens": false, "data[].free": false, "databases": false, "limits": false,
		"block[].name": false, "block[].scheduler": true, "windows.sql_servers[].pid": false} {
		if says, known := host.SetUp()[path]; !known || says != want {
			t.Errorf("%s: %v, known %v", path, says, known)
		}
	}
	if n < 150 {
		t.Errorf("only %d paths", n)
	}
}

// walkFacts calls visit for every fact, in the order of the struct. The path is made
// of the JSON names, with an object's own id, cpu, index or name in brackets,
// as in "frequency.policies[3].governor"; objects that have none, or share it
// with another, are numbered from 0.
func walkFacts(f *host.Facts, visit func(path string, fact host.AnyFact)) {
	walk(reflect.ValueOf(f).Elem(), "", visit)
}

func walk(v reflect.Value, path string, visit func(string, host.AnyFact)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Slice:
		for i, key := range keys(v) {
			walk(v.Index(i), path+"["+key+"]", visit)
		}
	case reflect.Struct:
		if fact, ok := v.Interface().(host.AnyFact); ok {
			visit(path, fact)
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			walk(v.Field(i), name, visit)
		}
	}
}

// keyFields are what objects are known by. An idle state's index and a cache's
// level are not among them: several may share it.
var keyFields = []string{"ID", "CPU", "Name", "PID"}

// keys names the elements of a slice.
func keys(v reflect.Value) []string {
	names := make([]string, v.Len())
	seen := map[string]bool{}
	for i := range names {
		names[i] = key(v.Index(i))
		if names[i] == "" || seen[names[i]] {
			for j := range names {
				names[j] = strconv.Itoa(j)
			}
			return names
		}
		seen[names[i]] = true
	}
	return names
}

func key(v reflect.Value) string {
	if v.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range keyFields {
		f := v.FieldByName(name)
		if !f.IsValid() {
			continue
		}
		if k := f.Kind(); k == reflect.Int || k == reflect.String {
			return fmt.Sprint(f.Interface())
		}
	}
	return ""
}

func TestExtractArchive(t *testing.T) {
	tree := host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, `A recorded machine.
-- sys/devices/sda/size --
4096
-- sys/block/sda -> ../devices/sda --
-- sys/block/gone -> ../devices/gone --
-- etc/self -> /proc/1 --
-- proc/1/comm --
init
-- proc/loop -> loop --
-- dev/shm/ --
`)}
	for path, want := range map[string]string{"/sys/block/sda/size": "4096", "/etc/self/comm": "init"} {
		if got := tree.Text(path); got.Value != want {
			t.Errorf("%s: %s", path, stateText(got))
		}
	}
	if target, err := os.Readlink(filepath.Join(tree.Root, "etc/self")); err != nil || filepath.IsAbs(target) {
		t.Errorf("an absolute link was written as %q, %v", target, err)
	}
	if names, err := tree.Dir("/dev/shm"); err != nil || len(names) != 0 {
		t.Errorf("the empty directory: %v, %v", names, err)
	}
	testkit.Is(t, host.StateAbsent, tree.Text("/sys/block/gone/size").State, "below a link that leads nowhere")
}

func TestExtractArchiveRefuses(t *testing.T) {
	for _, c := range []struct{ name, archive, want string }{
		{"text", "hello\n", "not a recorded machine"},
		{"an absolute name", "-- /etc/passwd --\nx\n", `member "/etc/passwd": expected a path below the root`},
		{"up", "-- a/../../b --\nx\n", "expected a path below the root"},
		{"a link that leads out", "-- a/l -> ../../etc --\n", "the link leads out of the archive"},
		{"through another link", "-- d/e/f/ --\n-- up -> d/e --\n-- d/e/top -> ../.. --\n-- l -> up/top/../etc --\n", "the link leads out of the archive"},
		{"a file through a link", "-- l -> ../.. --\n-- l/x --\ny\n", "path escapes"},
		{"no target", "-- l ->  --\n", ""},
		{"twice", "-- a --\n1\n-- a --\n2\n", "file exists"},
		{"a file for a folder", "-- a --\n1\n-- a/b --\n2\n", `member "a/b"`},
		{"an empty name", "-- ./ --\n", "expected a path below the root"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "in", "side")
			testkit.OK(t, os.MkdirAll(dir, 0o755))
			err := host.ExtractArchive([]byte(c.archive), dir)
			if c.want == "" {
				return // "->" without a target is a plain, if odd, name
			}
			testkit.Fails(t, err, c.want, "error")
			for _, d := range []string{parent, filepath.Join(parent, "in")} {
				if entries, _ := os.ReadDir(d); len(entries) != 1 {
					t.Errorf("something was written outside: %v", entries)
				}
			}
		})
	}
}
