#!/bin/sh
# Runs programs of tests, one more at a time than there are processors, since some only wait for a while,
# and adds up what they count.
# usage: tests/run_tests.sh 'PROGRAM [ARGUMENT...]'...
# A program prints "N passed, N failed" at its end, or what GoogleTest does. Shows the output of those
# that failed, then the seconds of each, slowest first, then the lines of the output that name a failure,
# which a cut log still holds. The last line is "N passed, N failed"; the exit status is 0 when none failed.
set -eu
case "${1:-}" in -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;; esac

if [ "${1:-}" = --one ]; then
  results=$2
  program=$3
  log=$(mktemp "$results/log.XXXXXX")
  case $program in *.py | *.py\ *) start='python3' ;; *.sh | *.sh\ *) start='sh' ;; *) start= ;; esac
  status=0
  began=$(date +%s%N)
  # shellcheck disable=SC2086 # the program's arguments are meant to be split
  $start $program >"$log" 2>&1 || status=$?
  took=$(($(date +%s%N) - began))
  good=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}.*/\1/p; s/^\([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log" | tail -n 1)
  bad=$(sed -n 's/^ *\([0-9]*\) FAILED TESTS\{0,1\}$/\1/p; s/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log" | tail -n 1)
  [ -n "$good" ] || good=0
  [ -n "$bad" ] || bad=0
  # One that broke off, or counted nothing, failed.
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$good" -eq 0 ]; }; then bad=1; fi
  echo "$good $bad $took $program" >>"$results/counts"
  [ "$bad" -ne 0 ] || exit 0
  echo "$good passed, $bad failed: $program" >"$log.failed"
  cat "$log.failed" "$log" >"$log.told"
  cat "$log.told"
  grep -E '^(not ok|FAIL|ERROR)|^\[  FAILED  \]' "$log" | head -n 20 >>"$log.failed"
  exit 0
fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
: >"$results/counts"
printf '%s\0' "$@" | xargs -0 -P "$(($(nproc) + 1))" -I '{}' sh "$0" --one "$results" '{}' || :
sort -k 3nr "$results/counts" | awk '{ good = $1; bad = $2; took = $3; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "")
  printf "%7.1f s  %s passed, %s failed: %s\n", took / 1e9, good, bad, $0 }'
cat "$results"/*.failed 2>/dev/null || :
awk -v programs=$# '{ passed += $1; failed += $2 }
  END { failed += programs - NR; printf "%d passed, %d failed\n", passed, failed; exit (failed > 0) }' "$results/counts"
