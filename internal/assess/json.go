package assess

import (
	"cmp"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/service"
)

// About is the service in JSON.
type About struct {
	Kind         service.Kind `json:"kind"`
	Name         string       `json:"name"`
	Version      string       `json:"version"` // "": not known
	PID          int          `json:"pid"`     // 0: none on this host
	Transactions *float64     `json:"transactions_per_s"`
	Connected    bool         `json:"connected"` // its sessions were seen
	Why          string       `json:"why"`       // why it was chosen, or why its sessions were not seen
	Ended        string       `json:"ended"`     // why watching ended early
}

// Answer is a verdict in JSON, in at most three sentences.
type Answer struct {
	Text string `json:"text"`
	// First is the setting of the server, or the lever, that it puts first; "": none.
	First string `json:"first,omitempty"`
}

// Time is the account of the minute in JSON. Times are in s.
type Time struct {
	Wall    float64  `json:"wall"`             // that was watched
	Active  float64  `json:"active"`           // of all sessions, or threads, together
	Untold  float64  `json:"untold,omitempty"` // of Active, which may not be: no session shows its state
	Parts   []Part   `json:"parts"`
	Seconds []Second `json:"seconds"`
	Host    Host     `json:"host"`
	Traffic *Traffic `json:"traffic,omitempty"`
}

// Part is one of Time.
type Part struct {
	Name     explain.PartName `json:"name"`
	Share    float64          `json:"share"`         // of Active
	Interval *[2]float64      `json:"interval"`      // 95 %; null: counted
	Each     float64          `json:"seconds_per_s"` // of all sessions together
	Source   string           `json:"source"`
	Ends     []Ended          `json:"ends"` // what its waits ended with; null: nobody followed them
}

// About describes the service that was watched.
func (m *Minute) About() *About {
	a := &About{Kind: m.Service.Kind, Name: m.name(), Version: m.Version, PID: m.Service.PID, Connected: m.Connected,
		Why:   m.Why,
		Ended: m.Ended}
	a.Why = cmp.Or(a.Why, m.Service.Why)
	if n := m.Report.Transactions; n >= 0 && m.Connected && m.Report.Wall > 0 {
		a.Transactions = result.Finite(float64(n) / m.Report.Wall)
	}
	return a
}

// Time is where its time went.
func (m *Minute) Time() *Time {
	t := &Time{Wall: m.Report.Wall, Active: m.Report.Busy, Untold: m.Report.Untold, Parts: m.Parts(),
		Seconds: m.seconds(), Host: m.Host, Traffic: m.Traffic}
	for i := range t.Parts {
		t.Parts[i].Ends = m.ends(t.Parts[i].Name)
	}
	return t
}

// Parts are those of its active time of which something is known.
func (m *Minute) Parts() []Part {
	out := []Part{}
	for _, name := range explain.PartNames {
		p := m.Report.Part(name)
		if name == explain.Idle || p.Source == "" {
			continue
		}
		e := m.share(name)
		part := Part{Name: name, Share: e.Value, Each: p.Seconds / max(m.Report.Wall, 1e-9), Source: p.Source}
		if e.High-e.Low > 1e-9 {
			part.Interval = &[2]float64{e.Low, e.High}
		}
		out = append(out, part)
	}
	return out
}
