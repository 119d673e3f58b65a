package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hostlab/internal/explain/connect"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// page is where an application shows its metrics.
type page struct {
	at     string
	name   string // of the histogram
	client *http.Client
}

const (
	largestPage  = 64 << 20
	pagePatience = 5 * time.Second
)

// newPage reads the address of a page; nil: why it cannot be used, and what to do.
func newPage(at, name string, plain bool) (p *page, why, hint string) {
	if !strings.Contains(at, "://") {
		at = "https://" + at
	}
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, "is not an address that can be read", "write it as https://HOST:PORT/metrics"
	case u.User != nil:
		return nil, "has a user or a password, which would stand in records", "leave it out"
	case u.Scheme == "http" && !plain && !connect.Loopback(u.Hostname()):
		return nil, "leads to another host without TLS", "write https://, or plain_http = true if you trust the network"
	case name == "" || !utf8.ValidString(name):
		return nil, "has no metric of such a name: " + screen.Short(name), "name the histogram as the page does"
	}
	return &page{at: at, name: name, client: &http.Client{
		Timeout:   pagePatience,
		Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute},
		// A redirection may lead to where nobody asked for.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, "", ""
}

func (p *page) close() { p.client.CloseIdleConnections() }

// read reads the histogram as it is now, all its series together.
func (p *page) read(ctx context.Context) (*histogram, error) {
	list, err := p.series(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.at, err)
	}
	h, err := merge(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.at, p.name, err)
	}
	return h, nil
}

func (p *page) series(ctx context.Context) ([]*series, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at, nil)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Accept", "text/plain;version=0.0.4")
	answer, err := p.client.Do(ask)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			if err = u.Err; u.Timeout() {
				err = fmt.Errorf("no answer within %v", pagePatience)
			}
		}
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", screen.Clean(answer.Status))
	}
	return readHistogram(trust.Reader(answer.Body, largestPage), p.name)
}

// histogram counts what took no longer than each of its bounds.
type histogram struct {
	bounds []float64 // s, ascending; the last is infinite
	counts []float64 // up to each
	sum    float64   // s
}

func (h *histogram) count() float64 { return h.counts[len(h.counts)-1] }

// merge adds up the series of a histogram.
func merge(list []*series) (*histogram, error) {
	var all *histogram
	for _, in := range list {
		one := &histogram{bounds: in.bounds, counts: in.counts, sum: in.sum}
		switch {
		case !slices.IsSorted(one.bounds) || !slices.IsSorted(one.counts):
			return nil, errors.New("its buckets are not in order")
		case all == nil:
			all = one
			continue
		case !slices.Equal(all.bounds, one.bounds):
			return nil, errors.New("its series have different buckets, and cannot be added up")
		}
		for i, n := range one.counts {
			all.counts[i] += n
		}
		all.sum += one.sum
	}
	if all == nil {
		return nil, errors.New("it has no series yet")
	}
	return all, nil
}

// since is what came after an earlier one.
func (h *histogram) since(before *histogram) (*histogram, error) {
	if !slices.Equal(h.bounds, before.bounds) {
		return nil, errors.New("the histogram's buckets changed")
	}
	out := &histogram{bounds: h.bounds, sum: h.sum - before.sum}
	for i, n := range h.counts {
		out.counts = append(out.counts, n-before.counts[i])
	}
	if slices.Min(out.counts) < 0 || !slices.IsSorted(out.counts) {
		return nil, errors.New(
			"the histogram counts fewer requests than before: the application restarted, or someone reset it")
	}
	return out, nil
}

// quantile is found as Prometheus does, evenly within a bucket.
func (h *histogram) quantile(q float64) amount {
	rank := q * h.count()
	i := 0
	for h.counts[i] < rank {
		i++
	}
	if last := len(h.bounds) - 1; i == last {
		if last == 0 {
			return unknown("the histogram has no bucket")
		}
		return unknown("it lies beyond the histogram's largest bucket, %s", result.Format(h.bounds[last-1], "s"))
	}
	from, below := 0.0, 0.0
	if i > 0 {
		from, below = h.bounds[i-1], h.counts[i-1]
	}
	if n := h.counts[i] - below; n > 0 {
		return amount{is: from + (h.bounds[i]-from)*(rank-below)/n}
	}
	return amount{is: from}
}

// quantiles are those of the requests in it, which ended within wall s.
func (h *histogram) quantiles(wall float64) (p50, p99, mean amount) {
	if h.count() == 0 {
		no := unknown("the application counted no request in %s", result.Format(wall, "s"))
		return no, no, no
	}
	return h.quantile(0.5), h.quantile(0.99), amount{is: h.sum / h.count()}
}
