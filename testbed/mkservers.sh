#!/bin/bash
# mkservers.sh: out/servers.img, an ext4 image with PostgreSQL, MariaDB and Redis of this machine, their libraries, and an
# empty database of each, for record.sh. Needs root, the packages postgresql and mariadb-server, and apt for redis-server.
set -euo pipefail; cd "$(dirname "$0")"; mkdir -p out dl
R=$(mktemp -d -p /var/tmp); trap 'rm -rf "$R"' EXIT; chmod 755 "$R"
pg=$(ls /usr/lib/postgresql | sort -V | tail -n1); data=/var/lib/postgresql/$pg/main conf=/etc/postgresql/$pg/main
ls dl/redis-server_*.deb >/dev/null 2>&1 || (cd dl && apt-get download redis-server redis-tools >/dev/null)
for d in dl/redis-server_*.deb dl/redis-tools_*.deb; do dpkg -x "$d" "$R"; done
programs="/usr/lib/postgresql/$pg/bin/postgres /usr/sbin/mariadbd /usr/bin/setpriv $R/usr/bin/redis-server"
for p in $programs; do
  [ "${p#"$R"}" != "$p" ] || install -D -m755 "$(readlink -f "$p")" "$R$p"
  { ldd "$p" || true; } | grep -oE '/[^ ]+' | while read -r l; do [ ! -e "$l" ] || install -D -m755 "$(readlink -f "$l")" "$R$l"; done
done
for l in liblzf1 libjemalloc2 libatomic1; do # of Redis, which need not be installed here
  (cd dl && ls "${l}"_*.deb >/dev/null 2>&1 || apt-get download $l >/dev/null); dpkg -x dl/${l}_*.deb "$R"
done
mkdir -p "$R/usr/lib/postgresql/$pg/lib"; cp "/usr/lib/postgresql/$pg/lib"/{plpgsql,dict_snowball}.so "$R/usr/lib/postgresql/$pg/lib/"
cp -r "/usr/share/postgresql/$pg" "$R/share" && mkdir -p "$R/usr/share/postgresql" && mv "$R/share" "$R/usr/share/postgresql/$pg"
mkdir -p "$R/usr/share/zoneinfo/Etc" && cp /usr/share/zoneinfo/Etc/UTC "$R/usr/share/zoneinfo/Etc/"
mkdir -p "$R/usr/share/mysql" "$R$data" "$R$conf" "$R/var/lib/mysql" "$R/var/lib/redis" "$R/etc/mysql"
cp -r /usr/share/mysql/english /usr/share/mysql/charsets "$R/usr/share/mysql/"
printf 'root:x:0:0::/:/bin/sh\npostgres:x:101:104::/var/lib/postgresql:/bin/sh\nmysql:x:102:105::/var/lib/mysql:/bin/sh\nredis:x:103:106::/var/lib/redis:/bin/sh\n' > "$R/etc/passwd"
chown postgres: "$R$data"; chmod 700 "$R$data"
(cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "/usr/lib/postgresql/$pg/bin/initdb" -D "$R$data" -E UTF8 --locale=C >/dev/null)
mv "$R$data"/postgresql.conf "$R$data"/pg_hba.conf "$R$data"/pg_ident.conf "$R$conf/"
printf "data_directory = '%s'\nhba_file = '%s/pg_hba.conf'\nident_file = '%s/pg_ident.conf'\nunix_socket_directories = '/run'\nlisten_addresses = ''\n" "$data" "$conf" "$conf" >> "$R$conf/postgresql.conf"
chown -R mysql: "$R/var/lib/mysql"; mariadb-install-db --user=mysql --datadir="$R/var/lib/mysql" --skip-test-db >/dev/null 2>&1
printf '[mysqld]\ndatadir = /var/lib/mysql\nsocket = /run/mysqld.sock\nskip-networking\n' > "$R/etc/mysql/my.cnf"
chown -R 101:104 "$R$data" "$R$conf"; chown -R 102:105 "$R/var/lib/mysql"; chown 103:106 "$R/var/lib/redis"
rm -f out/servers.img; truncate -s 700M out/servers.img; mke2fs -q -t ext4 -d "$R" out/servers.img
