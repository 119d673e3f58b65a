package oltp

import (
	"context"
	"fmt"
	"strconv"

	"hostlab/internal/postgres"
	"hostlab/internal/workload/database"
)

// seats are connections beside those of the workers.
const seats = 20

// shelf keeps the PostgreSQL of a session. A value with a work directory is ready.
type shelf struct {
	work    string
	server  *postgres.Server
	clients int   // that the server has seats for
	rows    int64 // that it has memory for
}

// stock has a server for a question.
func (h *shelf) stock(ctx context.Context, q question) (_ *cluster, err error) {
	if h.server != nil && (h.server.Err() != nil || h.clients < q.Workers || h.rows < q.Rows) {
		if err := h.close(); err != nil {
			return nil, err
		}
	}
	if h.server == nil {
		settings := database.Quiet()
		delete(settings, "fsync") // parameter sync sets it
		delete(settings, "full_page_writes")
		settings["max_connections"] = strconv.Itoa(q.Workers + seats)
		settings["shared_buffers"] = fmt.Sprintf("%dkB", 128<<10+q.Rows) // two copies of 0.4 kB a row, and what is added
		if h.server, err = database.Postgres(ctx, h.work, "database", settings); err != nil {
			h.server = nil
			return nil, err
		}
		h.clients, h.rows = q.Workers, q.Rows
	}
	return &cluster{h.server.Address(), h.server.PID()}, nil
}

// close ends the server and removes it. It may be called again.
func (h *shelf) close() error {
	if h.server == nil {
		return nil
	}
	err := h.server.Close()
	h.server = nil
	return err
}
