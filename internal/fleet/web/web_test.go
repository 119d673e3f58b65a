package web

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/demo"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/fleet/store"
	"hostlab/internal/testkit"
)

// now is when pages are looked at.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// evil is text that a host may say of itself.
const evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>=cmd|x\x1b[31m\u202e"

// all is a directory for what several tests use.
var all string

func TestMain(m *testing.M) {
	var err error
	if all, err = os.MkdirTemp("", "hostlab-web-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// made is a fleet in a store: that of demo, a host whose every text is evil, one that was silent for nine days and one
// that says it in a later document.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(all, "fleet-")
	if err != nil {
		return "", err
	}
	m := demo.Maker{Hosts: 20, Seed: 1, Now: now, Version: "1.0"}
	spool := filepath.Join(dir, "spool")
	if _, err := m.Make(context.Background(), spool); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "fleet.db")
	s, err := store.Make(context.Background(), "sqlite:"+file)
	if err != nil {
		return "", err
	}
	defer s.Close()
	var docs []*fleet.Document
	err = fleet.Spool(spool, now, func(d fleet.Spooled) error { docs = append(docs, d.Document); return d.Err })
	if err != nil {
		return "", err
	}
	for _, d := range own() {
		x, err := fleet.Read(d.body, d.host, now)
		if err != nil {
			return "", err
		}
		docs = append(docs, x)
	}
	_, err = s.Put(context.Background(), docs, "test "+evil, now)
	return file, err
})

type written struct {
	host string
	body []byte
}

// change is a plan over hosts of demo, five days ago, whose texts are evil. Its first wave has it.
var change = func() *rollout.Plan {
	p := &rollout.Plan{Schema: rollout.Schema, Kind: rollout.Kind, Version: evil, Created: now.AddDate(0, 0, -5), Seed: 1,
		Set:     []string{"swappiness=10", evil},
		Measure: rollout.Measure{Name: "commit.overwritten.mean", Unit: "s", Better: "lower"},
		LeftOut: []rollout.LeftOut{{Host: evil, Check: evil, Reason: evil, Until: evil}}}
	var hosts []rollout.Candidate
	for i := range 8 {
		hosts = append(hosts, rollout.Candidate{Name: fmt.Sprintf("db%03d", i+1), Hardware: evil})
	}
	p.Strata, p.Waves = rollout.Draw(hosts, 2, p.Seed)
	p.Foresee(0.02, 3)
	return p
}()

// changeBody is its document.
var changeBody = func() []byte {
	body, err := json.Marshal(change)
	if err != nil {
		panic(err)
	}
	return body
}()

// own are the documents beside those of demo.
func own() []written {
	list := []written{{"", changeBody}, {"evil", assessment("evil", evil+"0", now.AddDate(0, 0, -2))},
		{"evil", assessment("evil", evil+"1", now.AddDate(0, 0, -1))},
		{"silent", assessment("silent", evil+"2", now.AddDate(0, 0, -9))}}
	for _, h := range change.Waves[0].Hosts {
		list = append(list, written{h, fmt.Appendf(nil,
			`{"kind": "verify", "schema": 1, "host": %q, "started": %q, "action": "verify", "outcomes": [{"setting": "swappiness", "to": "10", "read": "10", "result": "unchanged"}]}`,
			h, change.Created.Add(time.Minute).Format(time.RFC3339))})
	}
	return list
}

// assessment is a document with a text wherever there can be one.
func assessment(host, text string, at time.Time) []byte {
	fact := map[string]any{"value": text, "state": "ok"}
	body, err := json.Marshal(map[string]any{
		"kind": "assess", "schema": 4, "version": text, "started": at, "host": host, "role": "production-db",
		"warnings": []string{text},
		"facts":    map[string]any{"kernel": map[string]any{"release": fact, text: fact}},
		"results": []any{map[string]any{"id": text, "title": text, "status": "finding", "severity": "high", "detail": text,
			"remedy": text}, map[string]any{"id": "MEM-006", "title": text, "status": "finding", "severity": "high",
			"detail": text, "remedy": text}},
		"probes": []any{map[string]any{"name": text, "title": text, "value": 1.5, "low": 1.4, "high": 1.6, "n": 5,
			"unit": "s", "noise_floor": 0.1, "evidence": text}},
		"levers": []any{map[string]any{"name": text, "estimate": 0.1, "at_most": 0.2, "verdict": "worthwhile", "reason": text,
			"command": text}},
		"time": map[string]any{"wall": 10, "active": 20,
			"parts": []any{map[string]any{"name": "cpu", "share": 1, "source": text}}},
		"service": map[string]any{"name": text}, "verdict": map[string]any{"text": text},
	})
	if err != nil {
		panic(err)
	}
	return body
}

// opened is the made fleet in a copy of its own.
func opened(t *testing.T) *store.Store {
	t.Helper()
	file := testkit.Must(made())(t)
	data := testkit.Must(os.ReadFile(file))(t)
	own := filepath.Join(t.TempDir(), "fleet.db")
	testkit.OK(t, os.WriteFile(own, data, 0o600))
	s := testkit.Must(store.Make(t.Context(), "sqlite:"+own))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// serving is a server of the made fleet.
func serving(t *testing.T, c Config) *httptest.Server {
	t.Helper()
	if c.Store == nil {
		c.Store = opened(t)
	}
	if c.Now == nil {
		c.Now = func() time.Time { return now }
	}
	c.Stale, c.Version = 50*time.Hour, "test"
	if c.Outliers == nil {
		c.Outliers = apart
	}
	s := testkit.Must(New(c))(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return web
}

// apart is a comparison that finds one host.
func apart(context.Context, time.Time, time.Duration) (*document.Document, error) {
	v := 2.0
	return fleet.OutliersDocument([]fleet.Outlier{{Host: "evil", Name: evil,
		Value: fleet.Measurement{Value: &v, N: 5, Unit: "s"}, Typical: 1, Ratio: 2, Peers: 9,
		Apart: []fleet.Trait{{Path: evil, Value: evil, Others: evil, Share: 90}}}},
		[]fleet.Compared{{Name: "evil", Stratum: evil, Role: evil}}, 1), nil
}

// got is an answer.
type got struct {
	StatusCode int
	Header     http.Header
}

// get asks for a page; headers are names and values in turn.
func get(t *testing.T, url string, headers ...string) (got, string) {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	testkit.OK(t, err)
	defer resp.Body.Close()
	body := testkit.Must(io.ReadAll(resp.Body))(t)
	return got{resp.StatusCode, resp.Header}, testkit.Words(string(body))
}

// screens are all pages, with what each must say of the made fleet.
var screens = map[string][]string{
	"/": {"22 hosts", "the newest was written", `href="/checks/PWR-001"`, `href="/hosts?state=unknown"`,
		"Changed in the last 7 days", "state unknown", `href="/outliers">measure unlike`, "<small>evil</small>",
		`aria-current="page">Overview`}, "/hosts": {`href="/hosts/evil"`, "not known for 9 days", "was 2",
		`aria-sort="descending"`, `aria-current="page">Hosts`},
	"/checks":         {`href="/checks/MEM-006"`, "severity"},
	"/checks/MEM-006": {`href="/hosts/silent"`, "unknown; was finding", "Who recommends it", "Remedy"},
	"/hosts/silent":   {"silent has sent no document for 9 days. This page shows its last known state", "Remedies"},
	"/hosts/db001": {"<h2 id=\"h3\">Over time</h2>", "over-findings-t", "over-estimates-t", "over-measured0-t",
		"over-measured1-t", "over-measured2-t", "over-measured3-t"},
	"/hosts/evil": {"Where its time went, in the assessment of", "±6.7 %", "What changed", "SHA-256"},
	"/levers":     {"Where one change pays most"}, "/changes": {"One by one", "Together", `href="/hosts/evil"`},
	"/compare": {"Name two different hosts"}, "/compare?a=evil&b=evil": {"Name two different hosts"}, "/compare?a=evil&b=silent": {"silent has sent no document for",
		"What is set up differently"}, "/outliers": {`href="/hosts/evil"`, "Compared at", "Groups of equal hosts",
		"no: fewer than 8"}, "/exceptions": {"1 in force"},
	"/rollouts": {"1 roll-out is planned", "1 of 2 waves are done. Wave 2 has not begun.",
		`href="/rollouts/` + fleet.Hash(changeBody)},
	"/rollouts/" + fleet.Hash(changeBody): {"after wave", "70", "unless-harm", "stops", "n 4 and 4", `href="/documents/`},
	"/studies":                            {`href="/studies/live-idle"`},
	"/studies/live-idle":                  {"worthwhile on hosts like these", "next host", "few hosts", "<svg"},
	"/hosts?q=db":                         {"db001"}, "/hosts?state=unknown": {"silent"},
}

// exceptions accept a finding of the made fleet, with a reason that is evil.
func exceptions() []check.Exception {
	return []check.Exception{{Check: "MEM-006", Host: "db*", Reason: evil, Until: "2027-01-01"}}
}

func TestScreens(t *testing.T) {
	web := serving(t, Config{Exceptions: exceptions})
	get(t, web.URL+"/outliers") // the first page is another one before hosts are compared

	for path, says := range screens {
		resp, body := get(t, web.URL+path)
		testkit.Is(t, http.StatusOK, resp.StatusCode, path)
		for _, s := range says {
			if !strings.Contains(body, s) && !strings.Contains(strings.ReplaceAll(body, "&amp;", "&"), s) {
				t.Errorf("%s does not say %q", path, s)
			}
		}
		for _, bad := range []string{"<script>", "<img", "onerror=alert(1)>", "\x1b", "\u202e", "ZgotmplZ", " style="} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if n := len(body); n > 150_000 {
			t.Errorf("%s has %d bytes", path, n)
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		again, body := get(t, web.URL+path, "If-None-Match", resp.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s: asked again, %d", path, again.StatusCode)
		}
		both(t, web.URL+path)
	}
}

// both asks for a page as JSON, and for its tables as CSV, by header and by query.
func both(t *testing.T, url string) {
	t.Helper()
	join := "?"
	if strings.Contains(url, "?") {
		join = "&"
	}
	_, asked := get(t, url+join+"format=json")
	if resp, body := get(t, url, "Accept", "application/json"); !json.Valid([]byte(body)) || body != asked ||
		resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s as JSON: %s", url, resp.Header.Get("Content-Type"))
	}
	resp, body := get(t, url, "Accept", "text/csv")
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/csv") {
		t.Errorf("%s as CSV: %v", url, err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if strings.HasPrefix(cell, "=") || strings.ContainsAny(cell, "\x1b\u202e") {
				t.Errorf("%s: cell %q", url, cell)
			}
		}
	}
}

func TestRefusedQuestions(t *testing.T) {
	web := serving(t, Config{})
	for path, want := range map[string]int{
		"/hosts/nobody": 404, "/hosts/" + "%3Cscript%3E": 404, "/checks/NO-1": 404, "/levers/none": 404, "/nothing": 404,
		"/documents/zz":                         404,
		"/documents/" + strings.Repeat("0", 64): 404, "/compare?a=evil&b=nobody": 404, "/hosts?sort=x": 400,
		"/hosts?state=x": 400, "/hosts?format=xml": 400,
		"/hosts?format=csv&table=0": 400, "/hosts?format=csv&table=9": 404, "/changes?since=1000d": 400,
		"/changes?since=x": 400,
	} {
		resp, body := get(t, web.URL+path)
		if resp.StatusCode != want || strings.Contains(body, "goroutine") || strings.Contains(body, "<script>") {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
		if resp, body := get(t, web.URL+path, "Accept", "application/json"); resp.StatusCode != want ||
			strings.Count(body, "\n") != 1 {
			t.Errorf("%s: a program gets %d, %q", path, resp.StatusCode, body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		r := testkit.Must(http.NewRequestWithContext(t.Context(), method, web.URL+"/hosts", nil))(t)
		resp, err := http.DefaultClient.Do(r)
		testkit.OK(t, err)
		resp.Body.Close()
		testkit.Is(t, http.StatusMethodNotAllowed, resp.StatusCode, method)
	}
}

// A document's bytes come back as they came.
func TestEvidence(t *testing.T) {
	web := serving(t, Config{})
	_, body := get(t, web.URL+"/hosts/evil?format=json")
	var h hostJSON
	testkit.OK(t, json.Unmarshal([]byte(body), &h))
	if len(h.Documents) != 2 || len(h.Findings) != 2 {
		t.Fatalf("%d documents, %d findings", len(h.Documents), len(h.Findings))
	}
	_, got := get(t, web.URL+"/documents/"+h.Documents[0].Hash)
	if want := assessment("evil", evil+"1", now.AddDate(0, 0, -1)); !bytes.Equal([]byte(got), want) {
		t.Error("not the bytes that came")
	}
}

// While the store is away there is one clear page; when it is back, so are the pages.
func TestStoreAway(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	s := opened(t)
	web := serving(t, Config{Store: s})
	testkit.OK(t, s.Close())
	for path := range screens {
		resp, body := get(t, web.URL+path)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" ||
			!strings.Contains(body, "The store does not answer") || strings.Contains(body, "sql") {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
