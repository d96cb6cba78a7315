#!/bin/sh
# What a change must pass in addition to scripts/test.sh: format, include order, names, English, the
# structure, shell, the outputs, warnings as errors; under the sanitizers the unit tests, the golden cases,
# damaged files and a little fuzzing.
# usage: scripts/check.sh [--long]
# --long adds what takes hours: clang-tidy, each file compiled alone, every suite under the sanitizers,
# all faults, 20,000 kills, 50,000 comparisons, two hours of each fuzzer, 64-bit Arm, the package, the browser.
set -eu
case "${1:-}" in -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
is_long=
[ "${1:-}" != --long ] || is_long=1
[ -z "$is_long" ] || unset QUICK
scripts/setup.sh --checks

failed=0
fail() {
  echo "check.sh: $*" >&2
  failed=1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM

passed=0 not_passed=0
count() {  # adds the sum that stands in the last line of the log
  sum=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' || echo '0 passed, 1 failed')
  passed=$((passed + ${sum%% *}))
  sum=${sum#*, }
  not_passed=$((not_passed + ${sum%% *}))
}

part='' began=0
begin() {  # says what comes next, and how long it took when the next begins
  now=$(date +%s)
  [ -z "$part" ] || echo "check: $part: $((now - began)) s"
  part=$1 began=$now
}

begin format
find src include tests -name '*.cpp' -o -name '*.h' | sort | xargs clang-format --dry-run --Werror 2>"$log" ||
  { cat "$log" >&2; fail "not formatted: run clang-format -i on the files above"; }

begin "include order"
# An area may include itself, the nouns in include/ and the areas named behind it here, no others.
while read -r area others; do
  allowed='aggregate_power/[a-z_]*\.h'
  for other in $area $others; do allowed="$allowed|$other/.*"; done
  if grep -nE '#include "[a-z_]+/' -r "src/$area" | grep -vE "#include \"($allowed)\""; then
    fail "$area includes an area that it may not know"
  fi
done <<'AREAS'
base
chart base
core/model base
core/telemetry base core/model
core/load base core/model
core/energy base core/model core/telemetry core/load
core/record base core/model core/telemetry core/load core/energy
recorders base core
generators base core
energy base core recorders generators
packages base core recorders generators energy
runs base core recorders generators energy packages chart
store base core recorders generators energy packages chart runs
verify base core recorders generators energy packages chart runs store
decide base core recorders generators energy packages chart runs store verify
views base core recorders generators energy packages chart runs store verify decide
commands base core recorders generators energy packages chart runs store verify decide views
AREAS
if grep -nE '#include "' -r include | grep -vE '#include "aggregate_power/[a-z_]+\.h"'; then
  fail "a noun includes more than nouns"
fi

begin names
# The files of a folder are compiled together: a function in two of their unnamed namespaces would
# be one function with two meanings.
python3 - <<'NAMES' || fail "functions of one name in unnamed namespaces of one folder: rename one, or share it"
import collections, pathlib, re, sys
users = collections.defaultdict(set)
for path in pathlib.Path("src").rglob("*.cpp"):
    for block in re.findall(r"^namespace {$(.*?)^}  // namespace$", path.read_text(), re.S | re.M):
        for name in re.findall(r"^(?!//|return\b)[A-Za-z_][\w:<>,&*\s]*?[\s&*]([A-Za-z_]\w*)\(", block, re.M):
            users[path.parent, name].add(path.name)
shared = {key: files for key, files in users.items() if len(files) > 1}
for (folder, name), files in sorted(shared.items()):
    print(f"{folder}: {name}() in {', '.join(sorted(files))}", file=sys.stderr)
sys.exit(bool(shared))
NAMES

begin English
scripts/english.py >"$log" || { cat "$log" >&2; fail "English: see the lines above"; }

begin structure
scripts/house.sh --check || fail "a figure of scripts/house.sh is above its limit"

begin shell
find scripts tests .ci -name '*.sh' -o -path 'scripts/commit-msg' -o -path '.ci/*' | sort | xargs shellcheck || fail "shellcheck"

begin outputs
scripts/outputs.sh --compare tests/outputs/outputs.list >"$log" || { cat "$log" >&2; fail "outputs have changed"; }
count

begin "warnings as errors, with the sanitizers"
dev=$PWD/build-dev
sanitized() {  # the options of the build, and its folder
  build=$1
  shift
  cmake -S . -B "$build" -G Ninja -DPOWER_DEV=ON -DPOWER_DEV_QUICK="${QUICK:-0}" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ "$@" >"$log" 2>&1 &&
    cmake --build "$build" >"$log" 2>&1 && return
  grep -E 'error|warning|Error' "$log" >&2 || cat "$log" >&2
  fail "does not build without warnings"
  return 1
}
if sanitized "$dev"; then
  begin "tests under the sanitizers"
  unit=$dev/tests/aggregate-power-tests
  set -- "tests/faults/mutate_test.py 5" "$unit --gtest_filter=*Truth*"
  for i in 0 1 2 3; do
    set -- "$@" "env GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=$i $unit --gtest_filter=-*Truth*"
  done
  set -- "$@" tests/cases/cases_test.py
  AGGREGATE_POWER=$dev/aggregate-power AGGREGATE_POWER_SANITIZED=$dev/aggregate-power \
    sh tests/run_tests.sh "$@" >"$log" 2>&1 || fail "tests under the sanitizers"
  cat "$log"
  count

  begin fuzzing
  [ -n "$is_long" ] && seconds=7200 || seconds=5
  sh tests/fuzz/run.sh "$seconds" >"$log" 2>&1 || { tail -n 60 "$log" >&2; fail "fuzzing"; }
  count
fi

if [ -n "$is_long" ]; then
  begin "all tests"
  cmake -S . -B build -G Ninja -DCMAKE_COMPILE_WARNING_AS_ERROR=ON >/dev/null  # GCC's, of the unit tests too
  scripts/test.sh >"$log" 2>&1 || fail "scripts/test.sh"
  cat "$log"

  begin "each file alone"
  sanitized "$PWD/build-alone" -DAGGREGATE_POWER_UNITY=OFF || :

  begin lint
  find src -name '*.cpp' | sort | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build-alone >"$log" 2>/dev/null ||
    { grep -E 'warning|error' "$log" >&2; fail "clang-tidy"; }

  begin "all suites under the sanitizers"
  AGGREGATE_POWER_DYNAMIC=$PWD/build/tests/aggregate-power-dynamic
  FAULT_SHIM=$PWD/build/tests/fault_shim.so
  AGGREGATE_POWER_SANITIZED=$dev/aggregate-power
  export AGGREGATE_POWER_DYNAMIC FAULT_SHIM AGGREGATE_POWER_SANITIZED
  AGGREGATE_POWER=$dev/aggregate-power sh tests/run_tests.sh tests/multinode/*_test.py tests/publication/*_test.py \
    'tests/backfill/backfill_test.py --runs 300 --kills 3' tests/agentic/*_test.py >"$log" 2>&1 ||
    fail "suites under the sanitizers"
  cat "$log"

  begin "kills, damaged files, comparison with the reference"
  AGGREGATE_POWER=$PWD/build/aggregate-power
  export AGGREGATE_POWER
  python3 tests/faults/kill_test.py 20000 || fail "kills"
  python3 tests/faults/mutate_test.py 2000 || fail "damaged files"  # of each file: 190,000 in all
  python3 tests/differential/differential_test.py --runs 50000 || fail "comparison with the reference"

  begin "64-bit Arm"
  scripts/test-aarch64.sh >"$log" 2>&1 || { tail -n 60 "$log" >&2; fail "64-bit Arm"; }
fi
begin end
[ "$failed" -eq 0 ] && echo "check: all is well"
echo "$passed passed, $((not_passed > failed ? not_passed : failed)) failed"
exit "$failed"
