package proc

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hostlab/internal/testkit"
)

// TestClientOf: the process at the other end of a connection is found, on a Unix socket and over loopback, and none where there is none.
func TestClientOf(t *testing.T) {
	testkit.Is(t, 0, ClientOf(os.Getpid()), "without a connection")
	testkit.Is(t, false, Hides(os.Getpid()), "hides its own connections")
	for network, address := range map[string]string{"unix": filepath.Join(t.TempDir(), "s"), "tcp": "127.0.0.1:0"} {
		l := testkit.Must(net.Listen(network, address))(t)
		client := testkit.Must(net.Dial(network, l.Addr().String()))(t)
		server := testkit.Must(l.Accept())(t)
		asked := []string{}
		for inode := range sockets(os.Getpid()) {
			if at := Servers(os.Getpid())[inode]; at != "" {
				asked = append(asked, at)
			}
		}
		if len(asked) != 1 || asked[0] != l.Addr().String() {
			t.Errorf("%s: it asks %v, want %s", network, asked, l.Addr())
		}
		testkit.Is(t, os.Getpid(), Listener(os.Getpid(), l.Addr().String()), network, "listens")
		for _, want := range []int{0, 1} {
			if r := RequestsOf([]int{os.Getpid()}); r.Connections != 1 || r.Unread != want {
				t.Errorf("%s: %d connections, %d unread, want %d", network, r.Connections, r.Unread, want)
			}
			if _, err := client.Write([]byte{0}); err != nil { // loopback delivers it before the call returns
				t.Fatal(err)
			}
		}
		// The client's end goes to another process.
		f := testkit.Must(client.(interface{ File() (*os.File, error) }).File())(t)
		other := exec.Command("sleep", "1000")
		other.ExtraFiles = []*os.File{f}
		testkit.OK(t, other.Start())
		f.Close()
		client.Close()
		testkit.Same(t, map[int]bool{other.Process.Pid: true}, ClientsAmong([]int{1, other.Process.Pid}, []int{os.Getpid()}), network)
		testkit.Is(t, 0, len(ClientsAmong([]int{os.Getpid()}, []int{other.Process.Pid})), network, "its server")
		l.Close()
		testkit.Is(t, 0, Listener(os.Getpid(), l.Addr().String()), network, "listens after the end")
		testkit.Is(t, other.Process.Pid, ClientOf(os.Getpid()), network)
		_ = other.Process.Kill()
		_ = other.Wait()
		server.Close()
	}
}

// TestOpen: who sent last waits for the other, and within one tick the slow ones decide.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		asked, answered, since, before uint32
		want                           Open
	}{
		"nothing came yet": {0, 0, 40, 40, Open{}}, "new": {1, 0, 3, 3, Open{Asked: 1}}, "answered": {5, 5, 90, 40, Open{}},
		"asked again": {5, 4, 40, 90, Open{Asked: 1, Long: 1}}, "in a tick": {5, 4, 40, 40, Open{Same: 1}},
	} {
		testkit.Same(t, c.want, open(c.asked, c.answered, c.since, c.before), name)
	}
	testkit.Is(t, 11, Open{Asked: 1, Long: 1, Same: 10}.Count(), "a slow server")
	testkit.Is(t, 1, Open{Asked: 1, Same: 10}.Count(), "a quick one")
}
