//go:build linux && amd64 && system

package windows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// watched is what wine/pdh.c tells of a watch: of the first processor, and of the volume that the test is on.
const watched = `\Processor Information(*)\% User Time
0,0 30
_Total 30
\Processor Information(*)\% Privileged Time
0,0 10
\Processor Information(*)\% Idle Time
0,0 60
\Processor Information(*)\% of Maximum Frequency
0,0 46
\Processor Information(*)\% Processor Performance
0,0 118.5
\System\Processor Queue Length
* 3
\System\Context Switches/sec
* 12345
\LogicalDisk(*)\Disk Writes/sec
C: 7
Z: 200
\LogicalDisk(*)\Avg. Disk sec/Write
C: 0.5
Z: 0.002
`

// watch records and shows what the counters tell, and says what they do not.
func (w *wine) watch(t *testing.T) {
	w.begin(t)
	w.setCounters(t, watched)
	w.try(t, 0, `unknown here: idle states, pressure, iowait, steal, log flushes: Windows has no counter of them.*`+
		`busy 40 % \(user 30, sys 10\).*clock 46 % of the highest \(46 to 46\), while busy .*waits queue 3 threads, 12345 switches/s`+
		`.*log Z: write 2\.00 ms \(n 20[0-9]\)`, "", "watch", "--count", "2", "--log-dir", ".", "--save", "night.jsonl")
	b, err := os.ReadFile(filepath.Join(w.dir, "night.jsonl"))
	if text := string(b); err != nil || strings.Count(text, "\n") != 3 || !strings.Contains(text, `"queue":3,"switches":12345`) ||
		!strings.Contains(text, `"iow":"-`) || !strings.Contains(text, `"freq":"46`) {
		t.Errorf("the record: %v\n%s", err, b)
	}
	w.try(t, 11, `Not decided: the record .*Windows has no counter`, "", "watch", "--from", "night.jsonl", "--exit-status")
	w.try(t, 2, `--interval 100ms: expected 1s`, "", "watch", "--interval", "100ms")
	w.try(t, 0, `"processor_queue":3`, "", "watch", "--count", "1", "--format", "json")

	w.setCounters(t, strings.ReplaceAll(watched, "0,0 118.5", "0,0 0"))
	w.try(t, 0, `unknown here: effective frequency: 0 % is no frequency.*clock 46 % of the highest \(46 to 46\) `, "", "watch", "--count", "1")
	w.setCounters(t, strings.ReplaceAll(watched, "Z: 200", "Y: 200"))
	w.try(t, 0, `unknown here: log device: the counter has no instance "Z:"`, "", "watch", "--count", "1", "--log-dir", ".")
	w.setCounters(t, strings.ReplaceAll(watched, "0,0 60", "0,0 invalid"))
	w.try(t, 3, `counters of Processor Information.*not valid`, "", "watch", "--count", "1")
	w.setCounters(t, watched)
	w.try(t, 3, `permission denied`, "PdhOpenQueryW=3221228507", "watch", "--count", "1")
	w.try(t, 1, `PdhCollectQueryData.*no data`, "PdhCollectQueryData=2147485653@3", "watch", "--count", "1")
}
