// Package web shows a fleet's store as pages and as metrics, and takes documents from hosts that have a token. Pages
// are made on the server, change nothing and need no script. Each is also JSON, and each of its tables CSV, at the same
// address.
package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet/store"
)

// Config is what a server needs.
type Config struct {
	Store   *store.Store
	Address string        // of the store, without a password, for commands on pages; "": they name none
	Stale   time.Duration // after so long without a document a host is not known
	Version string        // of hostlab
	Tokens  func() Tokens // that are good now; nil: nobody may send documents
	// Exceptions of the fleet that hold now accept findings; nil: there are none.
	Exceptions func() []check.Exception
	// Outliers finds the hosts that measure unlike their peers; nil: the store does.
	Outliers func(ctx context.Context, now time.Time, stale time.Duration) (*document.Document, error)
	// Private pages are shown to those alone who have a token that may read.
	Private bool
	Now     func() time.Time // nil: the clock
}

// Server answers requests. Its snapshot of the store is the same for all of them.
type Server struct {
	Config
	site  *document.Site
	fleet cache
	peers kept          // hosts that measure unlike their peers
	plans answers       // of roll-outs, and their list
	room  chan struct{} // a place for each page that is made at a time
	posts chan struct{} // and for each document that is taken
	turns turns         // of tokens
	// bodies are what hosts are sending.
	bodies bodies
	reads  sync.Mutex
}

// pages are what the navigation names, in its order.
var pages = []document.Link{{Text: "Overview", URL: "/"}, {Text: "Hosts", URL: "/hosts"},
	{Text: "Checks", URL: "/checks"},
	{Text: "Levers", URL: "/levers"}, {Text: "Changes", URL: "/changes"}, {Text: "Compare", URL: "/compare"},
	{Text: "Outliers", URL: "/outliers"}, {Text: "Studies", URL: "/studies"}, {Text: "Roll-outs", URL: "/rollouts"},
	{Text: "Exceptions", URL: "/exceptions"}}

// Pages made side by side share the memory that a document of 16 MiB and a list of all hosts take.
const (
	mostPages = 8
	mostPosts = 4
	// Bytes of documents that arrive or wait, of which one token may have a quarter.
	mostBodies = 256 << 20
	patience   = 10 * time.Second // of a request, for a place and for the store
)

// New makes a server.
func New(c Config) (*Server, error) {
	site, err := document.NewSite("/", pages, nil)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Outliers == nil {
		c.Outliers = c.Store.Outliers
	}
	if c.Exceptions == nil {
		c.Exceptions = func() []check.Exception { return nil }
	}
	return &Server{Config: c, site: site, peers: kept{pause: 20}, room: make(chan struct{}, mostPages),
		posts: make(chan struct{}, mostPosts), turns: turns{by: map[string]*turn{}},
		bodies: bodies{most: mostBodies, each: mostBodies / 4, by: map[string]int64{}}}, nil
}

// Handler answers all addresses.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, p := range map[string]page{
		"/{$}": overview, "/hosts": hosts, "/hosts/{name}": host, "/checks": checks, "/checks/{id}": oneCheck,
		"/levers": levers, "/levers/{name}": oneLever, "/changes": changes, "/compare": compare,
		"/outliers": outliers, "/studies": studies, "/studies/{name}": oneStudy, "/rollouts": rollouts,
		"/rollouts/{hash}": oneRollout,
		"/exceptions":      exceptionPage,
	} {
		mux.Handle("GET "+pattern, s.reading(s.page(p)))
	}
	mux.Handle("GET /documents/{hash}", s.reading(s.body))
	mux.Handle("GET /metrics", s.reading(s.metrics))
	mux.HandleFunc("POST /v1/documents", s.take)
	for name, text := range s.site.Files() {
		mux.HandleFunc("GET "+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			w.Header().Set("Content-Type", mime.TypeByExtension(name[strings.LastIndexByte(name, '.'):]))
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		})
	}
	mux.Handle("GET /", s.reading(s.page(func(context.Context, *request) (*document.Document, error) {
		return nil, notThere("page")
	})))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "+
				"'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		mux.ServeHTTP(w, r)
	})
}

// request is what a page is made from.
type request struct {
	*http.Request
	*Server
	fleet *snapshot
	now   time.Time
	whole bool // all rows are asked for, by a program
}

// page makes a document for a request.
type page func(ctx context.Context, r *request) (*document.Document, error)

// answer is an error that the reader can do something about.
type answer struct {
	status int
	text   string
}

func (a *answer) Error() string { return a.text }

func notThere(what string) error {
	return &answer{http.StatusNotFound, "There is no such " + what + "."}
}

func unusable(format string, args ...any) error {
	return &answer{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// reading answers those alone who may read, a few at a time.
func (s *Server) reading(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Private && (s.Tokens == nil || !s.Tokens().reads(r)) {
			w.Header().Set("WWW-Authenticate",
				`Basic realm="hostlab fleet: the password is a token that may read", charset="UTF-8"`)
			s.fail(w, r, &answer{http.StatusUnauthorized,
				"These pages need a token that may read. A browser sends it as the password; the name does not matter."})
			return
		}
		if !utf8.ValidString(r.URL.Path) || strings.Contains(r.URL.Path, "\x00") { // which PostgreSQL refuses
			s.fail(w, r, notThere("page"))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		select {
		case s.room <- struct{}{}:
			defer func() { <-s.room }()
			h(w, r.WithContext(ctx))
		case <-ctx.Done():
			s.fail(w, r, &answer{http.StatusServiceUnavailable, "Too many pages are asked for at once. Try again."})
		}
	})
}

func (s *Server) page(make page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		format, err := wanted(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		q := &request{Request: r, Server: s, now: s.Now(), whole: format != "html"}
		var d *document.Document
		if q.fleet, err = s.fleet.get(r.Context(), s, q.now); err == nil {
			d, err = make(r.Context(), q)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		d.Footer = cmp.Or(d.Footer, "hostlab "+s.Version)
		if d.When.IsZero() {
			d.When = q.fleet.newest().UTC()
		}
		var out bytes.Buffer
		switch format {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			err = document.WriteJSON(&out, d.Data)
		case "csv":
			var t *document.Table
			if t, err = chosen(d, r.URL.Query().Get("table")); err == nil {
				w.Header().Set("Content-Type", "text/csv; charset=utf-8")
				err = document.WriteCSV(&out, t)
			}
		default:
			q.offer(d)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			err = s.site.WritePage(&out, d, "/"+strings.SplitN(r.URL.Path, "/", 3)[1])
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		send(w, r, out.Bytes())
	}
}

// send sends a page, or says that the reader has it already.
func send(w http.ResponseWriter, r *http.Request, text []byte) {
	sum := sha256.Sum256(text)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("Vary", "Accept, Authorization")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// wanted is the format that a request asks for: html, json or csv.
func wanted(r *http.Request) (string, error) {
	switch f := r.URL.Query().Get("format"); f {
	case "html", "json", "csv":
		return f, nil
	case "":
	default:
		return "", unusable("format takes html, json or csv.")
	}
	accept := r.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "text/html"):
	case strings.Contains(accept, "application/json"):
		return "json", nil
	case strings.Contains(accept, "text/csv"):
		return "csv", nil
	}
	return "html", nil
}

// fail answers with a page or a line that says what is wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	a, ok := errors.AsType[*answer](err)
	if !ok {
		slog.Error("fleet serve: "+r.URL.Path, "error", err) //nolint:gosec // slog quotes
		a = &answer{http.StatusServiceUnavailable,
			"The store does not answer. These pages are back as soon as it is; the server's log has the reason."}
	}
	if a.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Cache-Control", "no-store")
	if format, err := wanted(r); err != nil || format != "html" {
		line(w, a.status, a.text)
		return
	}
	var out bytes.Buffer
	d := &document.Document{Name: "fleet", Title: strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		Answer: []document.Line{{Text: a.text}}, Footer: "hostlab " + s.Version}
	if err := s.site.WritePage(&out, d, ""); err != nil {
		line(w, a.status, a.text)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(a.status)
	_, _ = w.Write(out.Bytes()) // the reader may have gone
}

// line answers a program.
func line(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// at is an address with its query.
func at(path string, query ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// with is the address of this page with other answers in its query, by their keys; "" takes one out.
func (r *request) with(answers ...string) string {
	q := r.URL.Query()
	for i := 0; i+1 < len(answers); i += 2 {
		if q.Del(answers[i]); answers[i+1] != "" {
			q.Set(answers[i], answers[i+1])
		}
	}
	u := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}

// body sends a document's bytes as they came: the evidence that a page's hash names.
func (s *Server) body(w http.ResponseWriter, r *http.Request) {
	hash := r.PathValue("hash")
	if _, err := hex.DecodeString(hash); err != nil || len(hash) != sha256.Size*2 {
		s.fail(w, r, notThere("document"))
		return
	}
	text, err := s.Store.Body(r.Context(), hash)
	if err != nil {
		if _, _, alive := s.Store.Last(r.Context()); alive == nil {
			err = notThere("document")
		}
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="`+hash[:12]+`.json"`)
	send(w, r, text)
}
