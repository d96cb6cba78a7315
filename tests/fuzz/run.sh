#!/bin/sh
# Seeds the fuzz targets from testdata and runs each for a while.
# usage: tests/fuzz/run.sh [SECONDS [FOLDER]]
# SECONDS for each of the four (default: 10). FOLDER keeps the corpora, so that a later run goes on
# from there (default: a fresh one, removed afterwards). CORPUS names a folder of further telemetry
# files. What breaks a target is kept as FOLDER/NAME.found-*, and its path shown. Ends with
# "N passed, N failed", and with status 1 after a finding. The targets are those of build-dev/,
# what scripts/check.sh builds with clang.
set -eu
case "${1:-}" in -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;; esac
seconds=${1:-10}
source=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${2:-}" ]; then
  mkdir -p "$2"
  folder=$(cd "$2" && pwd)
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
fi

mkdir -p "$folder/csv" "$folder/json" "$folder/load" "$folder/stamp"
python3 "$source/tests/fuzz/seeds.py" "$source/build-dev/aggregate-power" "$folder"

passed=0
failed=0
for name in csv json load stamp; do
  dictionary=$source/tests/fuzz/$name.dict
  if "$source/build-dev/tests/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=8192 -dict="$dictionary" -print_final_stats=1 \
    -artifact_prefix="$folder/$name.found-" "$folder/$name" >"$folder/$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log") inputs," \
      "$(find "$folder/$name" -type f | wc -l) kept"
  else
    failed=$((failed + 1))
    grep -v -e '^#' -e '^NEW' "$folder/$name.log" | tail -n 60
    trap - EXIT
    ls "$folder/$name.found-"* 2>/dev/null || :
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
