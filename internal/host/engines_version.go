package host

import (
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

// found returns what the first group of an expression finds in a file, of which a recording keeps
// the match alone.
func (p process) found(file string, re *lazyre.Regexp) Fact[string] {
	return p.foundBy(file, func(s string) (string, string) {
		if m := re.FindStringSubmatch(s); m != nil {
			return m[0], m[1]
		}
		return "", ""
	})
}

// foundBy is found with a search that also says what of the text to keep.
func (p process) foundBy(file string, find func(string) (kept, version string)) Fact[string] {
	text := func(b []byte) string { return strings.ReplaceAll(string(b), "\x00", "") } // SQL Server writes UTF-16
	keep := func(b []byte) []byte {
		kept, _ := find(text(b))
		return []byte(kept)
	}
	b, err := p.t.keeping(keep).head(file, mostVersion)
	if err != nil {
		return Unknown[string](file, adviseDenied(err))
	}
	_, version := find(text(b))
	if version == "" {
		return absentFact[string](file, "it tells no version of this process")
	}
	return Known(version, "", file)
}

// mostVersion is how much of a file is searched for a version.
const mostVersion = 64 << 10

var (
	pgVersion     = lazyre.New(`^(\d+(?:\.\d+)?)\s*$`)
	pgProgram     = lazyre.New(`/(?:postgresql/|pgsql-)(\d+(?:\.\d+)?)/bin/post(?:gres|master)$`)
	mysqlVersion  = lazyre.New(`^(\d+\.\d+\.\d+)`)
	mysqlHistory  = lazyre.New(`(?s)^.*"version": ?"(\d+\.\d+\.\d+)`) // the last one
	mssqlVersion  = lazyre.New(`Microsoft SQL Server[^\n]* - (\d+\.\d+)`)
	mongodVersion = lazyre.New(`"msg":"Build Info","attr":\{"buildInfo":\{"version":"(\d+\.\d+\.\d+)`)
)

// below is found in a file of a server's directory.
func (p process) below(data Fact[string], name string, re *lazyre.Regexp) Fact[string] {
	if data.State != StateOK {
		return unlike[string](data)
	}
	return p.found(data.Value+"/"+name, re)
}

// versionOfPostgres reads the file with which each cluster begins; packages also put the version
// into the program's path.
func versionOfPostgres(p process, data Fact[string]) Fact[string] {
	f := p.below(data, "PG_VERSION", pgVersion)
	if m := pgProgram.FindStringSubmatch(p.args[0]); m != nil && f.State != StateOK {
		return Known(m[1], "", p.file("cmdline"))
	}
	return f
}

// versionOfMySQL reads which server has last brought the system tables up to date, which every
// newer one does at its first start. From 8.4 on MySQL keeps the history of that.
func versionOfMySQL(p process, data Fact[string]) Fact[string] {
	return firstKnown(p.below(data, "mysql_upgrade_history", mysqlHistory),
		p.below(data, "mysql_upgrade_info", mysqlVersion),
		p.below(data, "mariadb_upgrade_info", mysqlVersion))
}

// versionOfSQLServer reads the first line of the log that every start begins anew.
func versionOfSQLServer(p process, _ Fact[string]) Fact[string] {
	return p.found(p.root+"/var/opt/mssql/log/errorlog", mssqlVersion)
}

// versionOfMongoDB reads what the server writes to its log at each start, and at the beginning of
// each new log: the number of its process, and then its version.
func versionOfMongoDB(p process, _ Fact[string]) Fact[string] {
	conf := p.mongoConf().Or("")
	file := yamlPath(conf, "systemLog", "path")
	if named := p.option("logpath"); named != "" {
		file = named
	}
	if !strings.HasPrefix(file, "/") {
		return onlyServer(p)
	}
	begin := lazyre.New(`"pid":"?` + strconv.Itoa(p.pid) + `"?[,}]`)
	find := func(s string) (kept, version string) {
		at := begin.FindStringIndex(s)
		if at == nil {
			return "", ""
		}
		m := mongodVersion.FindStringSubmatch(s[at[1]:])
		if m == nil {
			return "", ""
		}
		return s[at[0]:at[1]] + m[0], m[1]
	}
	return p.foundBy(p.seen(file), find)
}
