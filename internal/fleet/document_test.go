package fleet

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/schemas"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func body(started, host, facts string) string {
	return fmt.Sprintf(`{"kind": "facts", "schema": 1, "started": %q, "host": %q, "identity": {"hostname": {"value": "own", "state": "ok"}}, "topology": {}%s}`, started, host, facts)
}

func TestRead(t *testing.T) {
	d := testkit.Must(Read([]byte(body("2026-11-23T11:00:00Z", "", `, "block": [{"scheduler": {"value": {"active": "none", "offers": []}, "state": "ok"}}, {"scheduler": {"value": {"active": "bfq"}, "state": "ok"}},
		{"scheduler": {"value": {"active": "bfq"}, "state": "ok"}}], "memory": {"total": {"value": 12345678901234567, "unit": "B", "state": "ok"}, "ksm": {"value": null, "state": "denied"}, "available": {"value": 1, "state": "ok"}},
		"network": {"passive_opens": {"value": 7, "state": "ok"}}, "data": [{"free": {"value": 7, "state": "ok"}}], "machine": "m"`)), "", now))(t)
	if d.Kind != FactsOnly || d.Host != "own" || len(d.Hash) != 64 {
		t.Errorf("%+v", d)
	}
	for path, want := range map[string]Value{"block[].scheduler": {"bfq x2, none", "", "ok"},
		"memory.total": {"12345678901234567", "B", "ok"}, "memory.ksm": {"", "", "denied"}} {
		testkit.Is(t, want, d.Facts[path], path)
	}
	if len(d.Facts) != 3 {
		t.Errorf("what passes by itself is no fact of how the host is set up, nor is the document's head: %v", d.Facts)
	}
	if d, err := Read(d.Body, "db7", now); err != nil || d.Host != "db7" {
		t.Errorf("the inventory's name: %v, %v", d, err)
	}
}

func TestRefused(t *testing.T) {
	good := body("2026-11-23T11:00:00Z", "db1", "")
	for name, c := range map[string]struct{ body, as, says string }{
		"no JSON":        {"hello", "", "this is text; send JSON"},
		"a page":         {"8 checks: 1 found something", "", "this is text; send JSON"},
		"nothing":        {" \n", "", "it is empty"},
		"cut":            {good[:40], "", "not JSON"},
		"another's":      {`{"a": 1}`, "", "names no kind"},
		"another kind":   {`{"kind": "x", "schema": 1}`, "", "this kind of document"},
		"newer":          {strings.Replace(good, `"schema": 1`, `"schema": 99, "version": "7.0"`, 1), "", "(7.0)"},
		"future":         {body("2026-11-23T12:20:00Z", "db1", ""), "", "from the future"},
		"no clock":       {body("1970-01-01T00:00:09Z", "db1", ""), "", "set the clock of db1"},
		"no ns":          {body("1500-01-01T00:00:00Z", "db1", ""), "", "from before hostlab"},
		"UTF-16":         {"\xff\xfe{\x00", "", "as UTF-8"},
		"no time":        {strings.Replace(good, `"started": "2026-11-23T11:00:00Z",`, "", 1), "", "does not say when"},
		"hostile name":   {body("2026-11-23T11:00:00Z", "<script>", ""), "", "not a host name"},
		"path as a name": {good, "../etc", "not a host name"},
		"wrong type":     {strings.Replace(good, `"host": "db1"`, `"host": 7`, 1), "", "host is a number"},
		"a list":         {"[1, 2]", "", "it is an array"},
	} {
		_, err := Read([]byte(c.body), c.as, now)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSpool(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		testkit.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	pack := func(data []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		testkit.Must(z.Write(data))(t)
		testkit.OK(t, z.Close())
		return out.Bytes()
	}
	good := []byte(body("2026-11-23T11:00:00Z", "", ""))
	write("db1/a.json", good)
	write("db2/b.json.gz", pack(good))
	write("c.json", good)
	write("notes.txt", []byte("not read"))
	write("db3/bomb.json.gz", pack(make([]byte, MaxBody+1)))
	write("db3/torn.json.gz", pack(good)[:30])
	testkit.OK(t, os.Symlink("/etc/hostname", filepath.Join(dir, "out.json")))
	hosts, refused := "", ""
	err := Spool(dir, now, func(s Spooled) error {
		if s.Err != nil {
			refused += s.Path + ": " + s.Err.Error() + "\n"
		} else {
			hosts += s.Host + " "
		}
		return nil
	})
	if err != nil || hosts != "own db1 db2 " {
		t.Errorf("%v, hosts %q", err, hosts)
	}
	for _, want := range []string{"bomb.json.gz: it is larger than 16 MiB", "torn.json.gz: it cannot be read",
		"out.json: "} {
		testkit.Has(t, refused, want)
	}
}

// A share that is none is not known: it would stand out among the sums of a fleet.
func TestSharesAreShares(t *testing.T) {
	text := strings.Replace(strings.TrimSuffix(body("2026-11-23T11:00:00Z", "db1", ""), "}"), `"facts", "schema": 1`, `"assess", "schema": 4`, 1) + `, "role": "production-db", "facts": {}, "results": [], "verdict": {"text": "v"}, "probes": [],
		"service": {"name": "s"}, "time": {"wall": 1, "active": 1}, "levers": [{"name": "clock", "estimate": 1e308, "at_most": -0.1}, {"name": "idle", "estimate": 1, "at_most": 1}]}`
	d := testkit.Must(Read([]byte(text), "", now))(t)
	if l := d.Levers[0]; l.Estimate != nil || l.AtMost != nil || l.SecondsPerDay != nil ||
		*d.Levers[1].SecondsPerDay != 86400 {
		t.Errorf("%+v", d.Levers)
	}
}

// A noise floor stands in a document in its measurement's unit, and is compared as a share.
func TestNoiseIsAShare(t *testing.T) {
	text := strings.Replace(strings.TrimSuffix(body("2026-11-23T11:00:00Z", "db1", ""), "}"), `"facts", "schema": 1`, `"assess", "schema": 4`, 1) + `, "role": "production-db", "facts": {}, "results": [], "verdict": {"text": "v"}, "levers": [], "probes": [
		{"name": "commit", "value": 0.002, "unit": "s", "noise_floor": 0.0001, "n": 9}, {"name": "alu", "value": 2, "unit": "ratio", "noise_floor": 0.03, "n": 9}]}`
	d := testkit.Must(Read([]byte(text), "", now))(t)
	if a, b := *d.Measured[0].Noise, *d.Measured[1].Noise; math.Abs(a-0.05) > 1e-12 || b != 0.03 {
		t.Errorf("%v and %v", a, b)
	}
}

// An exception for a check excuses a setting that the check advises, where verify finds it otherwise, until its last
// day.
func TestAcceptOfSettings(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for until, want := range map[string]check.Status{"2026-03-02": check.Accepted, "2026-03-01": check.Finding} {
		held := []Held{{Host: "db1", Role: AsSet, Check: "swappiness", Status: check.Finding},
			{Host: "db1", Role: AsSet, Check: "governor/policy0", Status: check.Finding}}
		AcceptHeld(held, []check.Exception{{Check: "MEM-006", Host: "db*", Reason: "asked for", Until: until}}, nil, now, 0)
		slices.SortFunc(held, func(a, b Held) int { return strings.Compare(b.Check, a.Check) })
		if held[0].Status != want || held[0].Exception == nil || held[1].Status != check.Finding || held[1].Exception != nil {
			t.Errorf("until %s: %+v", until, held)
		}
	}
}

func TestADay(t *testing.T) {
	for seconds, want := range map[float64]string{0.12: "0.12 s a day", 90: "90 s a day", 3600: "60 min a day",
		15000: "4.17 h a day", 390351: "108 h a day", 14400000: "4000 h a day"} {
		testkit.Is(t, want, ADay(seconds), seconds, "s")
	}
}

// docs/schema/fleet.schema.json describes what the commands of fleet write as JSON.
func TestSchema(t *testing.T) {
	rolled := func(kind string) document.Head { return document.Head{Kind: kind, Schema: rollout.Schema} }
	schemas.Schema{Title: "Output of hostlab fleet with --format json",
		Description: "One form a command. Values are in base units; what is not known is null.",
		Forms: []any{Summary{Head: HeadOf("status")}, HostList{Head: HeadOf("hosts")}, OutlierList{Head: HeadOf("outliers")},
			DiffReport{Head: HeadOf("diff")}, CheckReport{Head: HeadOf("check")}, ChangeList{Head: HeadOf("changes")},
			ExceptionList{Head: HeadOf("exceptions")}, PoolReport{Head: HeadOf("pool")}, Report{Head: HeadOf("report")},
			rollout.Plan{Kind: rollout.Kind, Schema: rollout.Schema}, rollout.StatusReport{Head: rolled("rollout-status")},
			rollout.GateReport{Head: rolled("rollout-gate")}}, Words: map[reflect.Type][]any{
			reflect.TypeFor[check.Status]():    {check.OK, check.Finding, check.Accepted, check.NotApplicable, check.Unknown},
			reflect.TypeFor[rollout.Verdict](): {rollout.Harm, rollout.Better, rollout.NoHarm, rollout.Undecided},
			reflect.TypeFor[rollout.Policy]():  {rollout.UnlessHarm, rollout.OnlyIfBetter},
			reflect.TypeFor[rollout.State](): {rollout.Waiting, rollout.Has, rollout.Same, rollout.Drifted, rollout.Reverted,
				rollout.Had},
		}}.Equal(t, "fleet.schema.json")
}

func TestPack(t *testing.T) {
	noise := make([]byte, 100_000)
	testkit.Must(rand.Read(noise))(t)
	for name, body := range map[string][]byte{"empty": {}, "short": []byte("{}"), "noise": noise,
		"largest": bytes.Repeat([]byte{'x'}, MaxBody)} {
		if got, err := Unpack(Pack(body)); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes came back of %d: %v", name, len(got), len(body), err)
		}
	}
	for name, kept := range map[string][]byte{"nothing": nil, "cut": Pack(noise)[:50_000], "text": []byte("{}")} {
		if got, err := Unpack(kept); err == nil && len(kept) > 0 {
			t.Errorf("%s: unpacked to %d bytes", name, len(got))
		}
	}
	plain := testkit.Must(zstd.NewWriter(nil))(t)
	if _, err := Unpack(plain.EncodeAll(bytes.Repeat([]byte{0}, MaxBody+1), nil)); err == nil {
		t.Error("more than the largest body was unpacked")
	}
}
