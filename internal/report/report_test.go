package report_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"compress/gzip"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/report"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
)

var samples = map[string]func() *report.Assessment{
	"guest":   Guest,
	"service": Service,
	"big":     Big,
	"hostile": Hostile,
	"empty":   func() *report.Assessment { return &report.Assessment{Role: check.Development} },
}

func render(t *testing.T, a *report.Assessment) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, document.WriteHTML(&b, a.Document()))
	return b.String()
}

// command is a line that stays whole.
var command = regexp.MustCompile(`^  (hostlab|echo|sudo|modprobe|chrt|systemctl|taskset) |<script>alert`)

func TestTerminalFits(t *testing.T) {
	for name, make := range samples {
		for _, width := range []int{0, 40, 60, 80, 132} {
			for _, color := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, width, color), func(t *testing.T) {
					var b bytes.Buffer
					testkit.OK(t, document.WriteText(&b, make().Document(), document.TextOptions{Width: width, Color: color}))
					text := b.String()
					if color {
						if name != "empty" && !strings.Contains(text, "\x1b[1m") {
							t.Error("no colour")
						}
						text = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(text, "")
					}
					testkit.Fits(t, text, cmp.Or(width, 80), command.MatchString)
				})
			}
		}
	}
}

// A job pays for the mean and for the tail; the median says what is typical. What changed
// between stretches is said where it did, and only there.
func TestCommitsInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Assessment)
		drift  bool
	}{
		"drifted": {func(*report.Assessment) {}, true},
		"steady": {func(a *report.Assessment) {
			for i := range a.Probes {
				a.Probes[i].Labels.Drift = false
			}
		}, false},
	} {
		a := Guest()
		c.change(a)
		var text bytes.Buffer
		testkit.OK(t, document.WriteText(&text, a.Document(), document.TextOptions{Width: 100}))
		_, measured, _ := strings.Cut(text.String(), "Durable 4 KiB appends")
		at := func(s string) int { return strings.Index(measured, s) }
		if mean, p99, p50 := at("overwritten.mean of a commit"), at("overwritten.p99 of a commit"),
			at("overwritten.p50 of a commit"); mean < 0 || p99 < mean || p50 < p99 {
			t.Errorf("%s: mean at %d, p99 at %d, median at %d in %s", name, mean, p99, p50, measured)
		}
		testkit.Is(t, c.drift, at("mean commit in the last third") >= 0, name, "drift in the text")
	}
	for _, l := range Guest().Levers {
		if m := l.Measurement(); l.Name == lever.Log && (m == nil || m.Name != "commit.overwritten.mean" ||
			!strings.Contains(fmt.Sprint(l.Evidence), "at first and")) {
			t.Errorf("the lever rests on %+v and says %v", m, l.Evidence)
		}
	}
}

// The page holds everything itself.
func TestHTMLIsSelfContained(t *testing.T) {
	for name, make := range samples {
		t.Run(name, func(t *testing.T) { testkit.SelfContained(t, render(t, make()), 1_500_000) })
	}
}

// The data in the page is the document that --format json writes.
func TestHTMLData(t *testing.T) {
	for name, make := range samples {
		t.Run(name, func(t *testing.T) {
			m := testkit.DataElement.FindStringSubmatch(render(t, make()))
			if m == nil {
				t.Fatal("no data")
			}
			got, want := object(t, []byte(m[1])), object(t, writeJSON(t, make()))
			if packed, ok := got["gzip"].(string); ok {
				z := testkit.Must(gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed))))(t)
				got = nil
				testkit.OK(t, json.NewDecoder(z).Decode(&got))
			}
			testkit.Same(t, want, got)
		})
	}
}

func writeJSON(t *testing.T, a *report.Assessment) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, document.WriteJSON(&b, a.Document().Data))
	return b.Bytes()
}

func object(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var out map[string]any
	testkit.OK(t, json.Unmarshal(b, &out))
	return out
}

// Pictures appear where there is data and only there, each with a name and a
// description for those who do not see it.
func TestPictures(t *testing.T) {
	heads := func(page string) []string {
		var out []string
		for _, m := range regexp.MustCompile(`<svg [^>]*role="img" aria-labelledby="(\w+)-t (\w+)-d"[^>]*><title id="(\w+)-t">([^<]+)</title><desc id="(\w+)-d">([^<]+)</desc>`).FindAllStringSubmatch(page, -1) {
			if m[1] != m[2] || m[2] != m[3] || m[3] != m[5] {
				t.Errorf("ids differ in %s", m[0])
			}
			out = append(out, m[1])
		}
		testkit.Is(t, len(out), strings.Count(page, "<svg"), "pictures", "with a name and a description")
		return out
	}
	for name, want := range map[string][]string{"guest": {"wakeup", "latency", "speedup", "topology"},
		"big": {"wakeup", "latency", "speedup", "frequency", "topology"}, "empty": nil} {
		testkit.Same(t, want, heads(render(t, samples[name]())), name)
	}
	for _, cpu := range []int{0, 255, 256, 511} {
		if want := fmt.Sprintf("<title>CPU %d, socket", cpu); !strings.Contains(render(t, Big()), want) {
			t.Errorf("the map lacks CPU %d", cpu)
		}
	}
}

// The axis of busy CPUs ends at their number, and a page's title names service, version and host.
func TestAxisOfCPUs(t *testing.T) {
	for _, cpus := range []int{2, 4, 64} {
		a := Service()
		a.Minute.Host.CPUs = cpus
		page := render(t, a)
		_, svg, _ := strings.Cut(page, `<title id="busy-t">`)
		svg, _, _ = strings.Cut(svg, "</svg>")
		texts := regexp.MustCompile(`class="tick">([\d.]+)</text>`).FindAllStringSubmatch(svg, -1)
		most := 0.0
		for _, m := range texts {
			v := testkit.Must(strconv.ParseFloat(m[1], 64))(t)
			if strings.Contains(svg, `text-anchor="end" class="tick">`+m[1]+"<") { // of the axis at the left
				most = max(most, v)
			}
		}
		if most > float64(cpus) || most < 0.9*float64(cpus) {
			t.Errorf("%d CPUs: the highest tick is %v", cpus, most)
		}
		want := "<title>PostgreSQL 15.18 on db01.example.com, 2026-11-21 09:30 UTC · hostlab assessment</title>"
		testkit.Has(t, page, want)
	}
}

// No coordinate may be infinite or NaN, whatever was measured.
func TestPicturesOfOddNumbers(t *testing.T) {
	for _, v := range []float64{0, -1, 1e-300, 1e300, math.NaN(), math.Inf(1)} {
		a := Guest()
		for i := range a.Probes {
			if e := a.Probes[i].Estimate; e != nil {
				a.Probes[i].Estimate = new(*e)
				a.Probes[i].Estimate.Value, a.Probes[i].Estimate.Low, a.Probes[i].Estimate.High = v, v, v
			}
		}
		for i := range a.Runs {
			for j := range a.Runs[i].Distributions {
				d := &a.Runs[i].Distributions[j]
				d.Count = make([]int, len(d.Edge))
			}
		}
		page := testkit.DataElement.ReplaceAllString(render(t, a), "")
		for _, m := range regexp.MustCompile(`\b(?:d|x|y|cx|cy|width|height|x1|y1)="([^"]*)"`).FindAllStringSubmatch(page,
			-1) {
			if strings.Contains(m[1], "NaN") || strings.Contains(m[1], "Inf") {
				t.Fatalf("value %v gives %s", v, m[0])
			}
		}
	}
}

// Every number of a probe stands in the page with its interval and n.
func TestMeasurementsAreComplete(t *testing.T) {
	a := Guest()
	page := html.UnescapeString(render(t, a))
	for _, m := range a.Probes {
		testkit.Has(t, page, ">"+m.Name+"<", m.Name)
		if !m.Known() || !m.Estimate.HasInterval() {
			continue
		}
		if n := fmt.Sprintf(">%d", m.Estimate.N); !strings.Contains(page, n+"<") && !strings.Contains(page, n+" of ") {
			t.Errorf("%s lacks its n", m.Name)
		}
	}
	for _, f := range a.Results {
		testkit.Has(t, page, f.ID)
	}
	for _, l := range a.Levers {
		for _, e := range l.Evidence {
			if e.Bound != nil && (e.Bound.AtMost != nil || e.Text == "") && !strings.Contains(page, e.Bound.Why) {
				t.Errorf("%s: the bound's reason is not in the page", l.Name)
			}
		}
	}
}

// docs/schema/assess.schema.json describes what WriteJSON writes.
func TestSchema(t *testing.T) {
	for name, make := range samples {
		conform.To(t, "assess.schema.json", writeJSON(t, make()), name)
	}
}

// A reader gets from a finding to the measurement that decides on it, and back; no link leads nowhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`<a href="#([^"]*)">`)
	for name, make := range samples {
		page := render(t, make())
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			testkit.Is(t, 1, strings.Count(page, ` id="`+m[1]+`"`), name, "places for #", m[1])
		}
	}
	page := render(t, Guest())
	part := func(id string) string {
		_, rest, _ := strings.Cut(page, ` id="`+id+`"`)
		end := regexp.MustCompile(`</tr>|</section>`).FindStringIndex(rest)
		if end == nil {
			t.Fatalf("no place %s in the page", id)
		}
		return rest[:end[0]]
	}
	linked := 0
	for _, l := range Guest().Levers {
		if l.Measurement() == nil {
			continue
		}
		to := `href="#` + l.Measurement().Name + `"`
		if !strings.Contains(part("lever-"+l.Name), to) {
			t.Errorf("the row of %s does not lead to %s", l.Name, l.Measurement().Name)
		}
		for _, id := range l.Findings() {
			linked++
			if !strings.Contains(part(id), to) || !strings.Contains(part(l.Measurement().Name), `href="#`+id+`"`) {
				t.Errorf("%s and %s do not lead to each other", id, l.Measurement().Name)
			}
		}
	}
	if linked == 0 {
		t.Error("no finding with a measurement was tried")
	}
}
