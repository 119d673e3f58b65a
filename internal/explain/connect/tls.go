package connect

import (
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// trustNetwork is what to do about a server without TLS; allow is the parameter that permits it.
func trustNetwork(allow string) string {
	return "turn TLS on there, or add " + allow + " to the DSN if you trust the network"
}

// Loopback reports whether a host, as it is written, is this one. What DNS or a file says
// of other names does not count: it may say something else the next time.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// pgLocal reports that nothing leaves this host.
func pgLocal(host string, port uint16) bool {
	network, _ := pgconn.NetworkAddress(host, port)
	return network == "unix" || Loopback(host)
}

// errMode is an sslmode without a value, which would be one that permits no TLS.
const errMode = safe("has an empty sslmode; name one, such as require, or leave it out")

// requireTLS takes the ways without TLS from cfg that lead to other hosts, unless the
// name itself or the service in it has an sslmode. pgx and libpq choose prefer, which
// sends the password in clear to whatever refuses TLS. $PGSSLMODE can ask for more, but
// not for less: it is not about this server.
func requireTLS(cfg *pgx.ConnConfig, s pgSettings) (*pgx.ConnConfig, error) {
	if s.named["sslmode"] != "" || !leaksPostgres(cfg) {
		return cfg, nil
	}
	text := "sslmode=require " + s.text
	if base, query, _ := strings.Cut(s.text, "?"); s.isURL {
		text = base + "?sslmode=require&" + query
	}
	strict, err := pgx.ParseConfig(strings.TrimSuffix(text, "&"))
	if err != nil {
		return nil, err
	}
	if leaksPostgres(strict) {
		return nil, errMode
	}
	// To this host the ways stay as they were: its server seldom has TLS.
	usual := ways(cfg)
	var all []*pgconn.FallbackConfig
	for _, w := range ways(strict) {
		if !pgLocal(w.Host, w.Port) {
			all = append(all, w)
			continue
		}
		for _, u := range usual {
			if u.Host == w.Host && u.Port == w.Port {
				all = append(all, u)
			}
		}
	}
	strict.Host, strict.Port, strict.TLSConfig, strict.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	return strict, nil
}

// ways are all that pgx will try, in this order.
func ways(cfg *pgx.ConnConfig) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
}

func leaksPostgres(cfg *pgx.ConnConfig) bool {
	return slices.ContainsFunc(ways(cfg), func(w *pgconn.FallbackConfig) bool {
		return w.TLSConfig == nil && !pgLocal(w.Host, w.Port)
	})
}

// protect does the same for MariaDB. Its servers make their certificates themselves, so
// that, as with sslmode=require, TLS is asked for and the certificate is not checked.
func protect(cfg *mysql.Config) {
	host, _, _ := net.SplitHostPort(cfg.Addr)
	local := cfg.Net == "unix" || cfg.Net == "tcp" && Loopback(host)
	if cfg.TLSConfig == "" && !local {
		cfg.TLSConfig = "skip-verify"
	}
	if cfg.TLSConfig == "" || cfg.TLSConfig == "false" || cfg.TLSConfig == "preferred" {
		cfg.AllowCleartextPasswords, cfg.AllowOldPasswords = false, false
	}
	cfg.AllowAllFiles = false // a server could ask for any file of this host
}
