package proc

// Requests are those of clients that processes serve, and those that they ask of servers, by their connections.
type Requests struct {
	Connections int            // of clients, with those that nobody has taken yet
	Unread      int            // of them, with something that nobody has read yet
	AtWork      int            // of them, on which the client has sent last: over TCP, in this network
	Asked       map[string]int // requests that no answer has come to yet, by the address of the server; likewise
}
