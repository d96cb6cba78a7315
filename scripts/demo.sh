#!/bin/sh
# Builds the program and shows it at work on copies of the recording in testdata/runs and of the past
# runs in testdata/store.
# usage: scripts/demo.sh
set -eu
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."

root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

scripts/setup.sh
{ cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release && cmake --build build --target aggregate-power; } \
  >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
PATH=$PWD/build:$PATH
cp -R testdata/runs/. "$folder"
cp -R testdata/store "$folder/b200/artifacts"
cd "$folder/b200"

step() { printf '\n== %s\n' "$*"; }
run() {
  printf '$ aggregate-power %s\n' "$*"
  aggregate-power "$@"
}

step "What a run used, by the result of its load generator"
cp -R "$root/testdata/results" "$folder/results"
(cd "$folder/results" && run measure vllm.json)

step "A recording of eight GPUs: what is understood of it"
run inspect gpu_metrics.csv --timezone UTC --bench-result run.json

step "The energy of the benchmark's 1.5 s, into its aggregate"
cp agg_run.json before.json
run --csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --expected-num-gpus 8 --timezone UTC

step "What changed in the aggregate"
diff -u --label before --label after before.json agg_run.json || [ $? -eq 1 ]

step "The head of the audit record, power_validation_run.json"
head -n 16 power_validation_run.json

step "Past runs: what would change in a store of five"
run backfill artifacts --dry-run | grep -E '^[$]|total_gpu_energy_j' | sort

step "And done"
run backfill artifacts --report report.jsonl

step "The outcomes in report.jsonl"
sed 's/"layout".*"outcome"/"outcome"/; s/,"metrics".*"timezone"/,"timezone"/; s/,"seconds".*/}/' report.jsonl | sort
