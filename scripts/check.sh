#!/bin/sh
# What a change must pass beside the tests: format, include order, shell, warnings as errors,
# sanitizers, a little fuzzing.
# usage: scripts/check.sh [--long]
# --long adds clang-tidy and hours of fuzzing, kills, faults and random comparisons.
set -eu
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
scripts/setup.sh --checks

failed=0
fail() {
  echo "check.sh: $*" >&2
  failed=1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "check: format"
find src include tests -name '*.cpp' -o -name '*.h' | sort | xargs clang-format --dry-run --Werror 2>"$log" ||
  { cat "$log" >&2; fail "not formatted: run clang-format -i on the files above"; }

echo "check: include order"
# An area may include itself, the nouns in include/ and the areas named behind it here, no others.
while read -r area others; do
  allowed='aggregate_power/[a-z_]*\.h'
  for other in $area $others; do allowed="$allowed|$other/.*"; done
  if grep -nE '#include "[a-z_]+/' -r "src/$area" | grep -vE "#include \"($allowed)\""; then
    fail "$area includes an area that it may not know"
  fi
done <<'AREAS'
base
drawing base
model base
recorders base model
loads base model
energy base model
packages base model recorders loads energy
results base model recorders loads energy
runs base drawing model recorders loads energy packages results
store base model recorders loads energy packages results runs
publication base model recorders loads energy packages results runs store
decisions base model recorders loads energy packages results runs store publication
exports base model recorders loads energy packages results runs store publication decisions
reporting base drawing model recorders loads energy packages results runs store publication decisions
commands base drawing model recorders loads energy packages results runs store publication decisions exports reporting
AREAS
if grep -nE '#include "' -r include | grep -vE '#include "aggregate_power/[a-z_]+\.h"'; then
  fail "a noun includes more than nouns"
fi

echo "check: names"
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

echo "check: shell"
find scripts tests -name '*.sh' | sort | xargs shellcheck || fail "shellcheck"

echo "check: warnings as errors, address and undefined-behaviour sanitizers"
dev=$PWD/build-dev
if { cmake -S . -B "$dev" -G Ninja -DPOWER_DEV=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ && cmake --build "$dev"; } >"$log" 2>&1; then
  AGGREGATE_POWER=$dev/aggregate-power AGGREGATE_POWER_SANITIZED=$dev/aggregate-power sh tests/run_tests.sh \
    "$dev/tests/aggregate-power-tests" tests/multinode/*_test.py tests/publication/*_test.py 'tests/backfill/backfill_test.py --runs 300 --kills 3' \
    tests/faults/mutate_test.py tests/agentic/random_test.py tests/cases/cases_test.py >"$log" 2>&1 ||
    { cat "$log" >&2; fail "tests under the sanitizers"; }
  echo "check: fuzzing"
  [ "${1:-}" = --long ] && seconds=3600 || seconds=10
  sh tests/fuzz/run.sh "$seconds" >"$log" 2>&1 || { tail -n 60 "$log" >&2; fail "fuzzing"; }
else
  grep -E 'error|warning|Error' "$log" >&2 || cat "$log" >&2
  fail "does not build without warnings"
fi

if [ "${1:-}" = --long ]; then
  echo "check: lint"
  find src -name '*.cpp' | sort | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$dev" >"$log" 2>/dev/null ||
    { grep -E 'warning|error' "$log" >&2; fail "clang-tidy"; }

  AGGREGATE_POWER=$PWD/build/aggregate-power
  AGGREGATE_POWER_DYNAMIC=$PWD/build/tests/aggregate-power-dynamic
  FAULT_SHIM=$PWD/build/tests/fault_shim.so
  AGGREGATE_POWER_SANITIZED=$dev/aggregate-power
  export AGGREGATE_POWER AGGREGATE_POWER_DYNAMIC FAULT_SHIM AGGREGATE_POWER_SANITIZED
  python3 tests/faults/kill_test.py 20000 || fail "kills"
  python3 tests/faults/mutate_test.py 200000 || fail "damaged files"
  python3 tests/differential/differential_test.py 50000 || fail "comparison with the reference"
fi
[ "$failed" -eq 0 ] && echo "check: all is well"
exit "$failed"
