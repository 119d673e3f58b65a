#!/bin/bash
# fuzz.sh TIME: runs each fuzz target for a while, one after the other; stops at the first failure.
# Go spends a minute on making each input small that reaches new code, and runs no others meanwhile: ten tries are enough.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include=*_test.go '^func Fuzz' internal cmd | while read -r file; do
  sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r name; do
    go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-10s}" -fuzzminimizetime 10x "./$(dirname "$file")"
  done
done
