#!/bin/sh
# Samples the power of this machine's GPUs into a CSV, from `start` to `stop`. Linux only: it reads /proc.
set -eu

usage() {
  cat <<'END'
usage: monitor.sh start|stop [--output FILE] [--interval SECONDS]

Samples the power of this machine's GPUs into a CSV, from start to stop, with the first of
nvidia-smi, amd-smi and rocm-smi that is on the PATH.

  start                return once the first sample is in FILE, or after five seconds without one
  stop                 end the recording with a sample from after this call
  --output FILE        the CSV; start replaces an older one (default: gpu_metrics.csv)
  --interval SECONDS   time between samples; amd-smi takes whole seconds only; from 3 s on
                       aggregate-power needs a longer --max-sample-gap (default: 1)
  -h, --help           print this and exit

Beside gpu_metrics.csv come gpu_metrics_context.json (UTC offset, tool, interval); from nvidia-smi
gpu_metrics_identity.csv; from amd-smi gpu_metrics_identity.json and the energy counters,
gpu_metrics_energy_start.csv and gpu_metrics_energy_end.csv; and until stop gpu_metrics_monitor.pid
and gpu_metrics_monitor.log.

Exit status: 0 done; 1 nothing to record with, already recording, or not recording; 2 wrong options.
END
}

say() { printf 'monitor.sh: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
wrong() { say "error: $*; see monitor.sh -h"; exit 2; }

nap() { sleep 0.1 2>/dev/null || sleep 1; }

# ---- Processes. Each tool leads a session of its own, so that it outlives the caller's shell and ends whole.

# When process $1 started, in clock ticks since boot; nothing when it is gone or a zombie. In a container
# whose first process reaps nobody, what was killed stays a zombie that `kill -0` takes for alive.
started() {
  { read -r process <"/proc/$1/stat"; } 2>/dev/null || return 0
  # shellcheck disable=SC2086  # words: from the state on, which follows the name
  set -- ${process##*) }
  case $1 in Z | X) ;; *) printf '%s\n' "${20}" ;; esac
}

members() {  # the live processes of the session that $1 leads, and $1 itself
  { cat /proc/[0-9]*/stat || :; } 2>/dev/null | sed 's/^\([0-9]*\) .*) /\1 /' |
    awk -v leader="$1" '($1 == leader || $5 == leader) && $2 !~ /[ZX]/ { print $1 }'
}

end_session() {
  for signal in TERM KILL; do
    kill -s "$signal" -- "-$1" "$1" 2>/dev/null || :
    give_up=$(($(date +%s) + 5))
    while [ -n "$(members "$1")" ]; do
      [ "$(date +%s)" -lt "$give_up" ] || continue 2
      nap
    done
    return 0
  done
  say "process $1 cannot be ended; it may hang in the driver"
}

# Runs a command for at most ten seconds and gives its exit status, 124 when the time was up: a vendor tool
# can hang for good when a GPU is lost.
bounded() {
  setsid "$@" </dev/null &
  helper=$!
  until_s=$(($(date +%s) + 10))
  while [ -n "$(started "$helper")" ]; do
    if [ "$(date +%s)" -ge "$until_s" ]; then
      end_session "$helper"
      helper=
      return 124
    fi
    nap
  done
  status=0
  wait "$helper" || status=$?
  helper=
  return "$status"
}

# ---- The state file: what `stop`, or a second `start`, has to know of a recording.

read_state() {
  pid='' since='' host='' tool='' output='' interval='' stopping=''
  [ -f "$state" ] || return 1
  while read -r key value; do
    case $key in
      pid) pid=$value ;; since) since=$value ;; host) host=$value ;; tool) tool=$value ;;
      interval) interval=$value ;; stopping) stopping=$value ;; output) output=$value ;;
    esac
  done <"$state"
}

# Whether what the state file names still runs. A number that another process has taken since then starts
# at another time; when the leader alone is gone, its session may still record.
recording() {
  [ -n "$pid" ] && [ "$host" = "$(uname -n)" ] || return 1
  now_since=$(started "$pid")
  if [ -n "$now_since" ]; then [ "$now_since" = "$since" ]; else [ -n "$(members "$pid")" ]; fi
}

# ---- The vendor tools.

nvidia_fields=timestamp,index,power.draw,temperature.gpu,clocks.current.sm,clocks.current.memory
nvidia_fields=$nvidia_fields,utilization.gpu,utilization.memory

choose_tool() {
  for tool in nvidia-smi amd-smi rocm-smi; do
    if command -v "$tool" >/dev/null 2>&1; then return 0; fi
  done
  die "none of nvidia-smi, amd-smi and rocm-smi is on the PATH; nothing is recorded"
}

# amd-smi prints a preamble, then for each tick a header, CRLF rows and a bare LF. A row is held until its
# line is known to be whole, by the next one. Rows under another header than the first are dropped: a gap is
# better than a number from the wrong column. What is no CSV goes to the log.
amd_rows() {
  unbuffered=
  # mawk alone waits for a full block of input unless told not to.
  case $(awk -W version </dev/null 2>&1) in mawk*) unbuffered='-W interactive' ;; esac
  # shellcheck disable=SC2086  # nothing, or two words
  awk $unbuffered '
    { if (held != "") { print held; fflush(); held = "" }
      sub(/[ \r]+$/, "") }
    /^timestamp,/ { if (header == "") header = held = $0; good = ($0 == header); next }
    /^[0-9]+,/ { if (good) held = $0; next }
    /[^ ]/ && !/CTRL/ { print >> "/dev/stderr"; fflush("/dev/stderr") }'
}

# rocm-smi gives no time. Most of its run is Python starting up, so the time after it is the better one.
rocm_rows() {
  awk -F, -v stamp="$(clock)" -v header="$(head -n 1 "$csv")" '
    { sub(/[ \t\r]+$/, "") }
    /^device,/ {
      if (header == "") print header = "timestamp," $0
      good = (header == "timestamp," $0)
      cells = NF
      next
    }
    good && /^card[0-9]+,/ && NF == cells { print stamp "," $0 }'
}

clock() {  # Unix seconds, with milliseconds where date knows them
  stamp=$(date +%s.%N)
  case $stamp in
    *.?????????) case ${stamp#*.} in *[!0-9]*) date +%s ;; *) printf '%s\n' "${stamp%??????}" ;; esac ;;
    *) date +%s ;;
  esac
}

record() {  # the background process: samples $tool into $csv until it is ended
  case $tool in
    nvidia-smi)
      case $interval in
        *.*) every="-lms $(awk -v s="$interval" 'BEGIN { printf "%d", s * 1000 + 0.5 }')" ;;
        *) every="-l $interval" ;;
      esac
      # Where it writes to a file it may keep rows back until some 4 KB are full, and lose them at the end.
      by_line=
      if stdbuf -oL true 2>/dev/null; then by_line='stdbuf -oL'; fi
      # shellcheck disable=SC2086  # two words each, or none
      exec $by_line nvidia-smi --query-gpu="$nvidia_fields" --format=csv $every >>"$csv"
      ;;
    amd-smi)
      export PYTHONUNBUFFERED=1  # Python would keep ticks back, and lose them at the end
      amd-smi metric -p -c -t -u -w "$interval" --csv | amd_rows >>"$csv"
      ;;
    rocm-smi)
      while :; do
        sleep "$interval" &
        pause=$!
        # Its status also complains about sensors that a GPU lacks; only a signal's makes the rows doubtful.
        status=0
        rows=$(rocm-smi --showpower --csv) || status=$?
        [ "$status" -ge 128 ] || printf '%s\n' "$rows" | rocm_rows >>"$csv" || :
        wait "$pause"
      done
      ;;
  esac
}

# Whether every GPU of the last ticks has a sample from after whole second $1: amd-smi's stamps are whole
# seconds, so one of the same second may still be older.
all_later_than() {
  tail -n 512 "$csv" | awk -F, -v after="$1" '
    /^[0-9]/ { seen[$2]; if ($1 + 0 > after + 0) later[$2]; any = 1 }
    END { for (gpu in seen) if (!(gpu in later)) exit 1; exit !any }'
}

before_end() {  # what the tool must still record while it runs
  case $tool in
    amd-smi)
      stopped=$(date +%s)
      give_up=$((stopped + 2 * interval + 5))
      until all_later_than "$stopped"; do
        if [ -z "$(started "$pid")" ] || [ "$(date +%s)" -ge "$give_up" ]; then
          say "amd-smi gave no sample of every GPU after the stop; the end of '$csv' may not be covered"
          break
        fi
        nap
      done
      ;;
  esac
}

after_end() {  # one sample more, where the tool gives single ones
  status=0
  case $tool in
    nvidia-smi)
      format=csv,noheader
      grep -q '^timestamp' "$csv" || format=csv
      bounded nvidia-smi --query-gpu="$nvidia_fields" --format="$format" >"$scratch" 2>>"$log" || status=$?
      ;;
    amd-smi) return 0 ;;  # single ones have no time
    rocm-smi)
      case $(clock) in *.*) ;; *) sleep 1 ;; esac  # with whole seconds, not the same one as the stop
      bounded rocm-smi --showpower --csv >"$scratch.raw" 2>>"$log" || status=$?
      rocm_rows <"$scratch.raw" >"$scratch"
      rm -f "$scratch.raw"
      ;;
  esac
  # Both may complain in their status and still give rows; cut short, the last row may be torn.
  if [ "$status" -lt 124 ] && grep -q '^[0-9]' "$scratch"; then
    grep '^[0-9t]' "$scratch" >>"$csv"
  else
    say "$tool gave no sample at the stop; the end of '$csv' may not be covered"
  fi
}

# Best effort, and quiet: a snapshot that fails leaves no file.
energy_snapshot() {
  file=${stem}_energy_$1.csv
  case $tool in
    amd-smi)
      if ! bounded amd-smi metric -E --csv >"$scratch" 2>>"$log" || ! awk '
        { sub(/[ \r]+$/, "") }
        /(^|,)gpu,/ && /,total_energy_consumption(,|$)/ { if (!found++) print; next }
        found && /^[0-9]/ { print; rows++ }
        END { exit !rows }' "$scratch" >"$file"; then
        rm -f "$file"
      fi
      ;;
    nvidia-smi | rocm-smi) ;;  # no energy field in nvidia-smi's queries, though NVML has the counter
  esac
}

identity() {
  case $tool in
    nvidia-smi)
      file=${stem}_identity.csv
      if ! bounded nvidia-smi --query-gpu=index,uuid --format=csv >"$scratch" 2>>"$log" ||
        ! sed 's/, */,/g' "$scratch" >"$file" || ! grep -q '^[0-9]' "$file"; then
        rm -f "$file"
      fi
      ;;
    amd-smi)
      file=${stem}_identity.json
      if ! bounded amd-smi static --json >"$scratch" 2>>"$log" ||
        ! sed -n '/^[[{]/,$p' "$scratch" >"$file" || ! [ -s "$file" ]; then
        rm -f "$file"
      fi
      ;;
    rocm-smi) ;;
  esac
}

# ---- start

undo_start() {  # on a failure or a signal
  [ -z "$recorder" ] || end_session "$recorder"
  [ -z "$helper" ] || end_session "$helper"
  rm -f "$state" "$log" "$scratch"
  [ -z "$began" ] || rm -f "$csv" "${stem}_context.json"
  [ -z "$began" ] || remove_snapshots
}

remove_snapshots() {
  rm -f "${stem}_identity.csv" "${stem}_identity.json" "${stem}_energy_start.csv" "${stem}_energy_end.csv"
}

write_state() {  # of process $1; of tool $2, once it records
  printf '%s\n' "output ${csv##*/}" "pid $1" "since $(started "$1")" "host $(uname -n)" "interval $interval"
  if [ $# -gt 1 ]; then printf '%s\n' "tool $2"; fi
}

what_it_said() {  # the tool's complaint; nvidia-smi writes it where the CSV should be
  said=$({ tail -n 5 "$csv" && tail -n 5 "$log"; } 2>/dev/null | tr -d '\r' |
    grep -v -e '^timestamp' -e '^[0-9]' | grep . | tail -n 3 | tr '\n' ' ') || :
  said=${said% }
  printf '%s' "${said:-nothing}"
}

first_sample() {
  until_s=$(($(date +%s) + 5))
  until grep -q '^[0-9]' "$csv"; do
    if [ -z "$(started "$recorder")" ] && ! grep -q '^[0-9]' "$csv"; then
      die "$tool ended without a sample: $(what_it_said)"
    fi
    if [ "$(date +%s)" -ge "$until_s" ]; then
      say "no sample from $tool after 5 s; it goes on trying (it said: $(what_it_said))"
      return 0
    fi
    nap
  done
}

warn_of_gaps() {  # at the very limit too: an interval is never quite kept
  if awk -v s="$interval" 'BEGIN { exit s < 3 }'; then
    say "--interval $interval: aggregate-power takes silences of more than 3 s for gaps;" \
      "give it a --max-sample-gap above $interval"
  fi
}

start() {
  choose_tool
  case $tool:$interval in
    amd-smi:*.*) wrong "--interval: amd-smi takes whole seconds, got '$interval'" ;;
    rocm-smi:*.*)
      sleep 0.01 2>/dev/null || wrong "--interval: sleep takes whole seconds here, got '$interval'"
      ;;
  esac
  command -v setsid >/dev/null 2>&1 || die "setsid is missing; install util-linux"
  wanted_tool=$tool wanted_interval=$interval
  case $csv in */*) mkdir -p -- "${csv%/*}/" || die "cannot make the folder of '$csv'" ;; esac

  if read_state; then
    if recording; then
      die "already recording to '${csv%"${csv##*/}"}$output' (process $pid);" \
        "run 'monitor.sh stop --output $csv' first"
    fi
    if [ -n "$host" ] && [ "$host" != "$(uname -n)" ]; then
      say "'$state' tells of a recording on host '$host'; it is taken for a dead one"
    fi
    rm -f "$state"
  fi
  tool=$wanted_tool interval=$wanted_interval
  (set -C; write_state $$ >"$state") 2>/dev/null ||
    die "cannot write '$state'; the folder is read-only, or another start is under way"

  recorder='' helper='' began=''
  trap undo_start EXIT
  (: >"$csv") 2>/dev/null || die "cannot write '$csv'"
  began=yes
  : >"$log"
  remove_snapshots  # an older recording's
  printf '{"timestamp_timezone": "%s", "monitor": "%s", "interval_s": %s}\n' \
    "$(date +%z | sed 's/..$/:&/')" "$tool" "$interval" >"${stem}_context.json"
  # Nothing of the caller's stays open: a harness may wait for the end of its pipes.
  setsid sh "$0" record "$tool" "$interval" "$csv" </dev/null >/dev/null 2>>"$log" \
    3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  recorder=$!
  write_state "$recorder" "$tool" >"$scratch"
  mv -f "$scratch" "$state"
  first_sample
  # After the first sample, as at the end: what the two snapshots' own run time adds and takes is then alike.
  energy_snapshot start
  identity
  rm -f "$scratch"
  trap - EXIT
  warn_of_gaps
}

# ---- stop

undo_stop() {  # the state file stays, so stop can be called again
  [ -z "$helper" ] || end_session "$helper"
  rm -f "$scratch" "$scratch.raw"
}

drop_torn_tail() {  # a last line without its end
  if [ ! -s "$csv" ] || [ "$(tail -c 1 "$csv" | wc -l)" -eq 1 ]; then return 0; fi
  keep=$(($(wc -c <"$csv") - $(tail -n 1 "$csv" | wc -c)))
  dd if=/dev/null of="$csv" bs=1 seek="$keep" count=0 2>/dev/null
}

stop() {
  read_state || die "no recording to '$csv'; 'monitor.sh start --output $csv' begins one"
  if [ -n "$host" ] && [ "$host" != "$(uname -n)" ]; then
    die "the recording to '$csv' runs on host '$host'; stop it there, or remove '$state' if it is gone"
  fi
  if [ -z "$tool" ]; then
    if recording; then die "the start of the recording to '$csv' is still under way (process $pid)"; fi
    rm -f "$state"
    die "no recording to '$csv'; its start was cut short"
  fi

  helper=''
  trap undo_stop EXIT
  died=
  if [ ! -f "$csv" ]; then
    if recording; then end_session "$pid"; fi
    rm -f "$log" "$state"
    die "'$csv' is gone; it was removed while $tool wrote it"
  fi
  if recording; then
    before_end
    printf '%s\n' "stopping yes" >>"$state"
    end_session "$pid"
    stopping=yes
  elif [ -z "$stopping" ]; then
    died=yes
  fi
  drop_torn_tail
  if [ -n "$died" ]; then
    # No sample is added: it would draw a line over the silence.
    last=$(grep '^[0-9]' "$csv" | tail -n 1 | cut -d, -f1) || :
    say "$tool had ended before the stop; the last time in '$csv' is ${last:-missing}" \
      "(it said: $(what_it_said))"
  else
    after_end
  fi
  energy_snapshot end
  trap - EXIT
  rm -f "$scratch" "$log" "$state"
}

# ---- The command line

value() { [ $# -ge 2 ] || wrong "$1 needs a value"; }

if [ "${1-}" = record ]; then  # start's background process
  tool=$2 interval=$3 csv=$4
  record
  exit
fi

command='' csv=gpu_metrics.csv interval=1
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    start | stop)
      [ -z "$command" ] || wrong "one of start and stop, got '$command' and '$1'"
      command=$1
      ;;
    --output) value "$@"; csv=$2; shift ;;
    --output=*) csv=${1#*=} ;;
    --interval) value "$@"; interval=$2; shift ;;
    --interval=*) interval=${1#*=} ;;
    *) wrong "unknown option '$1'" ;;
  esac
  shift
done
[ -n "$command" ] || wrong "expected start or stop"
case $csv in
  '' | */) wrong "--output: expected a file name, got '$csv'" ;;
  -*) csv=./$csv ;;
esac
[ ! -d "$csv" ] || wrong "--output: '$csv' is a folder"
case $interval in
  '' | *[!0-9.]* | .* | *. | *.*.* | 0[0-9]* | ??????????*) interval_ok= ;;
  *) interval_ok=$(awk -v s="$interval" 'BEGIN { if (s >= 0.001 && s <= 3600) print "yes" }') ;;
esac
[ -n "$interval_ok" ] || wrong "--interval: expected seconds from 0.001 to 3600, got '$interval'"
case $interval in *.*[1-9]*) ;; *) interval=${interval%%.*} ;; esac  # 1.0 is whole

name=${csv##*/}
stem=${name%.*}
stem=${csv%"$name"}${stem:-$name}
state=${stem}_monitor.pid log=${stem}_monitor.log scratch=${stem}_monitor.tmp
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
"$command"
