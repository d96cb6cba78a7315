#!/bin/sh
# Runs scripts/demo.sh, which builds into build/ when that is not up to date.
# usage: tests/scripts/demo_test.sh
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/../.."
# shellcheck source=tests/scripts/same.sh
. tests/scripts/same.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$work/tmp"

before=$(find testdata/runs testdata/store -type f -exec cksum {} + | sort)
status=0
TMPDIR=$work/tmp scripts/demo.sh >"$work/out" 2>"$work/err" || status=$?
same "exit status" 0 "$status"
same "standard error" "" "$(cat "$work/err")"
same "what is left behind" "" "$(ls -A "$work/tmp")"
same "the test data" "$before" "$(find testdata/runs testdata/store -type f -exec cksum {} + | sort)"
same "the answer" "aggregate-power: avg_power_w=347.12 avg_total_gpu_power_w=2776.97 total_gpu_energy_j=4165.45 (n=8) -> agg_run.json joules_per_output_token=4.1655 joules_per_total_token=0.4628" \
  "$(grep -m 1 "^aggregate-power:" "$work/out")"
# golden.md, section 1: 4165.455 J, 347.12125 W per GPU.
same "the new members" '  "tp": 8,
+  "conc": 1,
+  "power_metric_schema_version": 2,
+  "power_valid": 1,
+  "avg_power_w": 347.121,
+  "avg_total_gpu_power_w": 2776.97,
+  "total_gpu_energy_j": 4165.455,' "$(sed -n '/^   "tp"/,/total_gpu_energy_j/s/^ \{0,1\}\([+ ]\)/\1/p' "$work/out")"
same "the audit record" '  "power_valid": true,' "$(grep '"power_valid": true' "$work/out")"
# testdata/README.md: 2 GPUs x 640 W x 30 s.
same "the energy of past runs" "2" "$(grep -c 'total_gpu_energy_j: absent -> 38400.0' "$work/out")"
same "their outcomes" "  patched                    2
  not_valid                  1
  not_recomputable           1
  not_writable               1" "$(grep -E '^  [a-z_]+ +[0-9]+$' "$work/out")"
same "the zone of a past run" '{"run":"llama_tp2_conc8","outcome":"patched","reasons":[],"timezone":"-07:00"}' \
  "$(grep '"llama_tp2_conc8"' "$work/out")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
