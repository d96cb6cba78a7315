#!/bin/sh
# Seeds the fuzz targets from testdata and runs each for a while.
# usage: tests/fuzz/run.sh [SECONDS [FOLDER [TARGET...]]]
# SECONDS for each target (default: 10), as many at a time as there are processors; all targets unless some are
# named. FOLDER keeps the corpora, so that a later run goes on from there (default: a fresh one, removed
# afterwards). CORPUS names a folder of further telemetry files. What breaks a target is kept as
# FOLDER/NAME.found-*, and its path shown; the target goes on until its time is over, or 20 inputs broke it.
# Each line has the executions, the inputs that were kept for new paths, and the findings. Ends with
# "N passed, N failed", and with status 1 after a finding. $TEST_SEED chooses the changes, otherwise each run
# makes others. scripts/check.sh builds the targets, in build-dev/, with clang.
set -eu
case "${1:-}" in -h | --help) sed -n '2,10s/^# //p' "$0"; exit 0 ;; esac
source=$(cd "$(dirname "$0")/../.." && pwd)

# One input may take long on a busy machine; what takes a minute is a finding, and does not end the target.
one_run() {  # SECONDS
  dict=$source/tests/fuzz/$name.dict
  [ -f "$dict" ] || dict=$source/tests/fuzz/load.dict
  case $name in package | report | record) longest=16384 ;; *) longest=8192 ;; esac
  "$source/build-dev/tests/${name}_fuzz" -max_total_time="$1" -seed="${TEST_SEED:-0}" -timeout=60 -rss_limit_mb=2048 -max_len="$longest" \
    -dict="$dict" -print_final_stats=1 -artifact_prefix="$folder/$name.found-" "$folder/$name" >"$folder/$name.log" 2>&1
}

stat_of() { sed -n "s/^stat::$1: *//p" "$folder/$name.log"; }
found() { find "$folder" -maxdepth 1 -name "$name.found-*" | wc -l; }

if [ "${1:-}" = --one ]; then
  name=$2 seconds=$3 folder=$4 executions=0 runs=0
  seeds=$(find "$folder/$name" -type f | wc -l) before=$(found)
  until_s=$(($(date +%s) + seconds))
  while [ "$(date +%s)" -lt "$until_s" ] && [ "$runs" -lt 20 ]; do
    runs=$((runs + 1))
    status=0
    one_run $((until_s - $(date +%s))) || status=$?
    count=$(stat_of number_of_executed_units)
    executions=$((executions + ${count:-0}))
    [ "$status" -ne 0 ] || break
    grep -v -e '^#' -e '^NEW' "$folder/$name.log" | tail -n 60
  done
  findings=$(($(found) - before))
  if [ "$status" -eq 0 ] && [ "$findings" -eq 0 ]; then : >"$folder/$name.passed"; fi
  echo "$name: $executions executions, $(($(find "$folder/$name" -type f | wc -l) - seeds)) new, $findings findings"
  [ "$findings" -eq 0 ] || ls "$folder/$name.found-"*
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
if [ $# -le 2 ]; then set --; else shift 2; fi
[ $# -gt 0 ] || set -- aiperf archive csv json load package price record report stamp trace windows witness

for name in "$@"; do mkdir -p "$folder/$name"; done
rm -f "$folder"/*.passed
python3 "$source/tests/fuzz/seeds.py" "$source/build-dev/aggregate-power" "$folder"

printf '%s\n' "$@" |
  xargs -P "$(nproc)" -I '{}' sh "$source/tests/fuzz/run.sh" --one '{}' "$seconds" "$folder" || :
passed=$(find "$folder" -maxdepth 1 -name '*.passed' | wc -l)
failed=$(($# - passed))
[ "$failed" -eq 0 ] || trap - EXIT  # what was found stays
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
