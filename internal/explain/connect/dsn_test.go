package connect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/testkit"
)

// secret is a password with all that URLs and shells make of characters.
const secret = "s3cr3t%zz"

func TestDSN(t *testing.T) {
	for _, c := range []struct {
		dsn, target string
		vendor      *Vendor
	}{
		{"postgres://u:s3cr3t%25zz@h/db", "u at h:5432, database db", Postgres},
		{"host=/run user=u password=s3cr3t%zz dbname=d", "u at /run, database d", Postgres},
		{"mysql://u:s3cr3t%25zz@h:3307/d", "u at h:3307, database d", MariaDB},
		{"mariadb://u@localhost/?socket=/run/s", "u at /run/s", MariaDB},
		{"sqlserver://u:s3cr3t%25zz@h?database=d", "u at h, database d", sqlServer},
		{"oracle://u:s3cr3t%25zz@h:1521/S", "u at h:1521, database S", oracle},
	} {
		d, err := Parse(c.dsn)
		if err != nil {
			t.Errorf("%s: %v", c.dsn, err)
			continue
		}
		if d.Target() != c.target || d.Vendor != c.vendor {
			t.Errorf("%s: %q, %s", c.dsn, d.Target(), d.Vendor)
		}
		testkit.Is(t, d.HasPassword(), strings.Contains(c.dsn, "s3cr3t"), c.dsn, "password")
		said := fmt.Sprintf("%v %+v %#v %v", d, d, d, d.Problem(errors.New("no "+secret+" in "+c.dsn)))
		if d.HasPassword() && strings.Contains(said, "s3cr3t") {
			t.Errorf("password in %q", said)
		}
	}
	for dsn, want := range map[string]string{
		"postgre://u:s3cr3t@h/":       "postgres://",
		"u:s3cr3t@tcp(h)/d":           "neither a URL",
		"postgres://u:s3cr3t%zz@h/":   "%25",
		"mysql://u:s3cr3t@/d":         "names no host",
		"host=h password=s3cr3t port": "cannot be used",
		"postgres://u:s3cr3t@h:x/":    "",
		"host=h port=s3cr3t":          "",
		// A password with / ? or # as they are would be taken for a host and what follows it.
		"postgres://u:1234/s3cr3t@127.0.0.1:5/db":      "%40 %2F",
		"postgres://u:s3@cr3t/s3cr3t@127.0.0.1:5/db":   "%40 %2F",
		"postgres://u:12?s3cr3t@127.0.0.1/db":          "%40 %2F",
		"mysql://u:12?s3cr3t=x@127.0.0.1/db":           "%40 %2F",
		"mariadb://u:12#s3cr3t@127.0.0.1/db":           "%40 %2F",
		"sqlserver://u:1/s3cr3t@127.0.0.1:1":           "%40 %2F",
		"oracle://u:1/s3cr3t@127.0.0.1:1/S":            "%40 %2F",
		"host=h password=x s3cr3t=y":                   "do not know",
		"postgres://u@h/db?s3cr3t=y":                   "do not know",
		"Server=h;User Id=sa;Password=s3cr3t":          "ADO",
		"server=h;database=d;uid=sa;pwd=s3cr3t":        "ADO",
		"Data Source=h,1433;User Id=u;Password=s3cr3t": "ADO",
		"host=h password=x s3cr3t port=1":              "quotes",
		"":                                             "neither a URL",
	} {
		_, err := Parse(dsn)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") &&
			!strings.Contains(dsn, "port=s3cr3t") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// A server that was killed was not shut down, and no password makes a role.
func TestEnds(t *testing.T) {
	d := testkit.Must(Parse("host=h user=u"))(t)
	for _, c := range []struct{ code, message, want string }{
		{"57P01", "terminating connection due to unexpected postmaster exit", "the server was killed or crashed: "},
		{"57P01", "Verbindung wird abgebrochen wegen unerwartetem Ende des Postmasters",
			"the server was killed or crashed: "},
		{"57P01", "terminating connection due to administrator command", "the server was shut down, or this session ended: "},
		{"57P02", "terminating connection because of crash of another server process",
			"the server restarts, because one of its processes crashed: "},
		{"28000", `role "u" does not exist`, `lets this user in by: create role "u" login in role pg_monitor`},
		{"28000", `no pg_hba.conf entry for host "10.0.0.9", user "u"`, "its administrator adds such a line"},
		{"28P01", `password authentication failed for user "u"`, "the password can be in ~/.pgpass"},
	} {
		testkit.Has(t, d.Problem(&pgconn.PgError{Code: c.code, Message: c.message}).Error(), c.want)
	}
}

func TestRefused(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:s3cr3t@127.0.0.1:1/d": "connection refused",
		"mysql://u:s3cr3t@127.0.0.1:1/":     "connection refused",
		"sqlserver://u:s3cr3t@127.0.0.1:1":  "127.0.0.1:1",
		"oracle://u:s3cr3t@127.0.0.1:1/S":   "127.0.0.1:1",
		"host=/nowhere user=u":              "no such socket",
		"mysql://u@h/?sslmode=x":            "socket and tls",
	} {
		d := testkit.Must(Parse(dsn))(t)
		_, err := Open(context.Background(), d)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") ||
			strings.Contains(err.Error(), "\n") || !IsUsage(err) {
			t.Errorf("%s: %v", dsn, err)
		}
		if built := !strings.HasSuffix(err.Error(), "make build TAGS="+d.Vendor.tag); built != d.Vendor.Built() {
			t.Errorf("%s: the driver is built in: %v; said: %v", dsn, d.Vendor.Built(), err)
		}
	}
}

// A unit of systemd has no $HOME.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	for _, dsn := range []string{"host=/nowhere user=u", "postgres://u@127.0.0.1/d", "mysql://u@127.0.0.1/"} {
		if _, err := Parse(dsn); err != nil {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

// Every vendor has a place for the password that is not the command line, and what is
// taken from there does not show.
func TestPasswordElsewhere(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	testkit.OK(t, os.WriteFile(filepath.Join(home, ".my.cnf"), []byte("[client]\npassword=s3cr3t\n"), 0o600))
	cases := []struct{ dsn, variable, place string }{
		{"postgres://u@127.0.0.1:1/d", "PGPASSWORD", "~/.pgpass"},
		{"mysql://u@127.0.0.1:1/", "MYSQL_PWD", "~/.my.cnf"},
		{"mysql://u@127.0.0.1:1/", "", "$MYSQL_PWD"},
		{"sqlserver://u@127.0.0.1:1", "SQLCMDPASSWORD", "$SQLCMDPASSWORD"},
		{"oracle://u@127.0.0.1:1/S", "", "a DSN from a file (--dsn-file) or $HOSTLAB_DSN"},
	}
	var tried []string
	for _, c := range cases {
		tried = append(tried, c.dsn)
	}
	eachVendor(t, tried)
	for _, c := range cases {
		t.Run(c.dsn[:5]+c.variable, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, "s3cr3t")
			}
			d, err := Parse(c.dsn)
			if err != nil || d.HasPassword() || !strings.Contains(d.PasswordPlaces(), c.place) {
				t.Fatalf("%v, password %v, places %q", err, d.HasPassword(), d.PasswordPlaces())
			}
			got := "s3cr3t"
			switch d.Vendor {
			case Postgres:
				got = d.Postgres.Password
			case MariaDB:
				if got, err = d.elsewhere(); err != nil {
					t.Error(err)
				}
			case sqlServer:
				got = sqlServerPassword(t, d)
				if sqlServerPassword(t, &DSN{Vendor: sqlServer, url: mustURL(t, "sqlserver://h")}) != "" {
					t.Error("a password without a user")
				}
			default:
				d.hide("s3cr3t")
			}
			if said := d.Problem(errors.New("no s3cr3t")).Error(); got != "s3cr3t" || strings.Contains(said, "s3cr3t") {
				t.Errorf("taken: %v, said %q", got == "s3cr3t", said)
			}
		})
	}
	for vendor, refused := range map[string]error{"postgres": &pgconn.PgError{Code: "28P01"},
		"mysql":     &mysql.MySQLError{Number: 1045, Message: "Access denied"},
		"sqlserver": errors.New("mssql: login error: Login failed for user 'u'."),
		"oracle":    errors.New("ORA-01017: x")} {
		d := testkit.Must(Parse(vendor + "://u@h/d"))(t)
		if said := d.Problem(refused).Error(); !strings.HasSuffix(said, "; the password can be in "+d.PasswordPlaces()) {
			t.Error(said)
		}
	}
}

func sqlServerPassword(t *testing.T, d *DSN) string {
	t.Helper()
	u := testkit.Must(d.sqlServer())(t)
	password, _ := u.User.Password()
	return password
}

func mustURL(t *testing.T, text string) *url.URL {
	return testkit.Must(url.Parse(text))(t)
}

func FuzzParse(f *testing.F) {
	f.Add("postgres://u:s3cr3t@h/db")
	f.Add("host=h password=x")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if (d == nil) != (err != nil) {
			t.Fatal("neither or both")
		}
	})
}

// The Makefile names the tags of all drivers where it says how to build them, and where it tests them.
func TestTagsAreNamed(t *testing.T) {
	text := testkit.Must(os.ReadFile("../../../Makefile"))(t)
	lists := regexp.MustCompile(`(?i)tags=([a-z,]*,[a-z,]*)`).FindAllStringSubmatch(string(text), -1)
	testkit.Is(t, 2, len(lists), "lists of tags", lists)
	for _, list := range lists {
		for _, v := range Vendors() {
			if v.tag != "" && !slices.Contains(strings.Split(list[1], ","), v.tag) {
				t.Errorf("the Makefile lacks %s in %s", v.tag, list[0])
			}
		}
	}
}
