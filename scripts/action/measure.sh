#!/bin/sh
# A step of continuous integration: measures a run, compares it with earlier ones, and appends a summary in Markdown.
# Everything is an environment variable, as the wrappers beside this file set them:
#   RESULT      the result of the load generator
#   RECORDING   the telemetry; empty: the one beside the result
#   OPTIONS     more options of measure, such as "--timezone UTC"; those that compare has too are also given to it,
#               for runs that it measures itself
#   BASE        files or folders of earlier runs; empty: nothing is compared
#   NEW         the runs of this change, if there are several (default: the folder of RESULT)
#   MARGIN      by how much joules per token may grow (default: 2%)
#   ACCEPT      "insufficient": too few runs to decide, such as one new run, are no failure; empty: they are
#   SUMMARY     the file that the summary is appended to (default: standard output)
#   OUTPUTS     the file that NAME=VALUE lines are appended to; empty: none
# The exit status is 1 if the run is not valid or is worse than BASE, 3 if the comparison is not decided and
# ACCEPT does not allow that, 2 for wrong use.
set -eu
case "${1:-}" in -h | --help) sed -n '2,15s/^# //p' "$0"; exit 0 ;; esac
: "${SUMMARY:=/dev/stdout}" "${OUTPUTS:=/dev/null}" "${MARGIN:=2%}"
if [ -z "${RESULT:-}" ]; then
  echo "measure.sh: RESULT is empty: name the result of the load generator" >&2
  exit 2
fi
command -v aggregate-power >/dev/null || {
  echo "measure.sh: aggregate-power is not on the PATH: install it before this step" >&2
  exit 2
}
case "${ACCEPT:=}" in '' | insufficient) ;; *)
  echo "measure.sh: ACCEPT is '$ACCEPT': leave it empty, or give 'insufficient'" >&2
  exit 2
  ;;
esac
power=$(mktemp)
trap 'rm -f "$power"' EXIT
trap 'exit 130' HUP INT TERM

# shellcheck disable=SC2086 # options and folders are words
{
  status=0
  aggregate-power measure "$RESULT" ${RECORDING:+"$RECORDING"} ${OPTIONS:-} --json >"$power" || status=$?
  [ "$status" -le 1 ] || exit "$status"
  # A number or a word of the program; nothing else of a file gets into OUTPUTS.
  value() {
    sed -n "s/^ *\"$1\": \"\{0,1\}\([a-z]*\|-\{0,1\}[0-9][0-9.e+-]*\)\"\{0,1\},\{0,1\}$/\1/p" "$power" | head -n 1
  }
  # A block that no text of a file can end.
  block() { printf '```\n' && sed "s/\`\`\`/'''/g" && printf '```\n\n'; }
  valid=true
  [ "$status" -eq 0 ] || valid=false
  {
    echo "valid=$valid"
    echo "joules_per_output_token=$(value joules_per_output_token)"
    echo "total_gpu_energy_j=$(value total_gpu_energy_j)"
  } >>"$OUTPUTS"
  window=$(value window_source)
  case "$window ${OPTIONS:-}" in *--window*) window= ;; estimated* | wrapped*) window="--window $window" ;; *) window= ;; esac
  {
    printf '### Energy\n\n'
    aggregate-power measure "$RESULT" ${RECORDING:+"$RECORDING"} ${OPTIONS:-} | block
    # What measure has and plot refuses, such as a folder, has no picture.
    if [ "$status" -eq 0 ] && COLUMNS=100 aggregate-power plot "$RESULT" ${RECORDING:+"$RECORDING"} \
      $window ${OPTIONS:-} --term >"$power" 2>/dev/null; then
      printf '<details><summary>Power over time</summary>\n\n'
      block <"$power"
      printf '</details>\n\n'
    fi
  } >>"$SUMMARY"
  [ -n "${BASE:-}" ] || exit "$status"

  shared='' takes=''
  for word in ${OPTIONS:-}; do
    case $word in
      --gpus | --window | --timezone | --result-timezone | --calibration) takes=yes ;;
      --gpus=* | --window=* | --timezone=* | --result-timezone=* | --calibration=*) takes=last ;;
      --*) takes='' ;;
    esac
    [ -z "$takes" ] || shared="$shared $word"
    case $takes$word in last* | yes[!-]*) takes='' ;; esac
  done
  compared=0
  aggregate-power compare $BASE --with ${NEW:-"$(dirname "$RESULT")"} $shared --margin "$MARGIN" --format json >"$power" || compared=$?
  [ "$compared" -eq 0 ] || [ "$compared" -eq 1 ] || [ "$compared" -eq 3 ] || exit "$compared"
  echo "verdict=$(value verdict)" >>"$OUTPUTS"
  aggregate-power compare $BASE --with ${NEW:-"$(dirname "$RESULT")"} $shared --margin "$MARGIN" --format markdown >>"$SUMMARY" || :
  [ "$status" -eq 0 ] || exit "$status"
  [ "$compared" -ne 3 ] || [ "$ACCEPT" != insufficient ] || exit 0
  exit "$compared"
}
