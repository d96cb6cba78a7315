#!/bin/sh
# What happens when the program's own output cannot be written: it says so, and ends with 1.
# usage: tests/scripts/streams_test.sh   with $AGGREGATE_POWER (default: build/aggregate-power)
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/../.."
# shellcheck source=tests/scripts/same.sh
. tests/scripts/same.sh
program=${AGGREGATE_POWER:-$PWD/build/aggregate-power}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r testdata/runs/b200/. "$work"
cd "$work"
run_a_run() {
  "$program" --csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --expected-num-gpus 8 --timezone UTC
}

lost="aggregate-power: error: cannot write to standard output"
for words in --help --version "inspect gpu_metrics.csv" "inspect gpu_metrics.csv --json" --generate-man-page; do
  status=0
  # shellcheck disable=SC2086 # several words
  "$program" $words >/dev/full 2>err || status=$?
  same "$words into a full disk" "1 $lost" "$status $(cat err)"
  status=0
  # shellcheck disable=SC2086
  "$program" $words >&- 2>err || status=$?
  same "$words without standard output" "1 $lost" "$status $(cat err)"
done

# The files are written all the same.
run_a_run >/dev/full 2>err || :
same "a run into a full disk" "$lost" "$(cat err)"
same "its aggregate" 1 "$(grep -c '"power_valid": 1' agg_run.json)"
cp agg_run.json once.json
run_a_run >/dev/null 2>&- </dev/null
same "without standard error" "$(cat once.json)" "$(cat agg_run.json)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
