package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	crand "crypto/rand"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/explain/connect"
	"hostlab/internal/workload"
)

// prefix starts the names of schemas that hostlab makes on servers of the user's.
const prefix = "hostlab_"

// schema is one of a server of the user's, in which our tables are.
type schema struct {
	name  string // empty: there is none, as a private server has no need of it
	made  bool   // by us
	notes []string
}

// schemas is how a server handles them. MariaDB calls them databases.
type schemas struct {
	word         string
	own          string   // patterns of the names that are the server's
	names        string   // lists the named one and those whose name has our prefix
	objects      []string // list what the named one has
	create, drop string   // %s is the name
}

// serversOwn reports whether a schema is the server's: PostgreSQL keeps all names that begin
// with pg_ for itself, and shows nothing of what those hold.
func (s schemas) serversOwn(name string) bool {
	return slices.ContainsFunc(strings.Fields("information_schema "+s.own), func(pattern string) bool {
		is, _ := path.Match(pattern, name)
		return is
	})
}

// find lists those whose name has our prefix, and what objects the named one has; exists is
// false where there is none of that name.
func (e *served) find(ctx context.Context, name string) (ours, objects []string, exists bool, err error) {
	names, err := e.column(ctx, e.names, name)
	if err != nil {
		return nil, nil, false, err
	}
	ours = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return n == name || !strings.HasPrefix(n, prefix)
	})
	for _, text := range e.objects {
		some, err := e.column(ctx, text, name)
		// ER_NO_SUCH_TABLE: a server without mysql.proc has no routines
		if a, ok := errors.AsType[*mysql.MySQLError](err); ok && a.Number == 1146 {
			continue
		}
		if err != nil {
			return nil, nil, false, err
		}
		objects = append(objects, some...)
	}
	return ours, objects, slices.Contains(names, name), nil
}

func (e *served) dropTables(ctx context.Context, tables []string) error {
	return e.execAll(ctx, "DROP TABLE IF EXISTS "+strings.Join(tables, ", "))
}

// claim makes a schema of a random name, or takes the named one if it is empty.
func (e *served) claim(ctx context.Context, name string) (schema, error) {
	name = cmp.Or(name, prefix+strings.ToLower(crand.Text()[:10]))
	ours, objects, exists, err := e.find(ctx, name)
	if err != nil {
		return schema{}, e.remote(ctx, err)
	}
	if len(objects) > 0 {
		return schema{}, &workload.ParamError{Name: "schema",
			Text: fmt.Sprintf("%s holds data of others (%s), and nothing was touched", name, brief(objects)),
			Hint: "name one that is empty or does not exist"}
	}
	out := schema{name: name}
	if len(ours) > 0 {
		out.notes = append(out.notes,
			fmt.Sprintf("the server has %s, of another hostlab that runs or was killed; drop what is left "+
				"over by hand", brief(ours)))
	}
	if !exists {
		if err := e.execAll(ctx, fmt.Sprintf(e.schemas.create, name)); err != nil {
			return schema{}, e.remote(ctx, err)
		}
		out.made = true
	}
	return out, nil
}

// brief names the first few.
func brief(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// release drops what was made: the tables, and the schema if it was not there. What
// others have put into it meanwhile stays, and with it the schema.
func (e *served) release() error {
	s := e.schema
	if s.name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.connected(ctx); err != nil {
		return fmt.Errorf("%s %s could not be removed: %w; drop it by hand", e.word, s.name, e.remote(ctx, err))
	}
	if tables := e.made.in(s.name); len(tables) > 0 {
		if err := e.dropTables(ctx, tables); err != nil {
			return fmt.Errorf("the tables in schema %s could not be dropped: %w; drop them by hand", s.name, e.remote(ctx, err))
		}
	}
	if !s.made {
		return nil
	}
	_, objects, exists, err := e.find(ctx, s.name)
	if err == nil && len(objects) > 0 {
		return fmt.Errorf("schema %s was not dropped: it holds %s, which hostlab did not make", s.name, brief(objects))
	}
	if err == nil && exists {
		err = e.execAll(ctx, fmt.Sprintf(e.drop, s.name))
	}
	if err != nil {
		return fmt.Errorf("schema %s could not be dropped: %w; drop it by hand", s.name, e.remote(ctx, err))
	}
	return nil
}

// remote puts an error of a server of the user's in one line, without anything of how it is
// reached but its address.
func (e *served) remote(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	if already, ok := errors.AsType[*workload.ParamError](err); ok {
		return already
	}
	err = e.dsn.Problem(err)
	if p, ok := errors.AsType[*connect.Problem](err); ok && p.Named {
		return &workload.ParamError{Name: "dsn", Text: p.Error()}
	}
	return err
}
