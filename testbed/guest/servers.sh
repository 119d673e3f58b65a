# servers.sh: sourced by the guest's init for a recording with servers. It makes out/servers.img, on the first disk, the
# guest's /usr, /etc and /var, and starts servers as a distribution's units do: an account and a control group of their own.
mkdir -p /mnt/d /usr /etc /var /lib /lib64 /run; mount -t ext4 /dev/vda /mnt/d
for d in usr etc var lib64; do [ ! -d /mnt/d/$d ] || mount --bind /mnt/d/$d /$d; done
mkdir -p /lib/x86_64-linux-gnu; [ ! -d /mnt/d/lib ] || mount --bind /mnt/d/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu
chmod 1777 /run /tmp /dev/shm; mkdir -p /sys/fs/cgroup/system.slice
echo "+cpu +memory +cpuset +pids" > /sys/fs/cgroup/cgroup.subtree_control; echo "+cpu +memory +cpuset +pids" > /sys/fs/cgroup/system.slice/cgroup.subtree_control

# serve UNIT UID SCORE NOFILE COMMAND...: a unit's process
serve() {
  unit=$1 uid=$2 score=$3 files=$4; shift 4; mkdir -p "/sys/fs/cgroup/system.slice/$unit"
  ( echo $score > /proc/self/oom_score_adj; sh -c 'echo $PPID' > "/sys/fs/cgroup/system.slice/$unit/cgroup.procs"; ulimit -n "$files"
    exec /usr/bin/setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@" </dev/null >/tmp/log.$uid 2>&1 ) &
}
# stand NAME [ARGS...]: a process of a server that is not installed here; it only waits
stand() {
  name=$1; shift; case $name in ora_*) cp /job/bin /run/oracle; ln -sf oracle "/run/$name" ;; *) cp /job/bin "/run/$name" ;; esac
  ( cd "${AT:-/}"; exec "/run/$name" "$@" </dev/null >/dev/null 2>&1 ) &
}
# until_log FILE TEXT: waits until a server says that it is up
until_log() { n=0; until grep -q "$2" "$1" 2>/dev/null; do n=$((n+1)); [ $n -lt 300 ] || { cat "$1"; return 1; }; usleep 100000; done; }
postgres() { serve postgresql-15.service 101 ${1:--900} 1024 /usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main -c config_file=/etc/postgresql/15/main/postgresql.conf
  until_log /tmp/log.101 "ready to accept"; }
mariadb() { serve mariadb.service 102 0 32768 /usr/sbin/mariadbd; until_log /tmp/log.102 "ready for connections"; }
redis() { serve redis-server.service 103 0 65535 /usr/bin/redis-server --dir /var/lib/redis --save "" --daemonize no; until_log /tmp/log.103 "Ready to accept"; }
