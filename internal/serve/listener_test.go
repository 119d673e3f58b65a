package serve

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// A connection too many ends the oldest on which nothing is answered, of its own address where that has too many; one on
// which something is answered stays, also where the new one has to go.
func TestListener(t *testing.T) {
	for name, c := range map[string]struct {
		open string // addresses of what is open, the oldest first; a capital has a request that is answered
		comes,
		goes string // the number of what ends; "": nothing
	}{
		"room":                   {"ab", "c", ""},
		"full of idle ones":      {"abcdef", "g", "0"},
		"the oldest works":       {"Abcdef", "g", "1"},
		"all work":               {"ABCDEF", "g", "6"},
		"many of one address":    {"caab", "a", "1"},
		"its oldest works":       {"cAab", "a", "2"},
		"all of its own work":    {"cAAb", "a", "3"},
		"others do not pay":      {"baad", "a", "1"},
		"full, and of one":       {"aabbcd", "a", "0"},
		"full, and of one works": {"AAbbcd", "a", "6"},
	} {
		l := &Listener{Most: 6, Each: 2}
		add := func(who rune) *place {
			lower := strings.ToLower(string(who))
			p := &place{of: l, from: origin(&net.TCPAddr{IP: net.IPv4(192, 0, 2, lower[0]), Port: 1000 + len(l.open)})}
			if lower != string(who) {
				p.working = true
			}
			return p
		}
		for _, who := range c.open {
			l.open = append(l.open, add(who))
		}
		all := append([]*place{}, l.open...)
		all = append(all, add(rune(c.comes[0])))
		if name == "all of its own work" {
			c.goes = "4" // the new one
		}
		got := ""
		if ended := l.admit(all[len(all)-1]); ended != nil {
			for i, p := range all {
				if p == ended {
					got = fmt.Sprint(i)
				}
			}
		}
		testkit.Is(t, c.goes, got, name, "ends")
	}
	for text, want := range map[string]string{"192.0.2.7:80": "192.0.2.7/32", "[::ffff:192.0.2.7]:80": "192.0.2.7/32", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64"} {
		testkit.Is(t, want, origin(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))).String(), text)
	}
}
