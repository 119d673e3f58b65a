package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// StratumFacts are what hosts must share to be compared with each other.
var StratumFacts = []string{"identity.cpu_model", "topology.threads", "memory.total", "identity.product", "virtualization.hypervisor"}

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
		return "memory not known"
	}
	step := math.Round(4*math.Log2(bytes)) / 4
	return "about " + result.Format(math.Exp2(step), "B")
}

// LeastPeers are the hosts of a stratum and a role that it takes to call one of them an outlier.
const LeastPeers = stats.LeastPeers

// falseShare is the share of outliers named that are none, on average.
const falseShare = 0.05

// Compared is a host with what peers compare. Role is that of its newest assessment.
type Compared struct {
	Name     string
	Stratum  string // "": not known
	Role     check.Role
	Measured map[string]Measurement
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

// Outliers compares hosts with those of their stratum and role, measurement by measurement. Of those named, one in
// twenty is false on average (Benjamini and Hochberg), over all hosts and measurements together. What lies within
// the noise floors or within the host's own interval is none.
func Outliers(hosts []Compared) (found []Outlier, groups int) {
	type group struct {
		stratum string
		role    check.Role
	}
	by := map[group][]Compared{}
	for _, h := range hosts {
		if h.Stratum != "" && h.Measured != nil {
			g := group{h.Stratum, h.Role}
			by[g] = append(by[g], h)
		}
	}
	var tests []Outlier
	for g, list := range by {
		if len(list) < LeastPeers {
			continue
		}
		groups++
		for _, name := range metrics(list) {
			tests = append(tests, oneMetric(name, g.stratum, g.role, list)...)
		}
	}
	p := make([]float64, len(tests))
	for i := range tests {
		p[i] = tests[i].P
	}
	for i, is := range stats.Discoveries(p, falseShare) {
		if t := tests[i]; is && beyondNoise(t) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(distance(b.Ratio), distance(a.Ratio)), strings.Compare(a.Host, b.Host), strings.Compare(a.Name, b.Name))
	})
	return found, groups
}

// metrics are the measurements of a group, in order.
func metrics(list []Compared) []string {
	seen := map[string]int{}
	for _, h := range list {
		for name, m := range h.Measured {
			if m.Value != nil && *m.Value > 0 && m.Low != nil && m.High != nil {
				seen[name]++
			}
		}
	}
	var out []string
	for name, n := range seen {
		if n >= LeastPeers {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func oneMetric(name, stratum string, role check.Role, list []Compared) (out []Outlier) {
	var logs []float64
	for _, h := range list {
		m, ok := h.Measured[name]
		if !ok || m.Value == nil || *m.Value <= 0 || m.Low == nil || m.High == nil {
			continue
		}
		out = append(out, Outlier{Host: h.Name, Stratum: stratum, Role: role, Name: name, Value: m})
		logs = append(logs, math.Log(*m.Value))
	}
	p, middle := stats.Peers(logs), math.Exp(stats.Median(logs))
	for i := range out {
		out[i].P, out[i].Peers, out[i].Typical = p[i], len(logs)-1, middle
		out[i].Ratio = *out[i].Value.Value / out[i].Typical
	}
	noise := make([]float64, 0, len(out))
	for i := range out {
		if n := out[i].Value.Noise; n != nil {
			noise = append(noise, *n)
		}
	}
	if len(noise) > 0 { // the peers' floor stands in for one that is not known
		typical := stats.Median(noise)
		for i := range out {
			own := typical
			if n := out[i].Value.Noise; n != nil {
				own = max(own, *n)
			}
			out[i].Value.Noise = &own
		}
	}
	return out
}

// beyondNoise reports a difference that neither noise floors nor the host's own interval explain.
func beyondNoise(o Outlier) bool {
	floor := 0.0
	if o.Value.Noise != nil {
		floor = *o.Value.Noise
	}
	return distance(o.Ratio) > 1+floor && (*o.Value.High < o.Typical || *o.Value.Low > o.Typical)
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
	slices.SortFunc(out, func(a, b Trait) int { return cmp.Or(b.Share-a.Share, strings.Compare(a.Path, b.Path)) })
	return out
}

// OutliersDocument lists them. groups is how many groups of peers were large enough.
func OutliersDocument(found []Outlier, hosts, groups int) *document.Document {
	answer := fmt.Sprintf("No host is an outlier among its peers, in %s of %d hosts or more.", screen.Count(groups, "group"), LeastPeers)
	names := map[string]bool{}
	for _, o := range found {
		names[o.Host] = true
	}
	switch {
	case groups == 0:
		answer = fmt.Sprintf("No group of equal hosts and one role has %d hosts, which it takes to call one an outlier.", LeastPeers)
	case len(found) > 0:
		answer = fmt.Sprintf("%s of %d differ from their peers. Begin with %s: %s is %.2f times as large as on its %d peers.",
			screen.Count(len(names), "host"), hosts, found[0].Host, found[0].Name, found[0].Ratio, found[0].Peers)
	}
	t := &document.Table{Columns: document.Headings("host", "measurement", "value", "peers have", "ratio"),
		Lead: "Peers are hosts of equal hardware and role. Of the outliers, one in twenty is false on average."}
	traits := &document.Table{Columns: document.Headings("host", "fact", "here", "on most peers")}
	told := map[string]bool{}
	for _, o := range found {
		t.Add(document.Text(o.Host), document.Text(o.Name), estimate(o.Value), document.Number(o.Typical, result.Format(o.Typical, o.Value.Unit)),
			document.Number(o.Ratio, fmt.Sprintf("%.2fx", o.Ratio)))
		if told[o.Host] {
			continue
		}
		told[o.Host] = true
		for _, a := range o.Apart {
			traits.Add(document.Text(o.Host), document.Text(a.Path), document.Text(a.Value), document.Text(fmt.Sprintf("%s (%d %%)", a.Others, a.Share)))
		}
	}
	if found == nil {
		found = []Outlier{}
	}
	return &document.Document{Name: "fleet", Title: "Outliers", Answer: []document.Line{{Text: answer}},
		Sections: []document.Section{document.Titled("Outliers", t), document.Titled("What sets them apart", traits)},
		Data: struct {
			Schema   int       `json:"schema"`
			Outliers []Outlier `json:"outliers"`
		}{Schema, found}}
}
