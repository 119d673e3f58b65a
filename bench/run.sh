#!/bin/bash
# run.sh [NAME...]: hostlab's own figures, each as a ratio within one interleaved run; without a
# name all of them, in this order. See README.md beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT

# What needs nothing but Go comes first, then what needs programs of others, then the long ones.
all=(binary checktime assess busy overhead verdicts switchback rollout outliers scanlock watch bound commit-vs-fio commit-vs-pgtestfsync
  xmlquery-vs-psql extract-vs-copy clientcopy-vs-pgbench explain-cost record live-clock live loads causes engines kill settingkill livekill fleet fleet-pages ansible emulated)

# needs NAME PACKAGE: stops where a program is missing that `apt-get install PACKAGE` brings.
needs() {
  command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null || {
    echo "bench: $1 is not installed: apt-get install $2" >&2
    return 2
  }
}

one() {
  case $1 in
  binary) ls -l bin/hostlab | awk '{printf "%.1f MB\n", $5 / 1e6}' ;;
  checktime)
    echo "this machine, against cat of the same files:"
    go run ./bench/checktime -n "${ROUNDS:-21}" bin/hostlab
    echo "a made host of 512 CPUs, against cat of the same files:"
    go run ./bench/mkhost "$dir/made512"
    go run ./bench/checktime -n "${ROUNDS:-21}" bin/hostlab "$dir/made512" ;;
  assess)
    local args begin
    for args in --quick ""; do
      begin=$(date +%s.%N)
      bin/hostlab assess $args --quiet --log-dir "$dir" --out "$dir/a.html" --out "$dir/a.json"
      awk -v a="$begin" -v b="$(date +%s.%N)" -v w="assess $args" 'BEGIN {printf "%s: %.1f s\n", w, b - a}'
    done ;;
  busy) go run ./bench/busy -n "${BUSY_RUNS:-8}" bin/hostlab --quick --log-dir "$dir" ;;
  overhead) # of the runner, the record, the analysis and the report
    go test -run '^$' -bench 'Overhead|100k|Append|Analyse|Report' -benchtime 3x ./internal/experiment/runner ./internal/result/store ./internal/analysis ./cmd/hostlab ;;
  verdicts) go run ./bench/verdicts -n "${EXPERIMENTS:-2000}" ;;
  switchback) go run ./bench/switchback -n "${EXPERIMENTS:-2000}" ;;
  rollout) go run ./bench/rollout -trials "${ROLLOUTS:-1000}" ;;
  outliers) go run ./bench/outliers ;;
  trend) go run ./bench/trend -services "${SERVICES:-100}" ;;
  scanlock) needs gcc gcc && ./bench/scanlock/run.sh -n "${SCANLOCK_ROUNDS:-15}" ;;
  watch) needs tmux tmux && go run ./bench/watch ;;
  bound) go run ./bench/bound -dir "${COMMIT_DIR:-.}" ;;
  commit-vs-fio) needs fio fio && ./bench/commit-vs-fio/run.sh "${COMMIT_DIR:-.}" ;;
  commit-vs-pgtestfsync) needs pg_test_fsync postgresql && ./bench/commit-vs-pgtestfsync/run.sh "${COMMIT_DIR:-.}" ;;
  xmlquery-vs-psql) needs postgres postgresql && go run ./bench/xmlquery-vs-psql ;;
  extract-vs-copy) needs postgres postgresql && go run ./bench/extract-vs-copy ;;
  clientcopy-vs-pgbench) needs postgres postgresql && go run ./bench/clientcopy-vs-pgbench ;;
  explain-cost) needs pgbench postgresql && go run ./bench/explain-cost ;;
  record) # needs root
    needs pgbench postgresql
    go run ./bench/record -pairs "${RECORD_PAIRS:-20}"
    go run ./bench/record -pairs "${RECORD_PAIRS:-20}" -load pipes
    go run ./bench/record -pairs "${RECORD_PAIRS:-20}" -minute ;;
  live-clock) needs pgbench postgresql && go run ./bench/live-clock -pairs "${CLOCK_PAIRS:-8}" ;; # needs root
  live) # needs root
    needs pgbench postgresql && needs mariadbd mariadb-server
    go run ./bench/live -n "${LIVE_RUNS:-40}" -file "${LIVE_FILE:-$dir/live.jsonl}" ;;
  loads) go test -tags=system,bench -count=1 -vet=off -run 'Loads$' -v ./bench/loads ;; # needs root
  causes) # needs root
    needs pgbench postgresql && needs mariadbd mariadb-server && needs pgbouncer pgbouncer && needs redis-server redis-server
    needs nginx nginx-light && needs javac default-jdk-headless
    go run ./bench/causes -for "${CAUSES_FOR:-20s,60s}" -out "${CAUSES_OUT:-$dir/causes}" ;;
  engines) ./bench/engines/run.sh ;;
  ansible)
    testbed/dl/ansible/bin/ansible-galaxy collection install --force -p "$dir/collections" ansible/ >/dev/null
    PATH=$PWD/testbed/dl/ansible/bin:$PATH testbed/dl/ansible/bin/python bench/ansible/run.py "$dir/collections" "$PWD/bin/hostlab" ;;
  kill) ./bench/kill/run.sh "${KILLS:-200}" ;;
  livekill) ./bench/livekill/run.sh "${LIVE_KILLS:-100}" "${LIVE_SERVERS:-20}" ;;
  settingkill) ./bench/settingkill/run.sh "${SETTING_KILLS:-1000}" ;;
  fleet-pages) go run ./bench/fleet-pages -hosts "${FLEET_HOSTS:-5000}" bin/hostlab ;;
  fleet) # needs root
    needs postgres postgresql
    go run ./bench/fleet -dir "${FLEET_DIR:-/tmp}"
    go test -tags=system -vet=off -run 'TestKills$' -v ./internal/fleet/store -kills "${FLEET_KILLS:-200}" ;;
  emulated) go run ./bench/emulated -processes ;;
  esac
}

for name in "$@"; do
  [[ " ${all[*]} " == *" $name "* ]] || { echo "bench: there is no $name; there are: ${all[*]}" >&2; exit 2; }
done
[[ -x bin/hostlab ]] || { echo "bench: bin/hostlab is missing: make build" >&2; exit 2; }
(($#)) || set -- "${all[@]}"
# One that fails, or lacks a program, does not keep the others from running.
failed=()
for name; do
  echo "== $name"
  set +e # in a condition, the shell would go on after an error in the middle
  (set -e; one "$name")
  status=$?
  set -e
  ((status == 0)) || failed+=("$name")
done
((${#failed[@]} == 0)) || { echo "bench: failed: ${failed[*]}" >&2; exit 1; }
