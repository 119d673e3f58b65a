//go:build system

package service

import (
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// TestTrips: a client that is 5 ms away asks a hundred times. The kernel's own time of a
// trip, times their number, is what the client waited.
func TestTrips(t *testing.T) {
	const trips = 100
	if port, known := Port(os.Getpid()); port != 0 || !known {
		t.Errorf("this process listens on nothing, not on %d (known: %v)", port, known)
	}
	far := testkit.NewFar(t, "hostlab-trips", 5*time.Millisecond)
	l := testkit.Must(net.Listen("tcp4", far.Near+":0"))(t)
	defer l.Close()
	begun, ended := make(chan bool, 2), make(chan bool, 2) // connections
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			begun <- true
			go func() { _, _ = io.Copy(c, c); c.Close(); ended <- true }()
		}
	}()
	n, err := NewNetwork(netip.MustParseAddrPort(l.Addr().String()).Port())
	testkit.OK(t, err)
	if port, known := Port(os.Getpid()); !known || port != netip.MustParseAddrPort(l.Addr().String()).Port() {
		t.Errorf("this process listens on %d, not on %s", port, l.Addr())
	}
	var c net.Conn
	testkit.OK(t, far.Do(func() error { c, err = net.Dial("tcp4", l.Addr().String()); return err }))
	defer c.Close()
	began, b := time.Now(), []byte("ping")
	for range trips {
		testkit.Must(c.Write(b))(t)
		testkit.Must(io.ReadFull(c, b))(t)
	}
	waited := time.Since(began)
	testkit.OK(t, n.Look())
	got := n.Trips()
	t.Logf("%d trips in %v; the kernel says %+v", trips, waited, got)
	if got.Count != trips || got.Connections != 1 || got.Local != 0 {
		t.Errorf("%+v, want %d trips of one connection beyond loopback", got, trips)
	}
	// The client's wait has this program's own share in it, the more the busier the machine is.
	if least := trips * 5 * time.Millisecond; got.Least < least*95/100 || got.Least > waited || got.Most < got.Least {
		t.Errorf("trips take %v to %v by the kernel, the client waited %v, of that %v on the way", got.Least, got.Most,
			waited, least)
	}
	// One that is there at one look alone.
	var brief net.Conn
	testkit.OK(t, far.Do(func() error { brief, err = net.Dial("tcp4", l.Addr().String()); return err }))
	<-begun // the first
	<-begun
	testkit.OK(t, n.Look())
	brief.Close()
	<-ended
	testkit.OK(t, n.Look())
	if got := n.Trips(); got.Connections != 2 || got.Brief != 1 || got.Untold != 0 {
		t.Errorf("%+v, want one of two connections to have been brief", got)
	}
}
