package connect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

func TestParseOwn(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PGPASSWORD", "secret")
	t.Setenv("MYSQL_PWD", "secret")
	for text, want := range map[string]string{
		"postgres://ann@db.example:5433/erp":        "ann at db.example:5433, database erp",
		"host=/tmp user=ann dbname=erp port=5432":   "ann at /tmp, database erp",
		"mariadb://ann@db.example/erp":              "ann at db.example, database erp",
		"mysql://ann@localhost/?socket=/run/m.sock": "ann at /run/m.sock",
		"ann@tcp(10.0.0.1:3307)/erp":                "ann at 10.0.0.1:3307, database erp",
	} {
		got, err := ParseOwn(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %q, %v, expected %q", text, got, err, want)
			continue
		}
		password := ""
		if got.Vendor == Postgres {
			password = got.Postgres.Password
		} else if cfg, err := got.MariaDBConfig(); err == nil {
			password = cfg.Passwd
		}
		testkit.Is(t, "secret", password, text, "the password of the environment was not taken")
		if said := got.Problem(errors.New("no secret")).Error(); strings.Contains(said, "secret") {
			t.Errorf("%s: %s", text, said)
		}
	}
}

func TestParseOwnRefuses(t *testing.T) {
	for text, password := range map[string]bool{
		"postgres://ann:s3cr3t@db/erp": true, "postgres://db/erp?password=s3cr3t": true, "host=db password=s3cr3t": true,
		"host=db password = s3cr3t":   true,
		"mariadb://ann:s3cr3t@db/erp": true, "ann:s3cr3t@tcp(db)/erp": true,
		"mariadb://db/erp?PassWord=s3;cr3t": true, "host=db password\t=s3cr3t": true, "ann@tcp(db)/erp?password=s3cr3t": true,
		// What stands before / ? or # in a password is taken for a host, and what follows for a path or parameters.
		"postgres://ann:1234/s3cr3t@db/erp": false, "postgres://ann:s3@cr3t/s3cr3t@db/erp": false,
		"postgres://ann:12?s3cr3t@db/erp": false, "postgres://ann:12#s3cr3t@db/erp": false,
		"mariadb://ann:1234/s3cr3t@db/erp": false, "mysql://ann:12?s3cr3t=x@db/erp": false,
		"Server=db;User Id=ann;Pass=s3cr3t": false, "host=db s3cr3t=x": false, "postgres://ann@db/erp?s3cr3t=x": false,
		"postgres:ann:s3cr3t=x@db":        false,
		"postgres://ann:s3cr3t%zz@db/erp": false, "oracle://s3cr3t": false, "s3cr3t": false, "": false,
		"postgres://db:s3cr3t/x": false, "host=db sslmode=s3cr3t": false,
	} {
		_, err := ParseOwn(text)
		if err == nil || errors.Is(err, ErrPassword) != password || strings.Contains(err.Error(), "s3cr3t") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOptionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".my.cnf")
	testkit.OK(t, os.WriteFile(path, []byte("[mysqld]\npassword=no\n[client]\nuser=ann\npassword = \"yes\"\n"),
		0o600))
	if user, got, err := optionFile(path); user != "ann" || got != "yes" || err != nil {
		t.Errorf("%q, %q, %v", user, got, err)
	}
}

// Names that servers and clients do have are taken, as an escaped @ is.
func TestParseOwnTakes(t *testing.T) {
	for _, text := range []string{"postgres://ann%40corp@db/erp?application_name=x&sslmode=prefer",
		"host=db options='-c geqo=off' connect_timeout=3", "mariadb://ann@db/er%40p"} {
		if _, err := ParseOwn(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
