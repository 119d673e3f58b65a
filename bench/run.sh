#!/bin/bash
# run.sh: hostlab's own figures, each as a ratio within one interleaved run. See README.md beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v fio >/dev/null || { echo "bench: fio is not installed: apt-get install fio" >&2; exit 2; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
echo "== binary"; ls -l bin/hostlab | awk '{printf "%.1f MB\n", $5 / 1e6}'
echo "== check on this machine, against cat of the same files"
go run ./bench/checktime -n "${ROUNDS:-21}" bin/hostlab
echo "== check on a made host of 512 CPUs, against cat of the same files"
go run ./internal/host/hosttest/mkhost "$dir/made512"
go run ./bench/checktime -n "${ROUNDS:-21}" bin/hostlab "$dir/made512"
echo "== assess, whole"
for args in --quick ""; do
  begin=$(date +%s.%N)
  bin/hostlab assess $args --quiet --log-dir "$dir" --html "$dir/a.html" --json "$dir/a.json"
  awk -v a="$begin" -v b="$(date +%s.%N)" -v w="assess $args" 'BEGIN {printf "%s: %.1f s\n", w, b - a}'
done
echo "== commit probe against fio"
./bench/commit-vs-fio/run.sh "${COMMIT_DIR:-.}"
echo "== what the runner, the record, the analysis and the report cost"
go test -run '^$' -bench 'Overhead|100k|Append|Analyse|Report' -benchtime 3x ./internal/experiment/runner ./internal/result/store ./internal/analysis ./cmd/hostlab
echo "== killed at random moments, resumed, counted"
./bench/kill/run.sh "${KILLS:-200}"
echo "== verdicts, on simulated experiments whose truth is known"
go run ./bench/verdicts -n "${EXPERIMENTS:-2000}"
echo "== the model's engine against other simulation engines"
./bench/engines/run.sh
echo "== scan and lock loops against the same program in C"
./bench/scanlock/run.sh -n "${SCANLOCK_ROUNDS:-15}"
