#!/bin/sh
# Installs what is missing, builds Release into build/, runs every test and counts them.
# usage: scripts/test.sh
# With QUICK=1, as .ci/run has it, long tests are shortened to what notices a change, and three things are
# left to others: the unit tests to the sanitized build of scripts/check.sh; the package, and the pages in a
# browser, to scripts/check.sh --long.
# The last line is "N passed, N failed"; the exit status is 0 when none failed.
set -eu
case "${1:-}" in -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."

scripts/setup.sh --tests
case "${QUICK:-}" in 1) target=test_tools ;; *) target=all ;; esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM
began=$(date +%s)
{ cmake -S . -B build -G Ninja && cmake --build build --target "$target"; } >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
echo "build: $(($(date +%s) - began)) s"

AGGREGATE_POWER=$PWD/build/aggregate-power
AGGREGATE_POWER_DYNAMIC=$PWD/build/tests/aggregate-power-dynamic
FAULT_SHIM=$PWD/build/tests/fault_shim.so
export AGGREGATE_POWER AGGREGATE_POWER_DYNAMIC FAULT_SHIM
unset REQUIRE_POWER GPU_METRICS_CSV

# The longest first and in parts, so that all processors are busy to the end.
set --
if [ "$target" = all ]; then
  unit=build/tests/aggregate-power-tests
  set -- "$unit --gtest_filter=*Truth*" "$@"
  for part in 0 1 2; do
    set -- "$@" "env GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=$part $unit --gtest_filter=-*Truth*"
  done
fi
backfill=tests/backfill/backfill_test.py
set -- tests/faults/fault_test.py build/tests/core_tests "$@" "$backfill --part 1/3" "$backfill --part 2/3" "$backfill --part 3/3" \
  tests/faults/kill_test.py tests/faults/edits_test.py tests/scripts/monitor_run_test.py \
  tests/reporting/report_test.py tests/memory/memory_test.py
for program in tests/*/*_test.py tests/*/*_test.sh; do
  case " $* " in *" $program "*) continue ;; esac
  case $target:$program in test_tools:tests/scripts/package_test.sh) continue ;; esac
  set -- "$@" "$program"
done
sh tests/run_tests.sh "$@"
