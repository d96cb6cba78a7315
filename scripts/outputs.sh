#!/bin/sh
# Shows whether the program prints and writes what it did: every output is in a list of hashes.
# usage: scripts/outputs.sh --write FILE | --compare FILE
# Builds the program, runs it on all of testdata, on random runs and packages, and on a store of 200 runs,
# and writes the list, or compares with it and shows the lines that differ. The list that is kept is
# tests/outputs/outputs.list: a commit that changes an output on purpose updates it and says why.
# Exit status: 0 the same, or written; 1 not the same; 2 wrong usage.
set -eu
usage() { sed -n '2,7s/^# //p' "$0"; }
case "${1:-}:$#" in
  -h:* | --help:*) usage; exit 0 ;;
  --write:2 | --compare:2) ;;
  *) usage >&2; exit 2 ;;
esac
case $2 in /*) list=$2 ;; *) list=$PWD/$2 ;; esac
if [ "$1" = --compare ] && [ ! -r "$list" ]; then
  echo "outputs.sh: cannot read '$2'; the list that is kept is tests/outputs/outputs.list" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
scripts/setup.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM
{ cmake -S . -B build -G Ninja && cmake --build build --target aggregate-power energy_truth; } >"$log" 2>&1 ||
  { cat "$log" >&2; exit 1; }
AGGREGATE_POWER=$PWD/build/aggregate-power
export AGGREGATE_POWER
python3 tests/outputs/outputs.py "$1" "$list"
