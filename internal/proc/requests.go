package proc

// Requests are those of clients that processes serve, and those that they ask of servers, by their connections.
type Requests struct {
	Connections int             // of clients, with those that nobody has taken yet
	Unread      int             // of them, with something that nobody has read yet
	AtWork      Open            // that clients wait for: over TCP, in this network
	Asked       map[string]Open // that a server is to answer, by its address; likewise
}

// Open are connections by which end has sent last, as the kernel keeps it: in ticks of a few ms.
type Open struct {
	Asked int // the one that asks: there is no answer yet
	Long  int // of them, for longer than a tick
	Same  int // both in one tick, so that it is not known which was first
}

// Add adds another look.
func (o Open) Add(more Open) Open {
	return Open{o.Asked + more.Asked, o.Long + more.Long, o.Same + more.Same}
}

// few is the share of connections of which the order is not known that the slow requests have to reach before all of
// those count, too.
const few = 0.03

// Count are the requests that have no answer yet. Who asks at once when an answer came does both in one tick; a server
// that answers within a tick does, too, but then next to none of its answers takes long.
func (o Open) Count() int {
	if float64(o.Long) >= few*float64(o.Same) {
		return o.Asked + o.Same
	}
	return o.Asked
}
