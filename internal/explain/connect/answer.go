package connect

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// How much a server may say while a session begins, and in answer to a statement about its parameters.
const (
	greeting = 1 << 20
	replies  = 4 << 20
)

// An answer bounds what a session reads until its next question: what answers at a socket need be no database, and may
// never end. It counts what comes through the network, since drivers keep rows, notices and parameters of their own
// accord.
type answer struct {
	mu    sync.Mutex
	conns []*boundedConn // a driver may open a second one, as to cancel a statement
	left  int64          // bytes
	limit int64
	until time.Time // zero: as long as it takes
	over  error     // why nothing more is read or sent; nil: it is
}

// next begins a question: its answer has so many bytes at most, and comes within a time; 0: as long as it takes.
func (a *answer) next(most int64, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.limit, a.until = most, most, time.Time{}
	if wait > 0 {
		a.until = time.Now().Add(wait)
	}
	for _, c := range a.conns {
		_ = c.Conn.SetReadDeadline(a.until) // what fails here fails at the reading
	}
}

// stop ends the session and its connections, for a reason that drivers lose.
func (a *answer) stop(why error) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = why
	for _, c := range a.conns {
		c.Close()
	}
}

// errGarbled is an answer that a driver cannot take apart.
var errGarbled = errors.New("the server's answer is not in the form that databases of its kind have")

// garbled turns a driver's panic into an error: MariaDB's looks for what a greeting should have behind its end.
func (a *answer) garbled(err *error) {
	if recover() != nil {
		a.stop(errGarbled)
		*err = errGarbled
	}
}

// stopped is why the session ended; nil: it did not.
func (a *answer) stopped() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// through has a connection read no more than the answer may have.
func (a *answer) through(c net.Conn) net.Conn {
	if a == nil {
		return c
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l := &boundedConn{c, a}
	a.conns = append(a.conns, l)
	_ = c.SetReadDeadline(a.until)
	return l
}

// boundedConn is such a connection.
type boundedConn struct {
	net.Conn
	of *answer
}

func (l *boundedConn) Read(b []byte) (int, error) {
	a := l.of
	a.mu.Lock()
	switch {
	case a.over != nil:
	case a.late():
		a.over = os.ErrDeadlineExceeded
	case a.left <= 0 && len(b) > 0:
		a.over = errTooLong(a.limit)
	}
	over, most := a.over, min(int64(len(b)), a.left)
	a.mu.Unlock()
	if over != nil {
		return 0, over
	}
	n, err := l.Conn.Read(b[:most])
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left -= int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) && a.late() { // drivers call it a broken connection
		a.over = err
	}
	return n, err
}

func (a *answer) late() bool { return !a.until.IsZero() && !time.Now().Before(a.until) }

// The answer's own deadline stands, whatever the driver sets.

func (l *boundedConn) SetReadDeadline(t time.Time) error {
	return l.Conn.SetReadDeadline(l.of.earlier(t))
}

func (l *boundedConn) SetDeadline(t time.Time) error {
	return errors.Join(l.SetWriteDeadline(t), l.SetReadDeadline(t))
}

func (a *answer) earlier(t time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.IsZero() || !a.until.IsZero() && a.until.Before(t) {
		return a.until
	}
	return t
}

// tooLong is an answer that was not read to its end.
type tooLong struct{ text string }

func (t *tooLong) Error() string { return t.text }

func errTooLong(bytes int64) error {
	return &tooLong{fmt.Sprintf(
		"the server answers with more than %.1f MiB, which no database needs here; hostlab read no further",
		float64(bytes)/(1<<20))}
}
