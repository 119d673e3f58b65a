package connect

import (
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgservicefile"

	"hostlab/internal/lazyre"
	"hostlab/internal/trust"
)

// pgSettings are the settings of a name, as far as pgx does not tell what it made of
// them: where they stand decides what they may do.
type pgSettings struct {
	text  string
	isURL bool
	named map[string]string // by the name, or by the service that it names
	all   map[string]string // with the environment and the defaults, as far as files are concerned
}

// isURL is what pgx takes for one.
func isURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// fromEnvironment are the variables that name files, or replace those with secrets.
var fromEnvironment = map[string]string{
	"passfile": "PGPASSFILE", "password": "PGPASSWORD", "service": "PGSERVICE", "servicefile": "PGSERVICEFILE",
	"sslkey":  "PGSSLKEY",
	"sslcert": "PGSSLCERT", "sslrootcert": "PGSSLROOTCERT",
}

// readSettings has the settings of a name, and refuses files with secrets in them that
// others may read: libpq leaves those out, pgx does not look. The errors are
// *trust.Refused; what else is wrong is left to pgx.
func readSettings(text string) (pgSettings, error) {
	s := pgSettings{text: text, isURL: isURL(text), named: map[string]string{}, all: map[string]string{}}
	if home, err := os.UserHomeDir(); err == nil {
		s.all["passfile"] = filepath.Join(home, ".pgpass")
		s.all["servicefile"] = filepath.Join(home, ".pg_service.conf")
		s.all["sslkey"] = filepath.Join(home, ".postgresql", "postgresql.key")
		s.all["sslcert"] = filepath.Join(home, ".postgresql", "postgresql.crt")
		s.all["sslrootcert"] = filepath.Join(home, ".postgresql", "root.crt")
	}
	for k, name := range fromEnvironment {
		if v := os.Getenv(name); v != "" {
			s.all[k] = v
		}
	}
	own := words(text)
	maps.Copy(s.all, own)
	if service := s.all["service"]; service != "" {
		of, err := readService(s.all["servicefile"], service)
		if err != nil {
			return s, err
		}
		maps.Copy(s.all, of)
		if own["service"] != "" {
			maps.Copy(s.named, of)
		}
	}
	maps.Copy(s.named, own)
	maps.Copy(s.all, own)
	if s.all["password"] == "" {
		if err := secretFile(s.all["passfile"], trust.OpenRegular, trust.Secret); err != nil {
			return s, err
		}
	}
	// These are links where a program renews certificates. pgx would wait for the writer of a FIFO.
	for _, name := range []string{"sslcert", "sslrootcert"} {
		if err := secretFile(s.all[name], trust.OpenLinked, func(*os.File) error { return nil }); err != nil {
			return s, err
		}
	}
	return s, secretFile(s.all["sslkey"], trust.OpenLinked, trust.SecretKey)
}

// secretFile refuses what is no file, and one that fails its check. Whether it is
// there, and can be read, is the driver's matter.
func secretFile(path string, open func(string) (*os.File, error), check func(*os.File) error) error {
	if path == "" { // none is named, and without $HOME none has a place
		return nil
	}
	f, err := open(path)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return refused
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	return check(f)
}

// readService has the settings of a service, whose file must be private where it holds a
// password.
func readService(path, name string) (map[string]string, error) {
	f, err := trust.OpenRegular(path)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	file, err := pgservicefile.ParseServicefile(f)
	if err != nil {
		return nil, nil
	}
	service, err := file.GetService(name)
	if err != nil {
		return nil, nil
	}
	if service.Settings["password"] != "" {
		if err := trust.Secret(f); err != nil {
			return nil, err
		}
	}
	return service.Settings, nil
}

// word is a name=value word, as libpq reads it.
var word = lazyre.New(`^\s*([^\s=]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\]|\\.)*))`)

var escaped = lazyre.New(`\\(.)`)

// words are what a name sets: the parameters of a URL and its password, or name=value
// words. Of a repeated one the last counts.
func words(text string) map[string]string {
	out := map[string]string{}
	if base, query, _ := strings.Cut(text, "?"); isURL(text) {
		if u, err := url.Parse(base); err == nil {
			if password, _ := u.User.Password(); password != "" {
				out["password"] = password
			}
		}
		// libpq takes a + as it is.
		values, _ := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
		for k, v := range values {
			out[k] = v[len(v)-1]
		}
		return out
	}
	for {
		m := word.FindStringSubmatch(text)
		if m == nil {
			return out
		}
		out[m[1]] = escaped.ReplaceAllString(m[2]+m[3], "$1")
		text = text[len(m[0]):]
	}
}
