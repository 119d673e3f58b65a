package check

import (
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestReadExceptions(t *testing.T) {
	list, err := ReadExceptions([]byte("[[accept]]\ncheck = \"mem-006\"\nhost = \"db*\"\nreason = \"vendor asks for " +
		"60\"\nuntil = 2027-03-31\nby = \"A. Dba\"\n[[accept]]\ncheck = \"STO-001\"\nreason = \"measured\"\nuntil = " +
		"2027-01-01\n"))
	want := []Exception{{"MEM-006", "db*", "vendor asks for 60", "2027-03-31", "A. Dba"},
		{"STO-001", "*", "measured", "2027-01-01", ""}}
	if err != nil || len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := ReadExceptions(nil); err != nil || list != nil {
		t.Errorf("an empty file: %v, %v", list, err)
	}
	const good = "check = \"MEM-006\"\nreason = \"x\"\nuntil = 2027-03-31\n"
	for text, part := range map[string]string{
		"[[accept]]\n" + good + "\n[[accept]]\ncheck = \"MEM-066\"\nreason = \"x\"\nuntil = 2027-03-31\n": `line 6: unknown check "MEM-066"`,
		"[[accept]]\nreason = \"x\"\nuntil = 2027-03-31\n":                                                "line 1: check is missing",
		"[[accept]]\ncheck = 5\n":                                               "line 2: accept.check takes a text in quotes",
		"[[accept]]\ncheck = \"MEM-006\"\nreason = \"r\"\nuntil = 5\n":          "line 4: accept.until takes a day without quotes",
		"# a\n[[ accept ]] # b\ncheck = \"MEM-006\"\nuntil = 2027-03-31\n":      "line 2: reason is missing",
		"[[accept]]\ncheck = \"MEM-006\"\nreason = \"x\"\n":                     "line 1: until is missing",
		"[[accept]]\ncheck = \"MEM-006\"\nreason = \"x\"\nuntil = \"soon\"\n":   "line 4: ",
		"[[accept]]\ncheck = \"MEM-006\"\nreason = \"x\"\nuntil = 2027-13-31\n": "line 4: ",
		"[[accept]]\n" + good + "host = \"[a\"\n":                               "line 1: host = ",
		"[[accept]]\n" + good + "why = \"y\"\n":                                 "line 5: there is no accept.why",
		"accept = [{check = \"MEM-006\", until = 2027-01-01}]":                  "exception 1: reason is missing",
		"[[accept]\n": "line 1: ",
		"[[accept]]\ncheck = \"\\u001b[31m\"\nreason = \"x\"\nuntil = 2027-03-31\n": "line 1: unknown check",
	} {
		_, err := ReadExceptions([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), part) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v, want %s", text, err, part)
		}
	}
}

// A finding is accepted on the hosts and through the day that are named, is shown with its reason, and is one again
// after it.
func TestAccept(t *testing.T) {
	f := &host.Facts{}
	swapping(60, 8*gib)(f)
	f.Memory.KSM = known[int64](1, "/sys/kernel/mm/ksm/run")
	found := Run(f, ProductionDB, All())
	list := []Exception{{"MEM-006", "DB*", "vendor asks for it.", "2027-03-31", "A. Dba"},
		{"MEM-006", "*", "older", "2026-01-01", ""}, {"KRN-007", "*", "no finding", "2027-03-31", ""}}
	for _, c := range []struct {
		host, at string
		want     Status
		lapsed   string
	}{
		{"db7", "2027-03-31", Accepted, ""}, {"db7", "2027-04-01", Finding,
			"MEM-006 was accepted until 2027-03-31 (vendor asks for it), and is a finding again."},
		{"app1", "2026-01-01", Accepted, ""}, {"app1", "2026-01-02", Finding, "MEM-006 was accepted until 2026-01-01"},
	} {
		now := testkit.Must(time.ParseInLocation(day, c.at, time.Local))(t)
		results := Accept(found, list, c.host, now.Add(23*time.Hour))
		var got Result
		for i, r := range results {
			switch {
			case r.ID == "MEM-006":
				got = r
			case r.Status != found[i].Status:
				t.Errorf("%s became %s", r.ID, r.Status)
			}
		}
		lapsed := strings.Join(Lapsed(results), "|")
		if got.Status != c.want || !strings.HasPrefix(lapsed, c.lapsed) || (c.lapsed == "") != (lapsed == "") {
			t.Errorf("%s at %s: %s, %q", c.host, c.at, got.Status, lapsed)
		}
		out := text(t, Document(named(c.host), ProductionDB, results, false, time.Time{}), document.TextOptions{})
		if shown := strings.Contains(out, "ACCEPTED") && strings.Contains(out, "; until 20"); shown != (c.want == Accepted) ||
			!strings.Contains(out, "MEM-003") {
			t.Errorf("%s at %s:\n%s", c.host, c.at, out)
		}
		if len(Findings(results)) != len(Findings(found))-map[Status]int{Accepted: 1}[c.want] {
			t.Errorf("%s at %s: %d findings", c.host, c.at, len(Findings(results)))
		}
	}
	if found[0].Exception != nil {
		t.Error("the results themselves were changed")
	}
	if got := OnHost(list, "app1"); len(got) != 2 || got[0].Reason != "older" {
		t.Errorf("on app1: %+v", got)
	}
}
