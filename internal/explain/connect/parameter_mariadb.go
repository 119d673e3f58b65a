package connect

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/explain"
	"hostlab/internal/screen"
)

// mariaParameter is a global variable of MariaDB. SET GLOBAL writes no file, so that a restart
// brings back what was.
type mariaParameter struct {
	dsn      *DSN
	asker    explain.Asker // nil: not connected
	name     string
	kind     kind
	numeric  bool
	cautions []string
}

func openMariaDBParameter(ctx context.Context, d *DSN, name string) (_ Parameter, err error) {
	p := &mariaParameter{dsn: d}
	defer func() {
		if err != nil {
			_ = p.Close() // the first error tells more
		}
	}()
	if strings.ContainsAny(name, "'\\") {
		return nil, fmt.Errorf("this server has no variable %q", name)
	}
	rows, err := p.ask(ctx, `select lower(variable_name), variable_scope, variable_type, read_only, coalesce(numeric_min_value, ''), coalesce(numeric_max_value, ''),
		coalesce(enum_value_list, ''), global_value from information_schema.system_variables where variable_name = '`+name+"'")
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, p.unknown(ctx, name)
	}
	r := rows[0]
	p.name = r.Text(0)
	scope, form := r.Text(1), r.Text(2)
	switch {
	case r.Text(3) == "YES":
		return nil, fmt.Errorf("variable %s needs a restart of the server, and hostlab does not restart a service that "+
			"others use", p.name)
	case scope == "SESSION ONLY":
		return nil, fmt.Errorf("variable %s exists only in each session", p.name)
	case scope == "SESSION":
		p.cautions = append(p.cautions, "sessions that are open keep their own value of "+p.name+
			", so that only new ones show its effect")
	}
	switch {
	case form == "BOOLEAN":
		p.kind = kind{vartype: "bool"}
	case strings.HasPrefix(form, "BIGINT"), strings.HasPrefix(form, "INT"):
		p.kind, p.numeric = kind{vartype: "integer", unit: "B", least: r.Text(4), most: r.Text(5)}, true
	case form == "DOUBLE":
		p.kind, p.numeric = kind{vartype: "real", least: r.Text(4), most: r.Text(5)}, true
	case form == "ENUM":
		p.kind = kind{vartype: "enum", words: strings.Split(r.Text(6), ",")}
	}
	// To write what is there changes nothing, and shows whether this user may.
	return p, p.write(ctx, r.Text(7))
}

func (p *mariaParameter) unknown(ctx context.Context, name string) error {
	rows, err := p.ask(ctx, "select lower(variable_name) from information_schema.system_variables")
	if err != nil {
		return err
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Text(0))
	}
	if near := screen.Meant(strings.ToLower(name), names); near != "" {
		return fmt.Errorf("this server has no variable %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("this server has no variable %q", name)
}

func (p *mariaParameter) Name() string       { return p.name }
func (p *mariaParameter) Cautions() []string { return p.cautions }

func (p *mariaParameter) Level(text string) (string, error) {
	v, err := p.kind.canonical(text)
	if err == nil && strings.ContainsAny(v, `'\`) {
		err = fmt.Errorf("%q holds a quote or a backslash", text)
	}
	if err != nil {
		return "", fmt.Errorf("variable %s: %w", p.name, err)
	}
	return v, nil
}

func (p *mariaParameter) Save(ctx context.Context) (was Saved, err error) {
	if was.Of, err = p.which(ctx); err != nil {
		return was, err
	}
	was.Value, err = p.Read(ctx)
	return was, err
}

func (p *mariaParameter) which(ctx context.Context) (string, error) {
	rows, err := p.ask(ctx, "select concat('port ', @@port, ', data in ', @@datadir)")
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].Text(0), nil
}

func (p *mariaParameter) Read(ctx context.Context) (string, error) {
	rows, err := p.ask(ctx, "select global_value from information_schema.system_variables where variable_name = '"+p.name+
		"'")
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("variable %s has gone", p.name)
	}
	return p.kind.canonical(rows[0].Text(0))
}

func (p *mariaParameter) Set(ctx context.Context, level string, was Saved) (missed int, err error) {
	level = cmp.Or(level, was.Value)
	if err := p.write(ctx, level); err != nil {
		return 0, err
	}
	if now, err := p.Read(ctx); err != nil || now != level {
		return 0, errors.Join(err, fmt.Errorf("variable %s was set to %s and reads %s", p.name, level, now))
	}
	return 0, nil
}

func (p *mariaParameter) Back(ctx context.Context, was Saved, levels []string, force bool) error {
	of, err := p.which(ctx)
	if err == nil {
		err = Another(p.name, of, was.Of)
	}
	if err != nil {
		return err
	}
	now, err := p.Read(ctx)
	switch {
	case err != nil || now == was.Value:
		return err
	case !force && !slices.Contains(levels, now):
		return &Foreign{fmt.Sprintf(
			"another program has changed %s meanwhile: it reads %s, which is no level of the study, and was "+
				"%s, so it was left", p.name, now, was.Value)}
	}
	_, err = p.Set(ctx, "", was)
	return err
}

func (p *mariaParameter) write(ctx context.Context, value string) error {
	text := "set global `" + strings.ReplaceAll(p.name, "`", "``") + "` = "
	if p.numeric {
		text += value // canonical
	} else {
		text += "'" + value + "'"
	}
	_, err := p.ask(ctx, text)
	if said, ok := errors.AsType[*mysql.MySQLError](err); ok && slices.Contains(mariaRights, said.Number) {
		return fmt.Errorf("variable %s: %s", p.name, said.Message)
	}
	return err
}

// ask opens a session where there is none, and once more where it had ended.
func (p *mariaParameter) ask(ctx context.Context, text string) ([]explain.Row, error) {
	fresh := p.asker == nil
	if fresh {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		g, err := p.dsn.start(limited, (*DSN).begin)
		if err != nil {
			return nil, err
		}
		p.asker = g
	}
	rows, err := p.asker.Ask(ctx, explain.Query{Name: p.name, SQL: text})
	switch {
	case err == nil:
		return rows, nil
	case !fresh && ctx.Err() == nil && (errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn)):
		_ = p.Close() // it is broken
		return p.ask(ctx, text)
	}
	return nil, p.dsn.Problem(err)
}

// Close ends the session. Another call opens one again.
func (p *mariaParameter) Close() error {
	if p.asker == nil {
		return nil
	}
	a := p.asker
	p.asker = nil
	return a.Close()
}
