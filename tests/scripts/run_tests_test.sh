#!/bin/sh
# What tests/run_tests.sh makes of programs that pass, fail, say nothing, break off or are not there.
# usage: tests/scripts/run_tests_test.sh
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/../.."
# shellcheck source=tests/scripts/same.sh
. tests/scripts/same.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'echo "2 passed, 0 failed"' >"$work/good.sh"
printf '%s\n' 'import sys' 'print(f"{sys.argv[1]} passed, 0 failed")' >"$work/counts.py"
printf '%s\n' 'echo "why it failed"' 'echo "not ok - this one"' 'echo "1 passed, 2 failed"' 'exit 1' >"$work/bad.sh"
printf '%s\n' 'echo "1 passed, 1 failed"' >"$work/bad_with_status_0.sh"
: >"$work/silent.sh"
printf '%s\n' 'echo "5 passed, 0 failed"' 'exit 3' >"$work/breaks_off.sh"
printf '%s\n' '#!/bin/sh' 'echo "[==========] 4 tests from 2 test suites ran. (1 ms total)"' 'echo "[  PASSED  ] 4 tests."' >"$work/googletest"
printf '%s\n' '#!/bin/sh' 'echo "[  PASSED  ] 1 test."' 'echo "[  FAILED  ] 3 tests, listed below:"' 'echo " 3 FAILED TESTS"' 'exit 1' >"$work/googletest_bad"
chmod +x "$work/googletest" "$work/googletest_bad"

# status, last line
run() {
  status=0
  sh tests/run_tests.sh "$@" >"$work/out" 2>&1 || status=$?
  echo "$status $(tail -n 1 "$work/out")"
}
same "programs that pass" "0 15 passed, 0 failed" \
  "$(run "$work/good.sh" "$work/counts.py 9" "$work/googletest")"
same "one that fails" "1 3 passed, 2 failed" "$(run "$work/good.sh" "$work/bad.sh")"
same "its output" "1 2" "$(grep -c '^why it failed$' "$work/out") $(grep -c '^1 passed, 2 failed: ' "$work/out")"
same "what failed stands at the end" "1 passed, 2 failed: $work/bad.sh
not ok - this one
3 passed, 2 failed" "$(tail -n 3 "$work/out")"
echo 'sleep 1.5; echo "1 passed, 0 failed"' >"$work/slow.sh"
run "$work/good.sh" "$work/slow.sh" "$work/counts.py 9" >/dev/null
same "seconds, slowest first" "1 passed, 0 failed: $work/slow.sh" "$(sed -n '1s/^ *[0-9.]* s  //p' "$work/out")"
same "seconds of each" "3" "$(grep -cE '^ +[0-9]+\.[0-9] s  [0-9]+ passed, 0 failed: ' "$work/out")"
same "one that fails with status 0" "1 1 passed, 1 failed" "$(run "$work/bad_with_status_0.sh")"
same "one that counts nothing" "1 2 passed, 1 failed" "$(run "$work/silent.sh" "$work/good.sh")"
same "one that breaks off" "1 5 passed, 1 failed" "$(run "$work/breaks_off.sh")"
same "one that is not there" "1 2 passed, 1 failed" "$(run "$work/missing" "$work/good.sh")"
same "GoogleTest's failures" "1 1 passed, 3 failed" "$(run "$work/googletest_bad")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
