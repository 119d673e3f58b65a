package client

import (
	"context"
	"strconv"
)

// counters reads what PostgreSQL and the kernel count. Sessions report to the views
// now and then; from version 15 on a function makes them do it now.
func (e *postgresEngine) counters(ctx context.Context) (c counters, err error) {
	if e.version == 0 {
		row, err := e.row(ctx, "SELECT current_setting('server_version_num')")
		if err != nil {
			return c, err
		}
		if e.version, err = strconv.Atoi(row[0]); err != nil {
			return c, err
		}
	}
	c = unknown("the server is not ours, and does not tell")
	if e.server != nil {
		u, err := e.server.CPU()
		if err != nil {
			return c, err
		}
		c.cpu = seconds(u.All)
	}
	c.session, c.queued = e.session()
	c.locks, c.others, c.logElse = e.watched.counted()
	if e.version < 150000 {
		old := counter{why: "takes PostgreSQL 15 or later"}
		c.logWrites, c.logSyncs, c.logIO, c.logBytes, c.dataReads = old, old, old, old, old
		return c, nil
	}
	if _, err := e.row(ctx, "SELECT pg_stat_force_next_flush()::text"); err != nil {
		return c, err
	}
	sql := "SELECT wal_write::text, wal_sync::text, (wal_write_time + wal_sync_time)::text, wal_bytes::text, current_setting('track_wal_io_timing') FROM pg_stat_wal"
	if e.version >= 180000 { // its numbers of the log's I/O are in pg_stat_io
		sql = "SELECT sum(writes)::text, sum(fsyncs)::text, sum(coalesce(write_time, 0) + coalesce(fsync_time, 0))::text, " +
			"(SELECT wal_bytes::text FROM pg_stat_wal), current_setting('track_wal_io_timing') FROM pg_stat_io WHERE object = 'wal'"
	}
	row, err := e.row(ctx, sql)
	if err != nil {
		return c, err
	}
	for i, to := range []*counter{&c.logWrites, &c.logSyncs, &c.logIO, &c.logBytes} {
		v, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return c, err
		}
		*to = known(v)
	}
	c.logIO.value /= 1000 // ms
	if row[4] != "on" {
		c.logIO = counter{why: "the server does not time it: set track_wal_io_timing = on"}
	}
	row, err = e.row(ctx, "SELECT blk_read_time::text, current_setting('track_io_timing') FROM pg_stat_database WHERE datname = current_database()")
	if err != nil {
		return c, err
	}
	v, err := strconv.ParseFloat(row[0], 64)
	if err != nil {
		return c, err
	}
	c.dataReads = known(v / 1000)
	if row[1] != "on" {
		c.dataReads = counter{why: "the server does not time it: set track_io_timing = on"}
	}
	return c, nil
}

// row is a single row as text.
func (e *postgresEngine) row(ctx context.Context, sql string) ([]string, error) {
	rows := e.conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil)
	var out []string
	for rows.NextRow() {
		out = out[:0]
		for _, v := range rows.Values() {
			out = append(out, string(v))
		}
	}
	_, err := rows.Close()
	return out, err
}
