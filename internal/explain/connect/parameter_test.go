package connect

import "testing"

// What the server shows of a value as it is written.
func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		kind       kind
		text, want string // "": refused
	}{
		{kind{vartype: "bool"}, "TRUE", "on"},
		{kind{vartype: "bool"}, "0", "off"},
		{kind{vartype: "bool"}, "maybe", ""},
		{kind{vartype: "enum", words: []string{"local", "off"}}, "OFF", "off"},
		{kind{vartype: "enum", words: []string{"local", "off"}}, "of", ""},
		{kind{vartype: "integer", unit: "us", least: "0", most: "100000"}, "1ms", "1000"},
		{kind{vartype: "integer", unit: "ms", least: "0", most: "100000"}, "1.5 s", "1500"},
		{kind{vartype: "integer", unit: "8kB", least: "16", most: "1000000"}, "64MB", "8192"},
		{kind{vartype: "integer", unit: "kB", least: "64", most: "2147483647"}, "4GB", "4194304"},
		{kind{vartype: "integer", unit: "kB"}, "4s", ""},
		{kind{vartype: "integer", unit: "kB"}, "4gb", ""},
		{kind{vartype: "integer", least: "0", most: "10"}, "11", ""},
		{kind{vartype: "integer", least: "0", most: "511"}, "0777", "511"},
		{kind{vartype: "integer", unit: "B", least: "1", most: "18446744073709551615"}, "18446744073709551615",
			"18446744073709551615"},
		{kind{vartype: "integer", unit: "B", least: "1", most: "18446744073709551615"}, "18446744073709551616", ""},
		{kind{vartype: "integer", least: "0", most: "511"}, "5s", ""},
		{kind{vartype: "integer"}, "1; drop table t", ""},
		{kind{vartype: "real", least: "0", most: "1"}, ".5", "0.5"},
		{kind{vartype: "real", unit: "ms", least: "-1", most: "1e9"}, "1min", "60000"},
		{kind{vartype: "string"}, " it's ", "it's"},
		{kind{vartype: "string"}, "a\nb", ""},
	} {
		got, err := c.kind.canonical(c.text)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v %q: %q, %v; want %q", c.kind, c.text, got, err, c.want)
		}
	}
}
