#!/bin/sh
# Installs what is missing, builds Release into build/, runs every test and counts them.
# usage: scripts/test.sh
# The last line is "N passed, N failed"; the exit status is 0 when none failed.
set -eu
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."

scripts/setup.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ cmake -S . -B build -G Ninja && cmake --build build; } >"$log" 2>&1 || { cat "$log" >&2; exit 1; }

AGGREGATE_POWER=$PWD/build/aggregate-power
AGGREGATE_POWER_DYNAMIC=$PWD/build/tests/aggregate-power-dynamic
FAULT_SHIM=$PWD/build/tests/fault_shim.so
export AGGREGATE_POWER AGGREGATE_POWER_DYNAMIC FAULT_SHIM
unset REQUIRE_POWER GPU_METRICS_CSV

passed=0
failed=0
# Runs one program of tests and adds its counts, which it prints as "N passed, N failed" or as
# GoogleTest does.
count() {
  status=0
  "$@" >"$log" 2>&1 || status=$?
  good=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}.*/\1/p; s/^\([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log" | tail -n 1)
  bad=$(sed -n 's/^ *\([0-9]*\) FAILED TESTS\{0,1\}$/\1/p; s/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log" | tail -n 1)
  [ -n "$good" ] || good=0
  [ -n "$bad" ] || bad=0
  # One that broke off, or counted nothing, failed.
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$good" -eq 0 ]; }; then bad=1; fi
  echo "$good passed, $bad failed: $*"
  [ "$bad" -eq 0 ] || cat "$log"
  passed=$((passed + good))
  failed=$((failed + bad))
}

count build/tests/aggregate-power-tests
for program in tests/*/*_test.py; do
  [ ! -e "$program" ] || count python3 "$program"
done
for program in tests/*/*_test.sh; do
  [ ! -e "$program" ] || count sh "$program"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
