#!/bin/bash
# build.sh NAME args...: out/NAME.asl and out/NAME.aml (needs acpica-tools)
set -euo pipefail; cd "$(dirname "$0")"; n=$1; shift
case $n in cpc|pcct) gen=./gen-$n.sh ;; *) gen=./gen-ssdt.sh ;; esac
$gen "$@" > "../out/$n.asl"; cd ../out; iasl -p "$n" "$n.asl" > "$n.log" 2>&1 || { cat "$n.log"; exit 1; }
