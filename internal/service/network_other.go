//go:build !linux

package service

import (
	"errors"
	"time"
)

// Network adds up round trips, which only Linux tells.
type Network struct{}

// Trips are the round trips of clients beyond loopback.
type Trips struct {
	Count              int64
	Least, Most        time.Duration
	Connections, Local int
	Brief, Untold      int
}

// NoPort is why no port of a service is known.
func NoPort() string { return "round trips of connections are read on Linux only" }

func NewNetwork(uint16) (*Network, error) {
	return nil, errors.New("round trips of connections are read on Linux only")
}

func (n *Network) Look() error { return nil }

func (n *Network) Trips() Trips { return Trips{} }

func Port(int) (uint16, bool) { return 0, false }
