package service

import (
	"context"
	"strconv"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
)

// Reached is a service with the session that tells of it.
type Reached struct {
	Of     *Service
	Source explain.Source // nil: it tells no sessions
	Why    string         // why not
	Doubt  string         // why it gets no password, though it was reached; "": it may get one
}

// Close ends the session.
func (r *Reached) Close() {
	if r.Source != nil {
		_ = r.Source.Close()
	}
}

// Reach finds a service among the servers and processes of this host, and asks its database as
// that one's own client would. nil: none was asked for, or none runs. A database that refuses us
// is no error; its processes show.
func (s Spec) Reach(ctx context.Context, servers []host.Database) (*Reached, error) {
	of, err := s.Find(servers, Used)
	if err != nil || of == nil {
		return nil, err
	}
	r, server := &Reached{Of: of}, of.Server(servers)
	if server == nil {
		r.Why = unknownServer
		return r, nil
	}
	if !connect.Knows(server.Kind) {
		r.Why = "its sessions could not be seen: hostlab has no reader for " + host.ProductOf(server.Kind)
		return r, nil
	}
	dsn, err := connect.Here(server.Kind, of.PID)
	if err == nil {
		r.Source, err = connect.Open(ctx, dsn)
	}
	if err == nil {
		r.Doubt = dsn.Doubt()
	} else {
		r.Source, r.Why = nil, "its sessions could not be seen: "+strings.Join(strings.Fields(err.Error()), " ")
	}
	if err := ctx.Err(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// ReachServer asks a database that is named, and finds its processes where they are of this host.
func ReachServer(ctx context.Context, dsn *connect.DSN, servers []host.Database) (*Reached, error) {
	source, err := connect.Open(ctx, dsn)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	name := source.Server().Vendor
	r := &Reached{Of: &Service{Kind: Database, Name: name}, Source: source}
	if r.Of.Near = dsn.Local(); !r.Of.Near {
		return r, nil
	}
	if h, ok := source.(explain.Hosted); ok {
		if pid, _, ok := h.Process(); ok {
			if of, err := (Spec{Kind: Process, Name: strconv.Itoa(pid)}).Find(nil, nil); err == nil {
				of.Kind, of.Name = Database, name
				r.Of = of
			}
		}
		return r, nil
	}
	if of, err := (Spec{Kind: Name, Name: name}).Find(servers, Used); err == nil && of != nil {
		r.Of = of
	}
	return r, nil
}
