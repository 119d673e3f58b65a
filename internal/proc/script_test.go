package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		"python3 /opt/report.py --password secret":    "report.py",
		"python3.11 -u -X dev -m celery worker":       "celery",
		"python3 -c import_this":                      "",
		"java -Xmx1g -cp /opt/a.jar:/opt/b.jar Web 1": "Web",
		"java -jar /srv/shop.jar":                     "shop.jar",
		"java -cp x org.apache.catalina.Bootstrap":    "org.apache.catalina.Bootstrap",
		"sh -c while_true":                            "",
		"bash -e /etc/cron.daily/backup":              "backup",
		"node -r ts-node/register app.js":             "app.js",
		"bash /dev/fd/3":                              "",
		"bash -lc run":                                "",
		"bash -s token":                               "",
		"perl -ne print":                              "",
		"node --eval token":                           "",
		"node --require x app.js":                     "app.js",
		"python3 - token":                             "",
		"python3 --password=/a/token":                 "",
		"sh a/b=token":                                "",
		"python3":                                     "",
		"python3 \x1b[31mred":                         "",
	} {
		args := strings.Split(line, " ")
		got := ""
		for _, i := range interpreters {
			if i.name.MatchString(args[0]) {
				got = script(args[1:], i.takes, i.texts)
			}
		}
		testkit.Is(t, want, got, line)
	}
}

// TestWords: what a process says of itself may have any length; no more is read than a program has.
func TestWords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environ")
	testkit.OK(t, os.WriteFile(file, []byte("A=1\x00B=2\x00"), 0o600))
	if got, err := words(file, 8); err != nil || !slices.Equal(got, []string{"A=1", "B=2", ""}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := words(file, 7); err == nil {
		t.Errorf("%q of more than is read", got)
	}
	testkit.OK(t, os.Truncate(file, 64<<30))
	if got, err := words(file, mostGiven); err == nil {
		t.Errorf("%d words of 64 GiB", len(got))
	}
	if got, err := words(file+"x", mostSaid); err == nil {
		t.Errorf("%q of no file", got)
	}
}
