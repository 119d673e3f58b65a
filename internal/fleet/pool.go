package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"hostlab/internal/document"
	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Ran is an effect that a host's experiment has measured.
type Ran struct {
	Host    string
	Stratum string
	Hash    string // SHA-256 of the document
	Effect
}

// Pooled is what one study says of one response over hosts of one kind of hardware. A ratio's effects are fractions of
// the baseline.
type Pooled struct {
	Study     string    `json:"study"`
	StudyHash string    `json:"study_sha256"`
	Stratum   string    `json:"stratum"` // "": not known
	Contrast  string    `json:"contrast"`
	Response  string    `json:"response"`
	Compare   string    `json:"compare"`
	Unit      string    `json:"value_unit"`
	Better    string    `json:"better"`
	Hosts     []HostRan `json:"hosts"`
	Void      []HostRan `json:"void"` // that do not count, and why
	K         int       `json:"k"`    // hosts that count
	Mean      *float64  `json:"mean"` // over hosts like these; null below three
	Low       *float64  `json:"low"`  // of its 95 % interval
	High      *float64  `json:"high"`
	Tau       *float64  `json:"tau"`    // standard deviation between hosts; of a ratio, of the logarithm
	Share     *float64  `json:"i2"`     // of the scatter that differences between hosts make
	P         *float64  `json:"p_same"` // how likely the scatter is without such differences
	NextLow   *float64  `json:"next_low"`
	NextHigh  *float64  `json:"next_high"` // 95 % interval for the effect on the next host
	Margin    float64   `json:"margin"`
	Noise     float64   `json:"noise_floor"` // the largest of the hosts
	Verdict   string    `json:"verdict" jsonschema:"enum=worthwhile,enum=harmful,enum=no_effect,enum=undecided,enum=too_few"`
}

// HostRan is one host's part.
type HostRan struct {
	Host    string   `json:"host"`
	Effect  *float64 `json:"effect"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	N       int      `json:"n"`
	Hash    string   `json:"sha256"`
	Why     string   `json:"why,omitempty"` // of one that does not count
	log, se float64
}

// Few hosts bound a mean, but not the next host well.
const (
	leastPool = 3
	fewHosts  = 5
)

// PoolStudies joins the effects of experiments by study, hardware, contrast and response. Of several experiments of a
// host, the last in the list counts.
func PoolStudies(list []Ran) []*Pooled {
	type key struct{ study, stratum, contrast, response string }
	by := map[key]*Pooled{}
	var out []*Pooled
	for _, r := range list {
		k := key{r.StudyHash, r.Stratum, r.Contrast, r.Response}
		p := by[k]
		if p == nil {
			p = &Pooled{Study: r.Study, StudyHash: r.StudyHash, Stratum: r.Stratum, Contrast: r.Contrast, Response: r.Response,
				Compare: r.Compare, Unit: r.Unit, Better: r.Better, Hosts: []HostRan{}, Void: []HostRan{}}
			by[k] = p
			out = append(out, p)
		}
		p.take(r)
	}
	for _, p := range out {
		p.decide()
	}
	slices.SortStableFunc(out, func(a, b *Pooled) int {
		return cmp.Or(b.K-a.K, strings.Compare(a.Stratum, b.Stratum), strings.Compare(a.Contrast, b.Contrast),
			strings.Compare(a.Response, b.Response))
	})
	return out
}

func (p *Pooled) take(r Ran) {
	h := HostRan{Host: r.Host, Effect: r.Value, Low: r.Low, High: r.High, N: r.N, Hash: r.Hash}
	drop := func(list []HostRan) []HostRan {
		return slices.DeleteFunc(list, func(o HostRan) bool { return o.Host == r.Host })
	}
	p.Hosts, p.Void = drop(p.Hosts), drop(p.Void)
	if h.Why = p.scale(&h, r.Alpha); h.Why != "" {
		p.Void = append(p.Void, h)
		return
	}
	p.Hosts = append(p.Hosts, h)
	if r.Margin != nil {
		p.Margin = max(p.Margin, *r.Margin)
	}
	if r.Noise != nil {
		p.Noise = max(p.Noise, *r.Noise)
	}
}

// scale takes an effect to the scale of pooling, with the standard error that its interval stands for. It says why it
// cannot.
func (p *Pooled) scale(h *HostRan, alpha *float64) string {
	if h.Effect == nil || h.Low == nil || h.High == nil || alpha == nil || h.N < 2 {
		return "its interval is not known"
	}
	to := func(v float64) float64 { return v }
	if p.Compare == string(result.Ratio) {
		to = math.Log1p
	}
	low, high := to(*h.Low), to(*h.High)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(h.N - 1)}.Quantile(1 - *alpha/2)
	h.log, h.se = to(*h.Effect), (high-low)/2/t
	if !(h.se > 0) || math.IsInf(h.se, 0) || math.IsNaN(h.log) {
		return "its interval is not known"
	}
	return ""
}

// decide pools from three hosts on. Only the interval for the next host says what to expect on hosts like these.
func (p *Pooled) decide() {
	p.K, p.Verdict = len(p.Hosts), "too_few"
	if p.K < leastPool {
		return
	}
	var effects, variances []float64
	for _, h := range p.Hosts {
		effects, variances = append(effects, h.log), append(variances, h.se*h.se)
	}
	s, err := stats.Pool(effects, variances, 0.05)
	if err != nil {
		return
	}
	from := func(v float64) *float64 {
		if p.Compare == string(result.Ratio) {
			v = math.Expm1(v)
		}
		return &v
	}
	p.Mean, p.Low, p.High, p.NextLow, p.NextHigh = from(s.Mean), from(s.Low), from(s.High), from(s.NextLow),
		from(s.NextHigh)
	p.Tau, p.Share, p.P = &s.Tau, &s.Share, &s.P
	beyond := max(p.Margin, p.Noise)
	less, more := *p.NextHigh < -beyond, *p.NextLow > beyond
	good := less && p.Better == "lower" || more && p.Better == "higher"
	switch {
	case good:
		p.Verdict = "worthwhile"
	case less || more:
		p.Verdict = "harmful"
	case *p.NextLow > -p.Margin && *p.NextHigh < p.Margin:
		p.Verdict = "no_effect"
	default:
		p.Verdict = "undecided"
	}
}

// PoolDocument reports studies that were pooled.
func PoolDocument(study string, list []*Pooled) *document.Document {
	d := &document.Document{Name: "fleet", Title: "Study " + study}
	for i, p := range list {
		d.Answer = append(d.Answer, document.Line{Text: p.sentence()})
		t := &document.Table{Columns: document.Headings("host", "effect", "n", "document")}
		if t.Columns[1].Unit = p.Unit; p.Compare == string(result.Ratio) {
			t.Columns[1].Unit = "ratio"
		}
		for _, h := range p.Hosts {
			t.Row(h.Host, document.Number(*h.Effect, p.interval(h.Effect, h.Low, h.High)), h.N, h.Hash[:min(12, len(h.Hash))])
		}
		if p.Mean != nil {
			t.Row("mean", document.Number(*p.Mean, p.interval(p.Mean, p.Low, p.High)), document.Number(float64(p.K),
				screen.Count(p.K, "host")), "")
			t.Row("next host", p.interval(nil, p.NextLow, p.NextHigh), "", "")
			t.Lead = fmt.Sprintf("Between hosts: standard deviation %s (%.0f %% of the scatter). 95 %% intervals.",
				strings.TrimPrefix(p.show(p.Tau), "+"), 100**p.Share)
		}
		title := p.Contrast + ", " + p.Response
		if p.Stratum != "" {
			title += ", on " + p.Stratum
		}
		blocks := []document.Block{t}
		if p.Mean != nil {
			blocks = append(blocks, p.forest(i))
		}
		if len(p.Void) > 0 {
			v := &document.Table{Columns: document.Headings("does not count", "why")}
			for _, h := range p.Void {
				v.Row(h.Host, h.Why)
			}
			blocks = append(blocks, v)
		}
		d.Sections = append(d.Sections, document.Titled(title, blocks...))
		if i > 0 && list[i].StudyHash != list[0].StudyHash && len(d.Warnings) == 0 {
			d.Warnings = []string{"Several versions of this study were run; each is pooled by itself."}
		}
	}
	d.Data = PoolReport{HeadOf("pool"), study, list}
	return d
}

// drawn are the hosts for which a picture has room; the table has all.
const drawn = 20

// forest draws the hosts' effects, their mean and what to expect of the next host.
func (p *Pooled) forest(number int) document.Block {
	const title = "Effect on each host, and on the next"
	var bars []picture.Bar
	seen := []float64{-p.Margin, p.Margin}
	add := func(name, below string, value, low, high *float64, series int) {
		seen = append(seen, *low, *high)
		bars = append(bars, picture.Bar{Name: name, Below: below, Said: name + ": " + below, Value: *value, Low: *low,
			High: *high, Band: p.Margin, BandSaid: "practical margin " + p.show(&p.Margin), Floor: math.NaN(), Series: series})
	}
	for _, h := range p.Hosts[:min(len(p.Hosts), drawn)] {
		add(h.Host, p.interval(h.Effect, h.Low, h.High), h.Effect, h.Low, h.High, 0)
	}
	add("mean", p.interval(p.Mean, p.Low, p.High), p.Mean, p.Low, p.High, 1)
	add("next host", p.interval(nil, p.NextLow, p.NextHigh), p.Mean, p.NextLow, p.NextHigh, 1)
	axis, unit := p.Response, picture.Gain
	if p.Compare != string(result.Ratio) {
		unit = p.Unit
	}
	if len(p.Hosts) > drawn {
		axis += fmt.Sprintf("; the first %d of %d hosts", drawn, len(p.Hosts))
	}
	return document.Figure{Figure: picture.Figure{Title: title,
		SVG: picture.Bars(fmt.Sprintf("pool%d", number), title, picture.Around("effect on "+axis, unit, seen...), 0, bars),
		Note: "Bars are 95 % intervals, the grey band is the practical margin. Squares join all hosts. The change is " +
			"worthwhile on hosts like these where the whole bar of the next host is outside the band."}}
}

func (p *Pooled) sentence() string {
	of := p.Contrast + ", " + p.Response + ": "
	if p.Mean == nil {
		return of + fmt.Sprintf("%s; a mean needs %d.", screen.Count(p.K, "host"), leastPool)
	}
	words := map[string]string{"worthwhile": "worthwhile on hosts like these",
		"harmful": "it makes hosts like these slower", "no_effect": "no practical effect on hosts like these",
		"undecided": "not decided for the next host"}
	few := ""
	if p.K < fewHosts {
		few = ": few hosts"
	}
	return of + fmt.Sprintf("%s. Mean %s, next host %s, n %d%s.", words[p.Verdict], p.interval(p.Mean, p.Low, p.High),
		p.interval(nil, p.NextLow, p.NextHigh), p.K, few) + " " + p.differ()
}

// differ says on how many hosts like these the effect may be beyond the margin: few hosts cannot show that there is
// none.
func (p *Pooled) differ() string {
	beyond := 0
	for _, h := range p.Hosts {
		if math.Abs(*h.Effect) > max(p.Margin, p.Noise) {
			beyond++
		}
	}
	_, most := stats.Share(beyond, p.K, 0.05)
	return fmt.Sprintf("It is beyond the margin on %d of %d hosts, so perhaps on up to %.0f %% of hosts like these.", beyond,
		p.K, 100*most)
}

// interval prints a value with its interval, or an interval alone.
func (p *Pooled) interval(value, low, high *float64) string {
	out := ""
	if value != nil {
		out = p.show(value) + " "
	}
	if low == nil || high == nil {
		return out
	}
	return out + "[" + p.show(low) + ", " + p.show(high) + "]"
}

func (p *Pooled) show(v *float64) string {
	if p.Compare == string(result.Ratio) {
		return fmt.Sprintf("%+.1f %%", 100**v)
	}
	return result.Format(*v, p.Unit)
}

// PoolReport is what fleet pool says to programs.
type PoolReport struct {
	document.Head
	Study string    `json:"study"`
	Pools []*Pooled `json:"pools"`
}
