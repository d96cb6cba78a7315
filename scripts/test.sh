#!/bin/sh
# Installs what is missing, builds Release into build/, runs every test and counts them.
# usage: scripts/test.sh
# The last line is "N passed, N failed"; the exit status is 0 when none failed.
set -eu
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."

scripts/setup.sh --tests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ cmake -S . -B build -G Ninja && cmake --build build; } >"$log" 2>&1 || { cat "$log" >&2; exit 1; }

AGGREGATE_POWER=$PWD/build/aggregate-power
AGGREGATE_POWER_DYNAMIC=$PWD/build/tests/aggregate-power-dynamic
FAULT_SHIM=$PWD/build/tests/fault_shim.so
export AGGREGATE_POWER AGGREGATE_POWER_DYNAMIC FAULT_SHIM
unset REQUIRE_POWER GPU_METRICS_CSV

# The longest first.
set -- tests/backfill/backfill_test.py tests/faults/fault_test.py
for program in build/tests/aggregate-power-tests tests/*/*_test.py tests/*/*_test.sh; do
  case " $* " in *" $program "*) ;; *) set -- "$@" "$program" ;; esac
done
sh tests/run_tests.sh "$@"
