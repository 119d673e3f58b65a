package mariadb

import (
	"context"
	"strconv"
	"strings"

	"hostlab/internal/explain"
)

// Tell implements explain.Tells. MySQL 8 has the tables in another schema.
func (s *Source) Tell(ctx context.Context) (explain.Telling, error) {
	q := tell
	if !s.maria {
		q.SQL = strings.ReplaceAll(q.SQL, "information_schema", "performance_schema")
	}
	rows, err := s.Ask(ctx, q)
	s.asked++
	t := explain.TellingOf(rows)
	if n, ok := t.Values["innodb_data_read"]; ok {
		t.Values["read_bytes"] = n
	}
	if took := s.Opened(); took > 0 {
		t.Settings[explain.Login] = strconv.FormatFloat(took, 'g', 3, 64)
	}
	explain.Devices(&t, s.server)
	return t, err
}

var tell = explain.Query{Name: "tell", SQL: `select 'counter', lower(variable_name), variable_value from information_schema.global_status where variable_name in ('Uptime', 'Connections', 'Threads_created', 'Questions', 'Opened_tables',
 'Created_tmp_tables', 'Created_tmp_disk_tables', 'Innodb_log_waits', 'Innodb_os_log_written', 'Innodb_log_writes', 'Innodb_buffer_pool_wait_free', 'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests', 'Innodb_data_read', 'Innodb_data_reads')
 union all select 'counter', concat('own_', lower(variable_name)), variable_value from information_schema.session_status where variable_name in ('Created_tmp_tables', 'Created_tmp_disk_tables')
 union all select 'setting', lower(variable_name), variable_value from information_schema.global_variables where variable_name in ('innodb_buffer_pool_size', 'innodb_log_buffer_size', 'innodb_log_file_size', 'thread_cache_size', 'tmp_table_size', 'max_heap_table_size',
 'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'general_log', 'table_open_cache', 'idle_transaction_timeout', 'thread_pool_size', 'thread_pool_max_threads')`}
