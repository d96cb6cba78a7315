#!/bin/sh
# Seeds the fuzz targets from testdata and runs each for a while.
# usage: tests/fuzz/run.sh [SECONDS [FOLDER]]
# SECONDS for each of the four (default: 10), as many at a time as there are processors. FOLDER keeps the
# corpora, so that a later run goes on from there (default: a fresh one, removed afterwards). CORPUS names
# a folder of further telemetry files. What breaks a target is kept as FOLDER/NAME.found-*, and its path
# shown. Ends with "N passed, N failed", and with status 1 after a finding. scripts/check.sh builds the
# targets, in build-dev/, with clang.
set -eu
case "${1:-}" in -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;; esac
source=$(cd "$(dirname "$0")/../.." && pwd)

if [ "${1:-}" = --one ]; then
  name=$2 seconds=$3 folder=$4
  if "$source/build-dev/tests/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=8192 -dict="$source/tests/fuzz/$name.dict" -print_final_stats=1 \
    -artifact_prefix="$folder/$name.found-" "$folder/$name" >"$folder/$name.log" 2>&1; then
    : >"$folder/$name.passed"
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log") inputs," \
      "$(find "$folder/$name" -type f | wc -l) kept"
  else
    grep -v -e '^#' -e '^NEW' "$folder/$name.log" | tail -n 60
    ls "$folder/$name.found-"* 2>/dev/null || :
  fi
  exit 0
fi

seconds=${1:-10}
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
rm -f "$folder"/*.passed
python3 "$source/tests/fuzz/seeds.py" "$source/build-dev/aggregate-power" "$folder"

printf '%s\n' csv json load stamp |
  xargs -P "$(nproc)" -I '{}' sh "$source/tests/fuzz/run.sh" --one '{}' "$seconds" "$folder" || :
passed=$(find "$folder" -maxdepth 1 -name '*.passed' | wc -l)
failed=$((4 - passed))
[ "$failed" -eq 0 ] || trap - EXIT  # what was found stays
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
