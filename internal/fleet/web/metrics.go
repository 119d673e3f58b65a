package web

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hostlab/internal/check"
	"hostlab/internal/lever"
	"hostlab/internal/watch"
)

// mostSeries is how many hosts have series of their own: what hosts call themselves must not fill a Prometheus.
const mostSeries = 10000

// leverLabels are the levers that have a label of their own. A document may name any.
var leverLabels = []string{lever.Clock, lever.Idle, lever.SMT, lever.CPUs, lever.Log, lever.Data, lever.Network,
	lever.Memory}

// metrics answers Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	page, err := s.registry(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	promhttp.HandlerFor(page, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// WriteMetrics writes what Prometheus would be answered.
func WriteMetrics(ctx context.Context, w io.Writer, c Config) error {
	s, err := New(c)
	if err != nil {
		return err
	}
	page, err := s.registry(ctx)
	if err != nil {
		return err
	}
	_, err = watch.WriteMetrics(w, page)
	return err
}

// registry holds the fleet's figures. Of a host that is not known any more it says only that, and since when.
func (s *Server) registry(ctx context.Context) (*prometheus.Registry, error) {
	now := s.Now()
	f, err := s.fleet.get(ctx, s, now)
	if err != nil {
		return nil, err
	}
	page := prometheus.NewRegistry()
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		page.MustRegister(v)
		return v
	}
	all := gauge("hostlab_fleet_hosts", "Hosts, by whether they sent a document lately.", "state")
	documents := gauge("hostlab_fleet_documents", "Documents that the store has received.")
	left := gauge("hostlab_fleet_hosts_left_out", "Hosts without series of their own, since there are too many.")
	known := gauge("hostlab_host_known", "1 if the host sent a document lately; 0: its state is unknown.", "host")
	last := gauge("hostlab_host_last_document_timestamp_seconds", "When the host wrote its newest document.", "host")
	findings := gauge("hostlab_host_findings", "Findings of checks on a known host, by severity.", "host", "severity")
	drift := gauge("hostlab_host_drift", "Facts and checks of a known host that changed in the last 7 days.", "host")
	saves := gauge("hostlab_host_lever_saves_seconds_per_day",
		"Active time of the service that a worthwhile lever may save.", "host", "lever")
	states := map[bool]float64{}
	for i, h := range f.hosts {
		stale := h.Stale(now, s.Stale)
		states[stale]++
		if i >= mostSeries {
			continue
		}
		last.WithLabelValues(h.Name).Set(float64(h.Last.UnixMilli()) / 1000)
		known.WithLabelValues(h.Name).Set(map[bool]float64{false: 1}[stale])
		if stale {
			continue
		}
		drift.WithLabelValues(h.Name).Set(float64(f.drift(h.Name, now.Add(-week))))
		count := h.BySeverity()
		for _, severity := range check.Severities {
			findings.WithLabelValues(h.Name, severity).Set(float64(count[severity]))
		}
		sum := map[string]float64{}
		for _, l := range h.Levers {
			if l.Verdict != lever.Worthwhile || l.SecondsPerDay == nil {
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
				saves.WithLabelValues(h.Name, label).Set(v)
			}
		}
	}
	all.WithLabelValues("known").Set(states[false])
	all.WithLabelValues("unknown").Set(states[true])
	documents.WithLabelValues().Set(float64(f.documents))
	left.WithLabelValues().Set(float64(max(0, len(f.hosts)-mostSeries)))
	return page, nil
}
