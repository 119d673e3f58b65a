#!/bin/bash
# wine.sh: builds the Windows program and tries each command under Wine 8 (Debian 12), as far as Wine can show anything. Wine
# is not Windows, and times mean nothing there. Installs wine64 and mingw where they are missing (1 GB, a minute; needs root);
# then it takes some minutes. Says "ok" at the end, or which command went wrong and what that printed (exit status 1).
set -euo pipefail; cd "$(dirname "$0")/.."
need="wine64 gcc-mingw-w64-x86-64"
dpkg -s $need >/dev/null 2>&1 || apt-get install -y --no-install-recommends $need >/dev/null
wine=/usr/lib/wine/wine64
[ -x "$wine" ] || { echo "wine: no $wine; this needs Debian's package wine64" >&2; exit 1; }

dir=$(mktemp -d)
export WINEPREFIX=$dir/prefix WINEDEBUG=-all HOSTLAB_DSN=
end() { timeout 20 "${wine}server" -k 2>/dev/null || timeout 20 wineserver -k 2>/dev/null || :; rm -rf "$dir"; }
trap end EXIT
mkdir "$WINEPREFIX"
timeout 120 "$wine" wineboot -i >/dev/null 2>&1
x86_64-w64-mingw32-gcc -shared -O2 -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" testbed/wine/bcryptprimitives.c -ladvapi32
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -o "$dir/hostlab.exe" ./cmd/hostlab
cd "$dir"

tried=0
fail() { echo "wine: $1" >&2; cat out >&2; exit 1; }
# try STATUS PATTERN ARGS...: exit status, and an extended regular expression that the output must have; '' where it may be
# empty, in which grep finds no line at all. Nothing may panic.
try() {
  local want=$1 pattern=$2 got=0; shift 2
  timeout 90 "$wine" ./hostlab.exe "$@" >out 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "hostlab $*: exit status $got, expected $want"
  [ -z "$pattern" ] || grep -Eq -- "$pattern" out || fail "hostlab $*: no $pattern in the output"
  ! grep -Eq '^panic:|^fatal error:|goroutine [0-9]+ \[' out || fail "hostlab $*: it crashed"
  tried=$((tried + 1))
}
lacks() { ! grep -Eq -- "$1" out || fail "the output names $1, which is Linux' alone"; }

try 0 'windows/amd64' version
try 0 'GetLogicalProcessorInformationEx' facts
lacks '/proc/|/sys/|/etc/|Debian'
try 0 'GetVolumeInformation' facts --path 'C:\'
try 0 '"windows"' facts --format json
try 2 'no Linux' facts --record host.txtar
try 2 'Linux' check --root "Z:$dir"
try 0 'Measurement|measured' facts --probe
try 0 'PWR-011' check --all
try 0 'a setting of Linux' check --all
try 0 'Frequency policy' assess --quick --log-dir . --html a.html --json a.json
[ -s a.html ] && [ -s a.json ] || fail "assess wrote no report"
try 0 'powrprof.dll has no' settings # Wine's has none of the functions; wine_test.go has one that does
try 3 'powrprof.dll has no' set PERFEPP=0
try 0 'Nothing to put back' revert
try 0 'Nothing is set' verify
try 0 'powercfg /setactive' export powercfg --role production-db
try 0 'Configuration HostlabPower' export dsc governor=performance
try 3 'watch reads counters of Linux' watch
try 2 'connection refused' explain --dsn postgres://x@127.0.0.1:1/d --for 1s
try 0 'query-degree' study list
try 0 'xmlquery' study check query-degree
try 2 'no such file' study check nothing.toml
try 0 'logcommit' workload list
try 0 'acquisitions|lock_rate' workload corun
try 0 'p50' workload logcommit
try 0 'tx_rate|cpu_s|operations' workload null
try 0 '1\.[0-9]+x' predict --workload sap-dialog --policy balanced --load 5%
try 0 'Register-ArgumentCompleter' completion powershell
try 2 'unknown command' nothing

for lock in tas ttas ticket mcs mutex; do try 0 'Locked = [1-9]' scanlock --duration 1s --lock $lock; done
for other in pause alu fma; do try 0 "$other +0" scanlock --duration 1s --antagonist $other; done
try 0 'Affinity = 00000002' scanlock --duration 1s -s1 -l2
try 0 'Affinity = 00000002' scanlock --duration 1s -s cpu:0 -l cpu:1
try 0 'Affinity = 00000002' scanlock --duration 1s -s 0:1 -l 0:2
try 2 'not there' scanlock --duration 1s -s 1:1 -l 0:2
try 0 '"acquisitions_per_s"' scanlock --duration 1s --latency --format json

try 0 'inconclusive' run query-degree --blocks 2 --out qd --yes
try 0 'Median commit' run commit-layout --blocks 2 --out cl --yes
try 11 'EFFECTS' report qd
for format in json csv markdown benchfmt; do try 11 'degree' report qd --format $format; done
try 11 '' report qd --format html --out qd.html
grep -q '<svg' qd.html || fail "report --format html drew nothing"

# Ctrl-C, which Wine makes of SIGINT, ends it with its sums; a worker that is killed is said, and nobody waits for it.
background() { timeout 60 "$wine" ./hostlab.exe scanlock --interval 1s >out 2>&1 </dev/null & bg=$!; sleep 4; }
# ours PATTERN: the processes of this prefix whose command line has it.
ours() {
  local p
  for p in /proc/[0-9]*; do
    tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -Eq -- "$1" && tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qx "WINEPREFIX=$WINEPREFIX" &&
      [ "$(readlink "$p/exe")" = "$(readlink -f "$wine")" ] && echo "${p#/proc/}" || :
  done
}
background
kill -INT $(ours 'hostlab.exe scanlock') || fail "scanlock does not run"
wait $bg || fail "scanlock did not end well at Ctrl-C"
grep -q 'Whole run' out || fail "scanlock: no sums at Ctrl-C"
background
worker=$(ours '^hostlab-worker'); [ -n "$worker" ] || fail "scanlock has no worker"
kill -9 $worker; got=0; wait $bg || got=$?
[ $got = 1 ] || fail "scanlock: exit status $got when its worker was killed, expected 1"
background
kill -9 $(ours 'hostlab.exe scanlock'); sleep 3
[ -z "$(ours '^hostlab-worker')" ] || fail "a worker outlives its parent"
echo "wine: ok, $((tried + 3)) trials"
