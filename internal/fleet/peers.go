package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// StratumFacts are what hosts must share to be compared with each other.
var StratumFacts = []string{"identity.cpu_model", "topology.threads", "memory.total", "identity.product",
	"virtualization.hypervisor"}

// Stratum describes the hardware of a host in words; "": not enough is known of it. Hosts of one stratum have it alike.
func Stratum(facts map[string]Value) string {
	var words []string
	for _, path := range StratumFacts {
		v := facts[path]
		text := strings.Join(strings.Fields(v.Text), " ")
		switch {
		case v.State != "ok" && path == "identity.cpu_model", v.State != "ok" && path == "topology.threads":
			return ""
		case v.State != "ok":
			continue
		case path == "topology.threads":
			text += " CPUs"
		case path == "memory.total":
			text = memoryClass(text)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

// memoryClass rounds an amount of memory: what the firmware keeps of it differs between equal machines.
func memoryClass(text string) string {
	bytes, err := strconv.ParseFloat(text, 64)
	if err != nil || bytes <= 0 {
		return "memory unknown"
	}
	step := math.Round(4*math.Log2(bytes)) / 4
	return "about " + result.Format(math.Exp2(step), "B")
}

// LeastPeers are the hosts of a stratum and a role that it takes to call one of them an outlier.
const LeastPeers = stats.LeastPeers

// falseShare is the share of outliers named that are none, on average.
const falseShare = 0.05

// Compared is a host that peers compare. Role is that of its newest assessment.
type Compared struct {
	Name    string
	Stratum string // "": not known
	Role    check.Role
	Last    time.Time // when it was heard of
}

// Outlier is a measurement of a host that is far from those of its peers.
type Outlier struct {
	Host    string      `json:"host"`
	Stratum string      `json:"stratum"`
	Role    check.Role  `json:"role"`
	Name    string      `json:"name"` // of the measurement
	Value   Measurement `json:"value"`
	Typical float64     `json:"typical"` // median of the group, in the measurement's unit
	Ratio   float64     `json:"ratio"`   // of the value to it
	Peers   int         `json:"peers"`   // the others
	P       float64     `json:"p"`       // how likely a value as far is among equals
	Apart   []Trait     `json:"apart"`   // facts that the host shares with few of them
}

// Trait is a fact in which a host is not as its peers.
type Trait struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Others string `json:"others"` // what most peers have
	Share  int    `json:"share"`  // of them, in %, that have it
}

// group is what peers have alike.
type group struct {
	stratum string
	role    check.Role
}

// Peers compares hosts with those of their stratum and role, measurement by measurement. It holds all hosts' values of
// one measurement at a time: of a large fleet all would take hundreds of megabytes.
type Peers struct {
	hosts    map[string]Compared
	name     string              // of the measurement that comes now
	values   map[group][]Outlier // its values
	groups   map[group]bool      // those with LeastPeers and more values of some measurement
	p        []float64           // of all values
	gaps     []float64           // the widest of each group and measurement
	suspects map[int]Outlier     // those that may be named, by their place in p
}

// NewPeers begins a comparison.
func NewPeers(hosts []Compared) *Peers {
	p := &Peers{hosts: map[string]Compared{}, values: map[group][]Outlier{}, groups: map[group]bool{},
		suspects: map[int]Outlier{}}
	for _, h := range hosts {
		if h.Stratum != "" {
			p.hosts[h.Name] = h
		}
	}
	return p
}

// Add takes a host's value. They come in the order of their names.
func (p *Peers) Add(host string, m Measurement) {
	if m.Name != p.name {
		p.judge()
		p.name = m.Name
	}
	h, known := p.hosts[host]
	if !known || m.Value == nil || *m.Value <= 0 || m.Low == nil || m.High == nil {
		return
	}
	g := group{h.Stratum, h.Role}
	p.values[g] = append(p.values[g], Outlier{Host: host, Stratum: h.Stratum, Role: h.Role, Name: m.Name, Value: m})
}

// judge compares the values of one measurement.
func (p *Peers) judge() {
	for g, list := range p.values {
		if len(list) < LeastPeers {
			continue
		}
		p.groups[g] = true
		p.gaps = append(p.gaps, oneMetric(list))
		for _, o := range list {
			if o.P*stats.LeastTails <= falseShare && beyondNoise(o) { // no other is ever named
				p.suspects[len(p.p)] = o
			}
			p.p = append(p.p, o.P)
		}
	}
	clear(p.values)
}

// Outliers ends the comparison. Of those named, one in twenty is false on average (Benjamini and Hochberg), over all
// hosts and measurements together, also where hosts have tails as of package stats. What lies within the noise floors
// or within the host's own interval is none.
func (p *Peers) Outliers() (found []Outlier, groups int) {
	p.judge()
	tails := stats.Tails(p.gaps)
	for i := range p.p {
		p.p[i] *= tails
	}
	for i, is := range stats.Discoveries(p.p, falseShare) {
		if o, far := p.suspects[i]; is && far {
			o.P = p.p[i]
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(distance(b.Ratio), distance(a.Ratio)),
			strings.Compare(a.Host, b.Host), strings.Compare(a.Name, b.Name))
	})
	return found, len(p.groups)
}

// oneMetric fills in what the values of peers say of each, and returns the widest gap among them.
func oneMetric(list []Outlier) (gap float64) {
	var logs, noise []float64
	for _, o := range list {
		logs = append(logs, math.Log(*o.Value.Value))
		if o.Value.Noise != nil {
			noise = append(noise, *o.Value.Noise)
		}
	}
	p, gap := stats.Peers(logs)
	middle := math.Exp(stats.Median(logs))
	for i := range list {
		o := &list[i]
		o.P, o.Peers, o.Typical, o.Ratio = p[i], len(logs)-1, middle, *o.Value.Value/middle
		if len(noise) > 0 { // the peers' floor stands in for one that is not known
			own := stats.Median(noise)
			if o.Value.Noise != nil {
				own = max(own, *o.Value.Noise)
			}
			o.Value.Noise = &own
		}
	}
	return gap
}

// leastRatio is how many times as large as its peers' a value has to be, or as small.
const leastRatio = 1.1

// beyondNoise reports a difference that neither noise floors nor the host's own interval explain.
func beyondNoise(o Outlier) bool {
	floor := 0.0
	if o.Value.Noise != nil {
		floor = *o.Value.Noise
	}
	return distance(o.Ratio) > max(leastRatio, 1+floor) && (*o.Value.High < o.Typical || *o.Value.Low > o.Typical)
}

// common is the share of peers above which what they have is what a host should have, in %.
const common = 75

// Traits finds the facts in which a host is not as most of its peers, those first that fewest others share.
func Traits(host map[string]Value, peers []map[string]Value) (out []Trait) {
	if len(peers) == 0 {
		return nil
	}
	paths := map[string]bool{}
	for p := range host {
		paths[p] = true
	}
	for _, facts := range peers {
		for p := range facts {
			paths[p] = true
		}
	}
	for path := range paths {
		own, counts := shown(host, path), map[string]int{}
		for _, facts := range peers {
			counts[shown(facts, path)]++
		}
		for value, n := range counts {
			if share := 100 * n / len(peers); value != own && share >= common {
				out = append(out, Trait{path, own, value, share})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Trait) int { return cmp.Or(b.Share-a.Share, strings.Compare(a.Path, b.Path)) })
	return out
}

// Peerage is a group of hosts of equal hardware and one role.
type Peerage struct {
	Stratum string     `json:"stratum"` // "": not known
	Role    check.Role `json:"role"`
	Hosts   int        `json:"hosts"`
}

// peerages are the groups of a fleet, the largest first.
func peerages(hosts []Compared) []Peerage {
	count, out := map[group]int{}, []Peerage{}
	for _, h := range hosts {
		count[group{h.Stratum, h.Role}]++
	}
	for g, n := range count {
		out = append(out, Peerage{g.stratum, g.role, n})
	}
	slices.SortStableFunc(out, func(a, b Peerage) int {
		return cmp.Or(b.Hosts-a.Hosts, strings.Compare(a.Stratum, b.Stratum), strings.Compare(string(a.Role), string(b.Role)))
	})
	return out
}

// OutliersDocument lists them, and the groups of the hosts that were compared. groups is how many were large enough.
func OutliersDocument(found []Outlier, list []Compared, groups int) *document.Document {
	hosts, strata := len(list), peerages(list)
	answer := fmt.Sprintf("No host is an outlier among its peers, in %s of %d hosts or more.",
		screen.Count(groups, "group"), LeastPeers)
	names := map[string]bool{}
	for _, o := range found {
		names[o.Host] = true
	}
	switch {
	case groups == 0:
		answer = fmt.Sprintf("To find outliers, hostlab needs %d hosts of equal hardware and role; no group is that large.",
			LeastPeers)
	case len(found) > 0:
		answer = fmt.Sprintf(
			"%s of %d differ from their peers. %s differs most: %s is %.2f times as large as on its %d peers.",
			screen.Count(len(names), "host"), hosts, found[0].Host, cmp.Or(MeasurementWords(found[0].Name), found[0].Name),
			found[0].Ratio, found[0].Peers)
	}
	t := &document.Table{Columns: document.Headings("host").Names("measurement").Figures("value", "peers have", "ratio"),
		Lead: "Peers are hosts of equal hardware and role. On average, one outlier in twenty is a false alarm."}
	traits := &document.Table{Columns: document.Headings("host").Names("fact", "here", "on most peers")}
	rows := &document.Table{Columns: document.Columns{}.Names("host", "measurement", "unit").Figures("value", "peers have",
		"ratio")}
	told := map[string]bool{}
	for _, o := range found {
		rows.Row(o.Host, o.Name, o.Value.Unit, *o.Value.Value, o.Typical, o.Ratio)
		t.Row(o.Host, measurementCell(o.Name), estimate(o.Value), document.Number(o.Typical, result.Format(o.Typical,
			o.Value.Unit)), document.Number(o.Ratio, fmt.Sprintf("%.2fx", o.Ratio)))
		if told[o.Host] {
			continue
		}
		told[o.Host] = true
		for _, a := range o.Apart {
			traits.Row(o.Host, a.Path, a.Value, fmt.Sprintf("%s (%d %%)", a.Others, a.Share))
		}
	}
	equal := &document.Table{Columns: document.Headings("hardware").Names("role").Figures("hosts").Names("compared"),
		Most: 40}
	for _, s := range strata {
		compared := fmt.Sprintf("no: fewer than %d", LeastPeers)
		switch {
		case s.Stratum == "":
			compared = "no: hardware unknown"
		case s.Hosts >= LeastPeers:
			compared = "yes"
		}
		equal.Row(cmp.Or(s.Stratum, "unknown"), cmp.Or(string(s.Role), "none"), s.Hosts, compared)
	}
	return &document.Document{Name: "fleet", Title: "Outliers", Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled("Outliers", t), document.Titled("What sets them apart", traits),
			document.Titled("Groups of equal hosts", equal)}, Data: OutlierList{HeadOf("outliers"), found, strata},
		Rows: rows}
}

// OutlierList is what fleet hosts --outliers says to programs.
type OutlierList struct {
	document.Head
	Outliers []Outlier `json:"outliers"`
	Strata   []Peerage `json:"strata"`
}
