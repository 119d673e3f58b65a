package web

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/assess"
	"hostlab/internal/check"
)

// mostSeries is how many hosts have series of their own: what hosts call themselves must not fill a Prometheus.
const mostSeries = 10000

// leverLabels are the levers that have a label of their own. A document may name any.
var leverLabels = []string{assess.Clock, assess.Idle, assess.SMT, assess.CPUs, assess.Log, assess.Data, assess.Network,
	assess.Memory}

// family is a metric with its series, as Prometheus' text format has them. The client library of Prometheus brings protocol
// buffers, which weigh 2 MB in the binary.
type family struct {
	name, help string
	lines      bytes.Buffer
}

func gauge(name, help string) *family { return &family{name: name, help: help} }

// inLabels are the characters that stand escaped in a label's value.
var inLabels = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// add adds a value, whose labels are names and values in turn.
func (f *family) add(v float64, labels ...string) {
	f.lines.WriteString(f.name)
	for i := 0; i+1 < len(labels); i += 2 {
		f.lines.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + labels[i] + `="` + inLabels.Replace(labels[i+1]) +
			`"`)
	}
	if len(labels) > 0 {
		f.lines.WriteByte('}')
	}
	f.lines.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

// metrics answers Prometheus. Of a host that is not known any more it says only that, and since when.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	now := s.Now()
	f, err := s.fleet.get(r.Context(), s, now)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	all := gauge("hostlab_fleet_hosts", "Hosts, by whether they sent a document lately.")
	documents := gauge("hostlab_fleet_documents", "Documents that the store has received.")
	left := gauge("hostlab_fleet_hosts_left_out", "Hosts without series of their own, since there are too many.")
	known := gauge("hostlab_host_known", "1 if the host sent a document lately; 0: its state is unknown.")
	last := gauge("hostlab_host_last_document_timestamp_seconds", "When the host wrote its newest document.")
	findings := gauge("hostlab_host_findings", "Findings of checks on a known host, by severity.")
	drift := gauge("hostlab_host_drift", "Facts and checks of a known host that changed in the last 7 days.")
	saves := gauge("hostlab_host_lever_saves_seconds_per_day",
		"Active time of the service that a worthwhile lever would likely save.")
	count := map[bool]float64{}
	for i, h := range f.hosts {
		stale := h.Stale(now, s.Stale)
		count[stale]++
		if i >= mostSeries {
			continue
		}
		last.add(float64(h.Last.UnixMilli())/1000, "host", h.Name)
		known.add(map[bool]float64{false: 1}[stale], "host", h.Name)
		if stale {
			continue
		}
		drift.add(float64(f.drift(h.Name, now.Add(-week))), "host", h.Name)
		for _, severity := range check.Severities {
			n := 0
			for _, x := range h.Findings {
				if x.Severity == severity {
					n++
				}
			}
			findings.add(float64(n), "host", h.Name, "severity", severity)
		}
		sum := map[string]float64{}
		for _, l := range h.Levers {
			if l.Verdict != "worthwhile" || l.SecondsPerDay == nil {
				continue
			}
			label := l.Name
			if !slices.Contains(leverLabels, label) {
				label = "other"
			}
			sum[label] += *l.SecondsPerDay
		}
		for _, label := range append(slices.Clone(leverLabels), "other") {
			if v, ok := sum[label]; ok {
				saves.add(v, "host", h.Name, "lever", label)
			}
		}
	}
	all.add(count[false], "state", "known")
	all.add(count[true], "state", "unknown")
	documents.add(float64(f.documents))
	left.add(float64(max(0, len(f.hosts)-mostSeries)))
	var out bytes.Buffer
	for _, m := range []*family{all, documents, left, known, last, findings, drift, saves} {
		if m.lines.Len() > 0 {
			fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s gauge\n%s", m.name, m.help, m.name, m.lines.Bytes())
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(out.Bytes()) // the reader may have gone
}
