package proc

import (
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
