package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/screen"
)

// pgParameter is one of PostgreSQL's. A level is in the file of ALTER SYSTEM only until the busy
// sessions have read it: from then on it is in the server's memory alone, and any reload, restart or
// power cut brings back what was.
type pgParameter struct {
	dsn      *DSN
	conn     *pgx.Conn // nil: not connected
	session  *DSN      // of conn
	asked    string    // as it was asked for
	name     string
	kind     kind
	cautions []string
	wrote    []string // levels that were written to the disk
}

// How long the server may take to read its files, and how long sessions are waited for that did
// something as long ago. A session reads the files when its next statement begins.
const (
	reloads = 5 * time.Second
	busy    = 10 * time.Second
)

// namesList are parameters that are lists of names, which ALTER SYSTEM would quote as one name.
var namesList = []string{"local_preload_libraries", "search_path", "session_preload_libraries", "temp_tablespaces",
	"unix_socket_directories"}

// sessionLimits are those that would end the session or the statement that puts them back, and by which hostlab's
// own session protects the server.
var sessionLimits = []string{"default_transaction_read_only", "idle_in_transaction_session_timeout", "lock_timeout",
	"statement_timeout", "transaction_timeout"}

// dataSafety are those at whose levels a crash, or a broken page, costs data that nothing puts back.
var dataSafety = []string{"fsync", "ignore_checksum_failure", "zero_damaged_pages"}

func openPostgresParameter(ctx context.Context, d *DSN, name string) (_ Parameter, err error) {
	p := &pgParameter{dsn: d, asked: name}
	defer func() {
		if err != nil {
			_ = p.Close() // the first error tells more
		}
	}()
	rows, err := p.ask(ctx, `select name, vartype, coalesce(unit, ''), coalesce(min_val, ''), coalesce(max_val, ''), coalesce(array_to_string(enumvals, ','), ''), context, source
		from pg_settings where lower(name) = lower($1)`, name)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, p.unknown(ctx, name)
	}
	r := rows[0]
	p.name, p.kind = r[0], kind{vartype: r[1], unit: r[2], least: r[3], most: r[4], words: strings.Split(r[5], ",")}
	switch level, source := r[6], r[7]; {
	case level == "internal":
		return nil, fmt.Errorf("parameter %s cannot be changed at all", p.name)
	case level == "postmaster":
		return nil, fmt.Errorf("parameter %s needs a restart of the server, and hostlab does not restart a service that "+
			"others use", p.name)
	case slices.Contains(namesList, p.name):
		return nil, fmt.Errorf("parameter %s is a list of names, which cannot be varied", p.name)
	case slices.Contains(sessionLimits, p.name):
		return nil, fmt.Errorf(
			"parameter %s limits hostlab's own session too, which could not put it back; it cannot be varied",
			p.name)
	case slices.Contains(dataSafety, p.name):
		return nil, fmt.Errorf(
			"parameter %s decides whether data survive a crash, so that it is not varied on a service that "+
				"others use", p.name)
	case source == "command line" || source == "environment variable":
		return nil, fmt.Errorf("parameter %s is set by the server's %s, which overrides what is set later", p.name, source)
	case level == "backend" || level == "superuser-backend":
		p.cautions = append(p.cautions, p.name+" is read when a session begins, so that sessions which are open keep theirs")
	case level == "user" || level == "superuser":
		p.cautions = append(p.cautions, "sessions that set "+p.name+" themselves keep theirs")
	}
	if err := p.rights(ctx); err != nil {
		return nil, err
	}
	return p, p.own(ctx)
}

func (p *pgParameter) unknown(ctx context.Context, name string) error {
	rows, err := p.ask(ctx, "select name from pg_settings")
	if err != nil {
		return err
	}
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i][0]
	}
	if near := screen.Meant(name, names); near != "" {
		return fmt.Errorf("this server has no parameter %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("this server has no parameter %q", name)
}

// rights asks whether this user may change it and put it back.
func (p *pgParameter) rights(ctx context.Context) error {
	rows, err := p.ask(ctx, `select (select rolsuper from pg_roles where rolname = current_user), current_setting('server_version_num')::int >= 150000,
		has_function_privilege('pg_catalog.pg_reload_conf()', 'execute') and has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'execute')
		and has_table_privilege('pg_catalog.pg_file_settings', 'select') and pg_has_role('pg_read_all_stats', 'usage'), coalesce(current_setting('allow_alter_system', true), 'on'), current_user`)
	if err != nil {
		return err
	}
	r := rows[0]
	user := pgx.Identifier{r[4]}.Sanitize()
	switch {
	case r[3] != "on":
		return errors.New("the server refuses ALTER SYSTEM (allow_alter_system is off)")
	case r[0] == "t":
		return nil
	case r[1] != "t":
		return fmt.Errorf("parameter %s takes a superuser on this version, and %s is none", p.name, user)
	}
	may, err := p.ask(ctx, "select has_parameter_privilege($1, 'ALTER SYSTEM')", p.name)
	if err != nil {
		return err
	}
	if may[0][0] == "t" && r[2] == "t" {
		return nil
	}
	return fmt.Errorf(
		"parameter %[1]s takes a superuser, or: grant alter system on parameter %[2]s to %[3]s; grant execute on "+
			"function pg_reload_conf(), pg_show_all_file_settings() to %[3]s; grant select on pg_file_settings to %[3]s; grant "+
			"pg_read_all_stats to %[3]s", p.name, identifier(p.name), user)
}

// own finds roles and databases with a value of their own, which goes before the server's.
func (p *pgParameter) own(ctx context.Context) error {
	rows, err := p.ask(ctx, `select coalesce(nullif(s.setrole, 0)::regrole::text, ''), coalesce(d.datname, ''),
		s.setrole in (0, (select oid from pg_roles where rolname = session_user)) and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
		from pg_db_role_setting s left join pg_database d on d.oid = s.setdatabase
		where exists (select from unnest(s.setconfig) c where lower(split_part(c, '=', 1)) = lower($1)) order by 1, 2`, p.name)
	if err != nil {
		return err
	}
	for _, r := range rows {
		who := strings.TrimSpace(strings.TrimSuffix("role "+r[0], "role ") +
			strings.TrimSuffix(" database "+r[1], " database "))
		if r[2] == "t" {
			return fmt.Errorf(
				"parameter %s has a value of its own for %s, by which hostlab connects, so that it cannot read the "+
					"server's; connect as another role", p.name, who)
		}
		p.cautions = append(p.cautions, who+" has a value of its own of "+p.name+", and keeps it")
	}
	return nil
}

func (p *pgParameter) Name() string       { return p.name }
func (p *pgParameter) Cautions() []string { return p.cautions }

func (p *pgParameter) Level(text string) (string, error) {
	v, err := p.kind.canonical(text)
	if err != nil {
		return "", fmt.Errorf("parameter %s: %w", p.name, err)
	}
	return v, nil
}

// Save implements Parameter. A reload brings whatever else stands in the files, so that there must
// be nothing that is not in force already.
func (p *pgParameter) Save(ctx context.Context) (was Saved, err error) {
	if err := p.staged(ctx, ""); err != nil {
		return was, err
	}
	if was.Disk, err = p.disk(ctx); err != nil {
		return was, err
	}
	if was.Of, err = p.which(ctx); err != nil {
		return was, err
	}
	was.Value, err = p.Read(ctx)
	return was, err
}

func (p *pgParameter) which(ctx context.Context) (string, error) {
	rows, err := p.ask(ctx,
		`select 'port ' || current_setting('port') || ', system ' || system_identifier from pg_control_system()`)
	if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == "42501" {
		return "", nil // this user may not know
	}
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][0], nil
}

// staged refuses files that hold what is not in force yet, of other parameters than one.
func (p *pgParameter) staged(ctx context.Context, but string) error {
	rows, err := p.ask(ctx, `select f.name, f.setting, s.setting, s.vartype, coalesce(s.unit, ''), coalesce(array_to_string(s.enumvals, ','), '')
		from (select distinct on (lower(name)) name, setting from pg_file_settings where error is null order by lower(name), seqno desc) f
		join pg_settings s on lower(s.name) = lower(f.name) where s.context not in ('internal', 'postmaster') and s.source in ('default', 'configuration file') and s.name <> $1`, but)
	if err != nil {
		return err
	}
	for _, r := range rows {
		k := kind{vartype: r[3], unit: r[4], words: strings.Split(r[5], ",")}
		file, err1 := k.canonical(r[1])
		now, err2 := k.canonical(r[2])
		if err1 == nil && err2 == nil && !strings.EqualFold(file, now) {
			return fmt.Errorf(
				"the server's files have %s = %s, which is not in force yet, and the experiment's reloads would bring it; "+
					"first: select pg_reload_conf()", r[0], r[1])
		}
	}
	// What was taken out of a file is in force until the next reload.
	rows, err = p.ask(ctx, `select name, setting from pg_settings s where source = 'configuration file' and context not in ('internal', 'postmaster')
		and not exists (select from pg_file_settings f where lower(f.name) = lower(s.name)) and name <> $1 order by 1`, but)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return fmt.Errorf(
			"the server's files no longer have %s, of which %s is still in force, and the experiment's reloads would "+
				"take it out; first: select pg_reload_conf()", rows[0][0], rows[0][1])
	}
	rows, err = p.ask(ctx, `select sourcefile || ' line ' || sourceline || ': ' || error from pg_file_settings f where error is not null
		and not exists (select from pg_settings s where lower(s.name) = lower(f.name) and s.context = 'postmaster')`)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return fmt.Errorf("the server cannot read its own files, so that a reload would fail: %s", rows[0][0])
	}
	return nil
}

// disk is what the file of ALTER SYSTEM has.
func (p *pgParameter) disk(ctx context.Context) (*string, error) {
	rows, err := p.ask(ctx,
		`select setting from pg_file_settings where lower(name) = lower($1) and sourcefile ~ '(^|/)postgresql[.]auto[.]conf$' order by seqno desc limit 1`, p.name)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0][0], nil
}

func (p *pgParameter) Read(ctx context.Context) (string, error) {
	rows, err := p.ask(ctx, "select setting from pg_settings where name = $1", p.name)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("parameter %s has gone", p.name)
	}
	return p.kind.canonical(rows[0][0])
}

// Set implements Parameter. A change that others have prepared in the files meanwhile is not brought into force
// along the way, unless that is what it takes to end a level.
func (p *pgParameter) Set(ctx context.Context, level string, was Saved) (missed int, err error) {
	disk, err := p.disk(ctx)
	if err != nil {
		return 0, err
	}
	if !same(disk, was.Disk) {
		if disk == nil || !slices.Contains(p.wrote, *disk) {
			return 0, p.leave(ctx, disk, was, p.wrote)
		}
		if err := p.toDisk(ctx, was.Disk); err != nil { // the server went down while the file had the level
			return 0, err
		}
	}
	if err := p.staged(ctx, p.name); err != nil {
		now, unread := p.Read(ctx)
		switch {
		case level != "":
			return 0, err
		case unread == nil && now == was.Value:
			return 0, nil
		}
	}
	if level == "" {
		return 0, p.reload(ctx)
	}
	if !slices.Contains(p.wrote, level) {
		p.wrote = append(p.wrote, level)
	}
	missed, err = p.write(ctx, level, was)
	if err != nil {
		return missed, err
	}
	if now, err := p.Read(ctx); err != nil || now != level {
		return missed, errors.Join(err, fmt.Errorf("parameter %s was set to %s and reads %s", p.name, level, now))
	}
	return missed, nil
}

// leave leaves on the disk what another program has put there. If a level of ours is in force still, what was is
// brought into force first.
func (p *pgParameter) leave(ctx context.Context, disk *string, was Saved, ours []string) error {
	said := p.foreign(disk, was)
	now, err := p.Read(ctx)
	if err == nil && (now == was.Value || !slices.Contains(ours, now)) {
		return said
	}
	if err == nil {
		err = p.toDisk(ctx, was.Disk)
	}
	if err == nil {
		err = p.reload(ctx)
		ctx, cancel := asLong(ctx)
		defer cancel()
		err = errors.Join(err, p.toDisk(ctx, disk))
	}
	if err != nil {
		return fmt.Errorf("%w; and a level of the experiment may be in force still: %w", said, err)
	}
	return said
}

// write has a level in the file until the sessions have read it.
func (p *pgParameter) write(ctx context.Context, level string, was Saved) (missed int, err error) {
	defer func() {
		ctx, cancel := asLong(ctx)
		defer cancel()
		err = errors.Join(err, p.toDisk(ctx, was.Disk))
	}()
	if err := p.toDisk(ctx, &level); err != nil {
		return 0, err
	}
	if err := p.reload(ctx); err != nil {
		return 0, err
	}
	// The server signals one session after the other, this one maybe first. It takes a new session only when it
	// has signalled all of them.
	rows, err := p.anew(ctx, "select clock_timestamp()")
	if err != nil {
		return 0, err
	}
	since := rows[0][0]
	_, err = soon(ctx, busy, func() (bool, error) {
		rows, err := p.ask(ctx, `select count(*) from pg_stat_activity where backend_type = 'client backend' and application_name <> '`+application+`'
			and backend_start < $1::timestamptz and query_start < $1::timestamptz and (state <> 'idle' or state_change > $1::timestamptz - interval '10 s')`, since)
		if err == nil {
			_, err = fmt.Sscan(rows[0][0], &missed)
		}
		return missed == 0, err
	})
	return missed, err
}

// Back implements Parameter. Where nothing of ours is left, it reloads nothing.
func (p *pgParameter) Back(ctx context.Context, was Saved, levels []string, force bool) error {
	now, err := p.which(ctx)
	if err == nil {
		err = Another(p.name, now, was.Of)
	}
	if err != nil {
		return err
	}
	disk, err := p.disk(ctx)
	if err != nil {
		return err
	}
	if !same(disk, was.Disk) {
		if !force && (disk == nil || !slices.Contains(levels, *disk)) {
			return p.leave(ctx, disk, was, levels)
		}
		if err := p.toDisk(ctx, was.Disk); err != nil {
			return err
		}
	} else if now, err := p.Read(ctx); err != nil || now == was.Value {
		return err
	}
	if err := p.reload(ctx); err != nil {
		return err
	}
	now, err = p.Read(ctx)
	if err == nil && now != was.Value && !force {
		err = &Foreign{fmt.Sprintf(
			"parameter %s was %s and reads %s after a reload: the server's files were changed meanwhile, so "+
				"it was left", p.name, was.Value, now)}
	}
	return err
}

func same(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// foreign says what another program has put on the disk.
func (p *pgParameter) foreign(disk *string, was Saved) error {
	word := func(v *string) string {
		if v == nil {
			return "nothing"
		}
		return *v
	}
	return &Foreign{fmt.Sprintf(
		"another program has changed %s meanwhile: postgresql.auto.conf has %s and had %s, so it was left",
		p.name, word(disk), word(was.Disk))}
}

// toDisk writes the file of ALTER SYSTEM. Nothing is in force by that.
func (p *pgParameter) toDisk(ctx context.Context, value *string) error {
	text := "alter system reset " + identifier(p.name)
	if value != nil {
		text = "alter system set " + identifier(p.name) + " = '" + strings.ReplaceAll(*value, "'", "''") + "'"
	}
	_, err := p.do(ctx, func(ctx context.Context, c *pgx.Conn) ([][]string, error) {
		return nil, c.PgConn().Exec(ctx, text).Close()
	})
	return err
}

// identifier quotes a name, which may have a dot: that of an extension's parameter.
func identifier(name string) string { return pgx.Identifier(strings.Split(name, ".")).Sanitize() }
