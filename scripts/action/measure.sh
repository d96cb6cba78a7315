#!/bin/sh
# A step of continuous integration: measures a run, compares it with earlier ones, and appends a summary in Markdown.
# Everything is an environment variable, as the wrappers beside this file set them:
#   RESULT      the result of the load generator
#   RECORDING   the telemetry; empty: the one beside the result
#   OPTIONS     more options of measure, such as "--timezone UTC"
#   BASE        files or folders of earlier runs; empty: nothing is compared
#   NEW         the runs of this change, if there are several (default: the folder of RESULT)
#   MARGIN      by how much joules per token may grow (default: 2%)
#   SUMMARY     the file that the summary is appended to (default: standard output)
#   OUTPUTS     the file that NAME=VALUE lines are appended to; empty: none
# The exit status is 1 if the run is not valid or is worse than BASE, 3 if the comparison is not decided, 2 for
# wrong use.
set -eu
case "${1:-}" in -h | --help) sed -n '2,13s/^# //p' "$0"; exit 0 ;; esac
: "${SUMMARY:=/dev/stdout}" "${OUTPUTS:=/dev/null}" "${MARGIN:=2%}"
if [ -z "${RESULT:-}" ]; then
  echo "measure.sh: RESULT is empty: name the result of the load generator" >&2
  exit 2
fi
command -v aggregate-power >/dev/null || {
  echo "measure.sh: aggregate-power is not on the PATH: install it before this step" >&2
  exit 2
}
power=$(mktemp)
trap 'rm -f "$power"' EXIT

# shellcheck disable=SC2086 # options and folders are words
{
  status=0
  aggregate-power measure "$RESULT" ${RECORDING:+"$RECORDING"} ${OPTIONS:-} --json >"$power" || status=$?
  [ "$status" -le 1 ] || exit "$status"
  value() { sed -n "s/^ *\"$1\": \"\\{0,1\\}\\([^\",]*\\)\"\\{0,1\\},\\{0,1\\}$/\\1/p" "$2" | head -n 1; }
  {
    echo "valid=$(value valid "$power")"
    echo "joules_per_output_token=$(value joules_per_output_token "$power")"
    echo "total_gpu_energy_j=$(value total_gpu_energy_j "$power")"
  } >>"$OUTPUTS"
  {
    printf '### Energy\n\n```\n'
    aggregate-power measure "$RESULT" ${RECORDING:+"$RECORDING"} ${OPTIONS:-} || :
    printf '```\n\n'
    if [ -n "${RECORDING:-}" ] && [ "$status" -eq 0 ]; then
      printf '<details><summary>Power over time</summary>\n\n```\n'
      COLUMNS=100 aggregate-power plot "$RECORDING" --bench-result "$RESULT" ${OPTIONS:-} --term || :
      printf '```\n\n</details>\n\n'
    fi
  } >>"$SUMMARY"
  [ -n "${BASE:-}" ] || exit "$status"

  compared=0
  aggregate-power compare $BASE --with ${NEW:-"$(dirname "$RESULT")"} --margin "$MARGIN" --format json >"$power" || compared=$?
  [ "$compared" -eq 0 ] || [ "$compared" -eq 1 ] || [ "$compared" -eq 3 ] || exit "$compared"
  echo "verdict=$(value verdict "$power")" >>"$OUTPUTS"
  aggregate-power compare $BASE --with ${NEW:-"$(dirname "$RESULT")"} --margin "$MARGIN" --format markdown >>"$SUMMARY" || :
  [ "$status" -eq 0 ] || exit "$status"
  exit "$compared"
}
