package extract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// inServer is the engine postgres.
type inServer struct {
	server *privatedb.Server
	conn   *pgx.Conn
	last   int // process of the connection before, which may not have ended yet; 0: none
}

func openPostgres(ctx context.Context, work string) (*inServer, error) {
	settings := database.Quiet()
	settings["shared_buffers"] = "256MB"
	// A cursor is read to its end, so that is what its plan must be good for.
	settings["cursor_tuple_fraction"] = "1"
	server, err := database.Start(ctx, privatedb.PostgreSQL, "engine", privatedb.Config{Parent: work, Settings: settings})
	if err != nil {
		return nil, err
	}
	return &inServer{server: server}, nil
}

// connected has a connection: the last run may have lost it.
func (s *inServer) connected(ctx context.Context) (err error) {
	if s.conn != nil && !s.conn.IsClosed() && s.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	s.disconnect()
	if s.last != 0 {
		s.server.AwaitEnd(s.last)
		s.last = 0
	}
	c, err := s.server.Connect(ctx)
	if err != nil {
		return err
	}
	s.conn = c
	return nil
}

func (s *inServer) disconnect() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.last = int(s.conn.PgConn().PID())
	_ = s.conn.Close(ctx) // broken, or its server ends anyway
	s.conn = nil
}

func (s *inServer) load(ctx context.Context, rows int, seed uint64) (want File, err error) {
	if err := s.connected(ctx); err != nil {
		return want, err
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.name+" "+c.postgres)
	}
	source := &lineReader{m: newRowMaker(seed), rows: rows}
	for _, step := range []func() error{
		func() error {
			_, err := s.conn.Exec(ctx, "DROP TABLE IF EXISTS lines; CREATE UNLOGGED TABLE lines ("+strings.Join(names, ", ")+")", pgx.QueryExecModeSimpleProtocol)
			return err
		},
		func() error {
			_, err := s.conn.PgConn().CopyFrom(ctx, source, "COPY lines FROM STDIN")
			return err
		},
		func() error { // VACUUM sets the rows' hint bits, which the first reader would do otherwise
			_, err := s.conn.Exec(ctx, "VACUUM (ANALYZE) lines", pgx.QueryExecModeSimpleProtocol)
			return err
		},
	} {
		if err := step(); err != nil {
			return want, s.server.Explain(ctx, err)
		}
	}
	return source.file, nil
}

// lineReader gives rows as COPY reads them, which is how the file has them: no field
// holds anything that COPY escapes.
type lineReader struct {
	m    *rowMaker
	rows int
	buf  []byte
	left []byte
	file File
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		if r.m.n == r.rows {
			return 0, io.EOF
		}
		r.buf = r.m.next(r.buf[:0])
		r.file.add(r.buf, 1)
		r.left = r.buf
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (s *inServer) read(ctx context.Context, o options, each func(pkg) error) (u usage, err error) {
	if err := s.connected(ctx); err != nil {
		return u, err
	}
	before, err := s.server.CPU()
	if err != nil {
		return u, err
	}
	how := s.cursor
	if o.read == byCopy {
		how = s.copyOut
	}
	if u.wait, err = how(ctx, o, each); err != nil {
		s.disconnect() // whatever state it is in
		return u, s.server.Explain(ctx, err)
	}
	after, err := s.server.CPU()
	if err != nil {
		return u, err
	}
	u.cpu, u.doubt = after.Since(before)
	u.hasCPU = u.doubt == ""
	return u, nil
}

// cursor reads as batch jobs do: a cursor, and so many rows a call. Values come as text.
func (s *inServer) cursor(ctx context.Context, o options, each func(pkg) error) (wait time.Duration, err error) {
	began := time.Now()
	if _, err := s.conn.Exec(ctx, "BEGIN; DECLARE job NO SCROLL CURSOR FOR SELECT * FROM lines", pgx.QueryExecModeSimpleProtocol); err != nil {
		return 0, err
	}
	c := s.conn.PgConn()
	fetch := fmt.Sprintf("FETCH FORWARD %d FROM job", o.rows)
	var p pkg
	for {
		p.reset()
		reader := c.ExecParams(ctx, fetch, nil, nil, nil, nil)
		for reader.NextRow() {
			values := reader.Values()
			for i, f := range values {
				p.field(f, i == len(values)-1)
			}
		}
		if _, err := reader.Close(); err != nil {
			return wait, err
		}
		wait += time.Since(began)
		if p.rows() > 0 {
			if err := each(p); err != nil {
				return wait, err
			}
		}
		began = time.Now()
		if p.rows() < o.rows {
			break
		}
	}
	_, err = s.conn.Exec(ctx, "COMMIT", pgx.QueryExecModeSimpleProtocol)
	return wait + time.Since(began), err
}

// copyOut reads all rows with one COPY and cuts it into packages. The server goes on
// sending while the application works, as far as the socket's buffer lasts.
func (s *inServer) copyOut(ctx context.Context, o options, each func(pkg) error) (wait time.Duration, err error) {
	began := time.Now()
	cut := &cutter{rows: o.rows, each: each}
	if _, err := s.conn.PgConn().CopyTo(ctx, cut, "COPY lines TO STDOUT"); err != nil {
		if cut.err != nil {
			err = cut.err // the application's, not the connection's
		}
		return 0, err
	}
	err = cut.flush()
	return time.Since(began) - cut.took, err
}

// cutter makes packages of COPY's rows. PostgreSQL sends a row a message.
type cutter struct {
	rows int
	p    pkg
	each func(pkg) error
	took time.Duration // in the application
	err  error
}

// Write implements io.Writer.
func (c *cutter) Write(b []byte) (int, error) {
	c.p.text = append(c.p.text, b...)
	if bytes.HasSuffix(b, []byte{'\n'}) {
		c.p.ends = append(c.p.ends, len(c.p.text))
	}
	if c.p.rows() >= c.rows {
		if c.err = c.flush(); c.err != nil {
			return 0, c.err
		}
	}
	return len(b), nil
}

func (c *cutter) flush() error {
	began := time.Now()
	err := c.each(c.p)
	c.took += time.Since(began)
	c.p.reset()
	return err
}

func (s *inServer) close() error {
	s.disconnect()
	return s.server.Close()
}
