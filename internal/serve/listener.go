// Package serve answers requests of strangers over HTTP: a few connections at a time, for the names of this host alone.
package serve

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Listener is one that keeps no more connections than it may, in all and of one address. One more ends the
// oldest on which no request is answered: one that says nothing must keep nobody waiting, and one that works is not
// ended for it.
type Listener struct {
	net.Listener
	Most int
	Each int // of one address; 0: as many as of all
	mu   sync.Mutex
	open []*place // the oldest first
	over bool     // no more are taken
}

type place struct {
	net.Conn
	of      *Listener
	from    netip.Prefix
	working bool // a request is answered
}

// Accept ends a connection where there are too many; where all of them work, that is the new one.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &place{Conn: c, of: l, from: origin(c.RemoteAddr())}
		ended := l.admit(p)
		if ended != nil {
			_ = ended.Close()
		}
		if ended != p {
			return p, nil
		}
	}
}

// admit takes a connection in, and returns the one that has to go for it; nil: none.
func (l *Listener) admit(p *place) *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, p)
	if l.over {
		return p
	}
	same := 0
	for _, o := range l.open {
		if o.from == p.from {
			same++
		}
	}
	crowd := l.Each > 0 && same > l.Each
	if !crowd && len(l.open) <= l.Most {
		return nil
	}
	i := slices.IndexFunc(l.open, func(o *place) bool { return o == p || !o.working && (!crowd || o.from == p.from) })
	return l.open[i]
}

// quiet ends connections on which nothing is answered, and takes no more.
func (l *Listener) quiet() {
	l.mu.Lock()
	l.over = true
	list := slices.DeleteFunc(slices.Clone(l.open), func(p *place) bool { return p.working })
	l.mu.Unlock()
	for _, p := range list {
		_ = p.Close()
	}
}

// origin is who sends: an address, or the network that one host has of IPv6.
func origin(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // within the length of such an address
	return p
}

func (p *place) Close() error {
	p.of.mu.Lock()
	p.of.open = slices.DeleteFunc(p.of.open, func(o *place) bool { return o == p })
	p.of.mu.Unlock()
	return p.Conn.Close()
}

func (p *place) works(is bool) {
	p.of.mu.Lock()
	p.working = is
	p.of.mu.Unlock()
}

// placeOf is a server's connection as it was accepted.
func placeOf(c net.Conn) *place {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	p, _ := c.(*place) // l accepts no others
	return p
}

type placeKey struct{}

// Serve has a server accept from l, and know on which connections requests are answered.
func (l *Listener) Serve(s *http.Server, secure *tls.Config) error {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, placeKey{}, placeOf(c))
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateIdle { // the answer has been sent, too
			placeOf(c).works(false)
		}
	}
	answer := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(placeKey{}).(*place); ok {
			p.works(true)
		}
		answer.ServeHTTP(w, r)
	})
	if secure != nil {
		return s.Serve(tls.NewListener(l, secure))
	}
	return s.Serve(l)
}
