package check

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
)

// anyWord are the facts by check that may have any word where all is well, and why.
var anyWord = map[string]string{
	"PWR-001 Driver": "it explains the governor", "PWR-010 ActiveScheme": "the states in it decide",
	"IDL-001 Name":       "the latency decides",
	"SMT-001 SMTControl": "what is active decides", "MEM-002 THPEnabled": "defrag decides",
	"MEM-002 THPDefrag":    "never leaves nothing to do",
	"KRN-007 Clocksources": "the one in use decides", "STO-006 FSType": "the class decides",
	"STO-007 FSType":      "the class decides",
	"SRV-006 sync_binlog": "without a binary log nothing is waited for",
	"SRV-006 Preload":     "few libraries take flushes away",
	"VRT-001 Hypervisor":  "the stolen time decides", "STO-004 Options": "no other option trims",
	"STO-009 Options": "few options take flushes away",
	"STO-010 Options": "no other option makes NFS soft",
}

// No check is content with a word that hostlab does not know, where a word decides.
func TestUnknownWordsAreNotOK(t *testing.T) {
	const nonsense = "hostlab-nonsense"
	tried := map[string]bool{}
	for _, c := range allCases() {
		if c.want != OK {
			continue
		}
		f := c.facts0()
		for _, fact := range wordFacts(reflect.ValueOf(f).Elem(), "") {
			word := fact.value
			was := word.String()
			word.SetString(nonsense)
			r := c.runOn(t, f)
			word.SetString(was)
			seen := slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return strings.Contains(e.Value, nonsense) })
			if !seen || strings.Contains(r.Detail, nonsense) && r.Status == Finding {
				continue
			}
			tried[c.id] = true
			if r.Status == OK && anyWord[c.id+" "+fact.name] == "" {
				t.Errorf("%s/%s is ok with %s %q in place of %q: %s %v", c.id, c.name, fact.name, nonsense, was, r.Detail,
					r.Evidence)
			}
		}
	}
	for _, id := range []string{"PWR-001", "PWR-003", "MEM-001", "MEM-002", "KRN-007", "KRN-010", "STO-001", "STO-008",
		"SRV-005", "SRV-006"} {
		if !tried[id] {
			t.Errorf("no word of %s was tried", id)
		}
	}
}

type wordFact struct {
	name  string // of the field, or of a server's setting
	value reflect.Value
}

// wordFacts are the values of facts that are words, as a file, an option or a server gives them.
func wordFacts(v reflect.Value, name string) (list []wordFact) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return wordFacts(v.Elem(), name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, wordFacts(v.Index(i), name)...)
		}
	case reflect.Struct:
		switch fact := v.Addr().Interface().(type) {
		case *host.Fact[string]:
			return []wordFact{{name, v.FieldByName("Value")}}
		case *host.Fact[host.Choice]:
			return []wordFact{{name, reflect.ValueOf(&fact.Value.Active).Elem()}}
		case *host.ServerSetting:
			return []wordFact{{fact.Name, v.FieldByName("Value").FieldByName("Value")}}
		}
		for i := range v.NumField() {
			list = append(list, wordFacts(v.Field(i), v.Type().Field(i).Name)...)
		}
	}
	return list
}
