package observe

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/sorting"
)

// Prometheus' text format (prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4). Its own library decodes
// into protocol buffers, which weigh 2 MB in the binary; of a page, one histogram is wanted.

// series is one of a histogram: its values by bucket, and their sum.
type series struct {
	bounds, counts []float64
	sum, count     float64
}

// readHistogram finds a histogram on a page. It reads the whole page, which has to be of the format.
func readHistogram(r io.Reader, name string) ([]*series, error) {
	kind, all, order := "", map[string]*series{}, []string{}
	of := func(labels []label) *series {
		key := ""
		for _, l := range labels {
			key += l.name + "\x00" + l.value + "\x00"
		}
		if all[key] == nil {
			all[key] = &series{}
			order = append(order, key)
		}
		return all[key]
	}
	seen := false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.Trim(lines.Text(), " \t\r")
		if comment, ok := strings.CutPrefix(line, "#"); ok || line == "" {
			if f := strings.Fields(comment); len(f) == 3 && f[0] == "TYPE" && f[1] == name {
				kind = strings.ToLower(f[2])
			}
			continue
		}
		metric, labels, value, err := sample(line)
		if err != nil {
			return nil, fmt.Errorf("not Prometheus' text format: line %d: %w", n, err)
		}
		part, ok := strings.CutPrefix(metric, name)
		switch {
		case !ok:
		case part == "":
			seen = true
		case part == "_bucket":
			at := slices.IndexFunc(labels, func(l label) bool { return l.name == "le" })
			if at < 0 {
				return nil, fmt.Errorf("not Prometheus' text format: line %d: a bucket without a bound", n)
			}
			bound, err := strconv.ParseFloat(labels[at].value, 64)
			if err != nil {
				return nil, fmt.Errorf("not Prometheus' text format: line %d: a bucket's bound is no number", n)
			}
			s := of(slices.Delete(labels, at, at+1))
			s.bounds, s.counts = append(s.bounds, bound), append(s.counts, value)
		case part == "_sum":
			of(labels).sum = value
		case part == "_count":
			of(labels).count = value
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, errors.New("not Prometheus' text format: a line is longer than 1 MiB")
	case err != nil:
		return nil, err
	case kind == "" && !seen && len(order) == 0:
		return nil, fmt.Errorf("there is no metric %s", name)
	case kind != "histogram":
		return nil, fmt.Errorf("%s: it is a %s, not a histogram", name, cmp.Or(kind, "metric without a type"))
	}
	out := make([]*series, len(order))
	for i, key := range order {
		out[i] = all[key]
		if s := out[i]; len(s.bounds) == 0 || !math.IsInf(s.bounds[len(s.bounds)-1], 1) {
			s.bounds, s.counts = append(s.bounds, math.Inf(1)), append(s.counts, s.count)
		}
	}
	return out, nil
}

type label struct{ name, value string }

// sample reads a line: a name, labels in braces, a value, a time. Their order is the page's to choose, so labels are sorted.
func sample(line string) (metric string, labels []label, value float64, err error) {
	rest := line
	if i := strings.IndexAny(rest, "{ \t"); i >= 0 {
		metric, rest = rest[:i], strings.TrimLeft(rest[i:], " \t")
	}
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		if metric, labels, rest, err = braces(metric, inner); err != nil {
			return "", nil, 0, err
		}
	}
	f := strings.Fields(rest)
	if metric == "" || strings.ContainsAny(metric, `<>"=,}`) || len(f) < 1 || len(f) > 2 {
		return "", nil, 0, errors.New("no name and value")
	}
	if value, err = strconv.ParseFloat(f[0], 64); err != nil {
		return "", nil, 0, errors.New("its value is no number")
	}
	sorting.Stable(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	return metric, labels, value, nil
}

var errBraces = errors.New("its labels do not end")

// braces reads labels up to the closing brace. A name in quotes and without a value is the metric's.
func braces(metric, s string) (string, []label, string, error) {
	var labels []label
	for {
		s = strings.TrimLeft(s, " \t,")
		if rest, ok := strings.CutPrefix(s, "}"); ok {
			return metric, labels, rest, nil
		}
		var name string
		var err error
		if strings.HasPrefix(s, `"`) {
			if name, s, err = quoted(s); err != nil {
				return "", nil, "", err
			}
		} else {
			i := strings.IndexAny(s, "= \t}")
			if i <= 0 {
				return "", nil, "", errBraces
			}
			name, s = s[:i], s[i:]
		}
		s = strings.TrimLeft(s, " \t")
		if rest, ok := strings.CutPrefix(s, "="); ok {
			l := label{name: name}
			if l.value, s, err = quoted(strings.TrimLeft(rest, " \t")); err != nil {
				return "", nil, "", err
			}
			labels = append(labels, l)
		} else if metric == "" {
			metric = name
		} else {
			return "", nil, "", errors.New("a label without a value")
		}
	}
}

// quoted reads a text in quotes, in which a backslash stands before itself, a quote and an n.
func quoted(s string) (text, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", errors.New("a label's value without quotes")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errBraces
}
