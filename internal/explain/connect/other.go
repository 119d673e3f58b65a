package connect

import (
	"net/url"
	"strings"

	"hostlab/internal/explain"
)

// untried says so of a source that was written from a vendor's documentation.
func untried(a *explain.Asked) {
	a.Miss("how well this reads %s: it follows the documentation, and has not been tried on a live server", a.Info.Vendor)
}

// sqlServer is the address as its driver takes it.
func (d *DSN) sqlServer() (*url.URL, error) {
	u := *d.url
	u.Scheme = "sqlserver"
	q := u.Query()
	q.Set("app name", application)
	q.Set("ApplicationIntent", "ReadOnly")
	if q.Get("database") == "" {
		q.Set("database", "master") // the driver asks for one with this intent
	}
	u.RawQuery = q.Encode()
	if user := u.User.Username(); user != "" && !d.HasPassword() {
		password, err := d.elsewhere()
		if err != nil {
			return nil, err
		}
		if password != "" {
			u.User = url.UserPassword(user, password)
		}
	}
	return &u, nil
}

// oracle is the address as its driver takes it, with TLS where the DSN says neither SSL=
// nor, in a whole descriptor (connStr), which protocol.
func (d *DSN) oracle() (*url.URL, *way) {
	u, q := *d.url, d.url.Query()
	has := map[string]bool{}
	for name := range q {
		has[strings.ToLower(name)] = true
	}
	way := &way{dial: d.dial, answer: d.answer}
	d.way = way
	if has["ssl"] || has["connstr"] {
		return &u, way
	}
	if way.here = Loopback(u.Hostname()) && !has["server"] && !has["unix address"]; way.here {
		return &u, way
	}
	way.encrypted = true
	q.Set("SSL", "enable")
	if !has["ssl verify"] {
		q.Set("SSL VERIFY", "false")
	}
	u.RawQuery = q.Encode()
	return &u, way
}
