package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hostlab/internal/result/store"
)

// A failure that cannot go away is tried once: the program ended well and its output has the wrong form, or there is no
// such program. What an exit status says may be chance, and so is the wrong form of what once had the right one.
func TestFailuresThatLast(t *testing.T) {
	picked := func(script, from string) string {
		return "name = \"command\"\nrun = [\"sh\", \"-c\", '" + script +
			"']\n[[response]]\nname = \"value\"\nprimary = true\nunit = \"s\"\nfrom = '" + from + "'\n"
	}
	for name, c := range map[string]struct {
		factor, workload, want string
		runs                   int
		resumed                bool
	}{
		"nothing matches": {levelFactor, picked("echo 5", "regex:took (\\d+)"),
			"found nothing in stdout, which begins \"5\"", 1, false},
		"two matches":  {levelFactor, picked("echo 5 6", "regex:(\\d)"), "matches 2 times", 1, false},
		"no JSON":      {levelFactor, picked("echo note; echo 5", "json:$.x"), "is not JSON", 1, false},
		"not a number": {levelFactor, picked("echo nan", "regex:(nan)"), "not a plain number", 1, false},
		"no program": {levelFactor,
			"name = \"command\"\nrun = [\"./nosuch-{power}\"]\n[[response]]\nname = \"wall\"\nfrom = \"wall\"\nprimary = true\n",
			"no program", 1, false},
		"no program of levels": {strings.Replace(levelFactor, `["sh", "-c", "echo {level} > level"]`,
			`["./nosuch", "{level}"]`, 1), "name = \"null\"\n[[response]]\nname = \"seconds\"\nprimary = true\n", "no such file",
			1, false},
		"of one level alone": {levelFactor, picked("test $(cat level) = low || echo 5", "regex:(\\d)"),
			"output, which is empty", 0, true},
		"an exit status": {levelFactor, picked("echo big.log is not there >&2; exit 1", "regex:(\\d)"),
			"big.log is not there", 4, false},
		"once it was there": {levelFactor, picked("echo x >>n; test $(wc -l <n) -gt 5 || echo 5", "regex:(\\d)"),
			"void or failed 4 times", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head(6, "")+c.factor+"[workload]\nwarmup = 1\nretries = 3\n"+c.workload)
			var said []string
			b.cfg.Watch = func(p Progress) {
				if p.Last != nil && p.Last.Reason != "" {
					said = append(said, p.Last.Reason)
				}
			}
			err := b.run()
			b.fails(err, c.want)
			failed := 0
			for _, r := range b.record().Runs {
				if r.Reason != "" {
					failed++
				}
			}
			once := c.runs == 1 || name == "of one level alone"
			if c.runs > 0 && failed != c.runs || once &&
				(failed != 1 || len(said) > 0 || !strings.Contains(err.Error(), "would fail again")) || !once && failed < 4 {
				t.Errorf("%d runs failed, told were %q; %v", failed, said, err)
			}
			if once && c.resumed != strings.Contains(err.Error(), "--resume") {
				t.Error(err)
			}
			// The cause is mended, and the same directory begun anew unless a run counts.
			b.load(head(6, "") + levelFactor + nullWorkload)
			cfg := b.cfg
			cfg.Study = b.study
			switch _, err := Run(context.Background(), cfg); {
			case (c.resumed || name == "no program of levels") != errors.Is(err, store.ErrExists): // it cannot put back either
				t.Errorf("begun anew: %v", err)
			case !errors.Is(err, store.ErrExists) && (err != nil || b.record().End == nil):
				t.Errorf("it has not ended: %v", err)
			}
		})
	}
}
