package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// TestFiles: what is no study file ends in one line, and soon.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		testkit.OK(t, os.WriteFile(name, data, 0o600))
		return name
	}
	for _, c := range []struct{ file, want string }{
		{filepath.Join(dir, "none.toml"), "no such file"},
		{dir, "is a directory"},
		{write("empty.toml", nil), "is empty"},
		{write("blank.toml", []byte(" \r\n\n")), "is empty"},
		{write("large.toml", make([]byte, 10<<20)), "is larger than 64 KiB"},
		{write("utf16.toml", []byte("\xff\xfe[\x00s\x00")), "is UTF-16"},
		{write("latin1.toml", []byte("# ok\ntitle = \"gr\xfc\xdfe\"\n")), ":2: a byte that is not UTF-8"},
		{write("zeros.toml", make([]byte, 100)), "not TOML"},
		{write("deep.toml", []byte("a = "+strings.Repeat("[", 60_000))), "not TOML"},
		{write("lines.toml", []byte(strings.Repeat("a = 1\r\n", 9_000))), "already defined"},
	} {
		start := proc.Own()
		_, err := Load(c.file, Overrides{}, everything())
		bad, ok := errors.AsType[*Problems](err)
		if !ok || len(bad.List) != 1 || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), c.file) {
			t.Errorf("%s: %v; expected one line with %q", c.file, err, c.want)
		}
		if used := proc.Own() - start; used > 5 { // s of CPU time
			t.Errorf("%s took %.1f s", c.file, used)
		}
	}
	for name, text := range map[string]string{"bom.toml": "\xef\xbb\xbf" + smallest,
		"crlf.toml": strings.ReplaceAll(smallest, "\n", "\r\n")} {
		s, err := Load(write(name, []byte(text)), Overrides{}, everything())
		if err != nil || string(s.Source) != text || s.Dir != dir {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyProblems: a file full of mistakes is no flood.
func TestManyProblems(t *testing.T) {
	var b strings.Builder
	const keys = 1_000
	for i := range keys {
		fmt.Fprintf(&b, "key%d = 1\n", i)
	}
	_, err := Parse("x.toml", "/", []byte(b.String()), Overrides{}, everything())
	if bad, ok := errors.AsType[*Problems](err); !ok || len(bad.List) != maxProblems+1 ||
		bad.List[maxProblems].Text != fmt.Sprintf("and %d more problems", keys+2-maxProblems) {
		t.Errorf("%v", err)
	}
}

// TestLargeFiles: the largest that are read, and a slip of some generator, are refused soon.
func TestLargeFiles(t *testing.T) {
	for name, text := range map[string]string{
		"a long line": "levels = [" + strings.Repeat("1,", 30_000) + "]\n",
		"many levels": smallest + "[[factor]]\nname = \"x\"\nlevels = [" + strings.Repeat("\"a\",", 15_000) + "]\n",
		"many tables": smallest + strings.Repeat("[[contrast]]\nfactor = \"effect\"\n", 2_000),
		"a long key":  strings.Repeat("a", 60_000) + " = 1\n",
		"a long text": "[study]\nname = \"" + strings.Repeat("ä ", 20_000) + "\"\n",
		"a long command": smallest + "[[factor]]\nname = \"x\"\nlevels = [1, 2]\napply = [" + strings.Repeat("\"a\",",
			15_000) + "]\n",
	} {
		start := proc.Own()
		_, err := Parse("x.toml", "/", []byte(text), Overrides{}, everything())
		if err == nil {
			t.Errorf("%s is accepted", name)
		} else if n := len(err.Error()); n > 10_000 {
			t.Errorf("%s: %d bytes of problems", name, n)
		}
		if used := proc.Own() - start; used > 5 {
			t.Errorf("%s took %.1f s", name, used)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest), "workload.jitter", "1")
	f.Add([]byte(full), "workload.env", "A=b")
	f.Add([]byte("a.b = {c = [1, 2]}\n[[a.d]]\n"), "", "")
	for _, name := range Names() {
		s := testkit.Must(Find(name, Overrides{}, everything()))(f)
		f.Add(s.Source, "", "")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		o := Overrides{}
		if key != "" {
			o.Set = map[string]string{key: value}
		}
		s, err := Parse("x.toml", "/", data, o, everything())
		if (s == nil) == (err == nil) {
			t.Fatalf("study %v and error %v", s, err)
		}
		if err != nil {
			bad, ok := errors.AsType[*Problems](err)
			if !ok || len(bad.List) == 0 {
				t.Fatalf("an error without problems: %v", err)
			}
			lines := strings.Count(string(data), "\n") + 1
			for _, p := range bad.List {
				if p.Text == "" || p.Line > lines {
					t.Fatalf("problem %+v in %d lines", p, lines)
				}
			}
			return
		}
		if s.RunsPerBlock() < 2 || len(s.Contrasts) == 0 || s.Tests() == 0 {
			t.Fatalf("%+v", s)
		}
		s.Design.Looks = s.Design.Looks[:1]
		s.Design.Looks[0] = min(s.Design.Looks[0], 3)
		Head(s)
		Describe(s)
	})
}

// A parameter beside which that of a factor has no effect is refused, as the factor's
// own is; its default is not.
func TestOverridden(t *testing.T) {
	const study = "[study]\nname = \"x\"\n[design]\nlooks = [10]\n[[factor]]\nname = \"size\"\nparameter = \"size\"\nlevels = [\"small\", \"large\"]\n[workload]\nname = \"clientcopy\"\n[[response]]\nname = \"duration\"\nequiv = \"2%\"\n"
	for rows, want := range map[string]string{
		"0":   "<nil>",
		"500": "--set workload.rows=500: rows is given here and makes all levels of factor size alike, which varies size; take it out here",
	} {
		_, err := Parse("x.toml", "/", []byte(study), Overrides{Set: map[string]string{"workload.rows": rows}}, everything())
		testkit.Is(t, want, fmt.Sprint(err))
	}
}

// The log of a server of the user's is not moved: a study of log devices says so before
// its plan, and not in each run.
func TestDirectoriesThatTheWorkloadRefuses(t *testing.T) {
	for engine, dsn := range map[string]string{"postgres": "postgres://ann@db1/erp", "mariadb": "mariadb://ann@db1/erp"} {
		_, err := Find("log-device", Overrides{Set: map[string]string{"workload.dsn": dsn, "workload.engine": engine}},
			everything())
		if err == nil || !strings.Contains(err.Error(), "log_dir: the log of your own server (dsn) is not moved") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", engine, err)
		}
	}
	if _, err := Find("log-device", Overrides{Set: map[string]string{"workload.engine": "mariadb",
		"level.disk": "delay:1ms"}}, everything()); err != nil {
		t.Error(err)
	}
}
