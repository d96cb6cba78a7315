#!/bin/sh
# Samples the power of this machine's GPUs into a CSV, from `start` to `stop` or while `run` runs a command.
# Linux only: it reads /proc.
set -eu

# What `run` gives to its command: assigning to a variable that the caller exports would change it there too.
# bash refuses to set its own options again.
environment=$(export -p | sed -e '/^export SHELLOPTS=/d' -e '/^export BASHOPTS=/d')
me=${0##*/}

usage() {
  cat <<END
usage: $me start|stop [--output FILE] [--interval SECONDS] [--gpus LIST]
       $me run [--output FILE] [--interval SECONDS] [--gpus LIST] [--margin SECONDS]
         [--result FILE] [--] COMMAND...

Samples the power of this machine's GPUs into a CSV, from start to stop or while run runs COMMAND,
with the first of nvidia-smi, amd-smi and rocm-smi that is on the PATH.

  start                return once the first sample is in FILE, or after five seconds without one;
                       print GPU_METRICS_CSV='FILE', for eval "\$($me start | tail -n 1)"
  stop                 end the recording with a sample from after this call
  run                  start, run COMMAND, stop; COMMAND runs even if nothing can be recorded
  --output FILE        the CSV; start replaces an older one (default: gpu_metrics.csv)
  --interval SECONDS   time between samples; amd-smi takes whole seconds only; from 3 s on
                       aggregate-power needs a longer --max-sample-gap (default: 1)
  --gpus LIST          the GPUs to record, with commas between them, as the tool names them
                       (nvidia-smi -i, amd-smi -g, rocm-smi -d; default: all)
  --margin SECONDS     how long run records before and after COMMAND: idle GPUs show where the
                       load was (default: 5)
  --result FILE        what COMMAND writes: run ends with 'aggregate-power measure FILE CSV'
  -h, --help           print this and exit

Beside gpu_metrics.csv come gpu_metrics_context.json (UTC offset, tool, interval, clocks, and from run
the window and the exit status of COMMAND); from nvidia-smi gpu_metrics_identity.csv, while the CSV
itself has the power, name, driver and power limit of each GPU, its clocks, temperature, utilization,
memory, and why its clocks are throttled, as far as that nvidia-smi knows them; from amd-smi
gpu_metrics_identity.json and the energy counters, gpu_metrics_energy_start.csv and
gpu_metrics_energy_end.csv; and until stop gpu_metrics_monitor.pid and gpu_metrics_monitor.log.

Exit status: 0 done; 1 nothing to record with, already recording, not recording, or the recording had
ended before the stop; 2 wrong options. run ends with the status of COMMAND: 127 if it is not found,
128 + N if signal N ended it.
END
}

# A terminal or pipe that is gone ends nothing.
say() { printf '%s: %s\n' "$me" "$(printf '%s' "$*" | LC_ALL=C tr '\001-\037\177' '?')" >&2 || :; }
die() { say "error: $*"; exit 1; }
wrong() { say "error: $*; see $me -h"; exit 2; }

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

# ---- Files. Others may write into the folder, as into a group's scratch folder: they can put a link, a pipe
# or a file of theirs there at any time. So new files follow nothing, and what exists is opened first, for reading
# and writing, since to open a pipe for one of them would wait, then checked.

owner='' all_may_write='' private=''

# FILE [-n]: standard input, in a new file of that name; with -n only if there is none. It is written in a folder
# that nobody else can write into, nor move away; what others put at the name is replaced, not written through.
put() {
  made=${1%"${1##*/}"}.aggregate-power-monitor.$$.new
  (
    # Another may have put a link or a folder of theirs there before cd.
    mkdir -m 700 -- "$made" && cd -P -- "$made" && [ "${PWD##*/}" = "${made##*/}" ] && is_of_owner . && cat >new &&
      mv -f ${2:+"$2"} -T -- new "../${1##*/}" && [ ! -e new ]
  ) 2>/dev/null && placed=yes || placed=
  rm -rf -- "$made"
  [ -n "$placed" ]
}

place_of() { stat -L -c '%d %i' -- "$1" 2>/dev/null || :; }

is_own() { [ "$(stat -c %u -- "$1" 2>/dev/null)" = "$owner" ]; }  # for a link, the link itself
is_of_owner() { [ -z "$owner" ] || is_own "$1"; }  # or the owner is not known yet

# Leaves in $owner whom the folder's file system takes the caller for, which on a network mount may be another,
# and in $all_may_write whether it gives all files to all, as one without permissions does.
find_owner() {
  owner='' all_may_write=''
  probe=${stem}_monitor.new.$$
  if (umask go-w; : | put "$probe"); then
    owner=$(stat -c %u -- "$probe") || :
    case $(stat -c %a -- "$probe") in *[2367]? | *[2367]) all_may_write=yes ;; esac
  fi
  rm -f "$probe"
  [ -n "$owner" ] || owner=$(stat -c %u "/proc/$$")
}

is_own_file() { [ -f "$1" ] && [ ! -h "$1" ] && is_own "$1"; }
is_own_csv() { [ -f "$csv" ] && is_own "$csv"; }  # the caller may have made it a link

# Whether file 3 is what has the name $1, and that is the caller's.
is_open() {
  if [ "$1" = "$csv" ]; then is_own_csv; else is_own_file "$1"; fi && [ "$(place_of "$1")" = "$(place_of /proc/self/fd/3)" ]
}

append_to() {  # FILE COMMAND...: what the command prints
  target=$1
  shift
  { [ -f "$target" ] && [ -w "$target" ]; } || return 1
  # shellcheck disable=SC2094  # its name is looked up, not its bytes
  { is_open "$target" && "$@" >>/proc/self/fd/3; } 3<>"$target"
}

read_from() {  # FILE COMMAND...: which reads it as standard input
  target=$1
  shift
  [ -f "$target" ] || return 1
  # shellcheck disable=SC2094
  if [ -w "$target" ]; then
    { is_open "$target" && "$@" <&3; } 3<>"$target"
  else  # where nobody can put a pipe in its place
    [ ! -h "$target" ] && keeps_names "${target%"${target##*/}"}." &&
      { is_open "$target" && "$@" <&3; } 3<"$target"
  fi
}

# Whether nobody else can rename what the caller makes in a folder.
keeps_names() {
  case $(stat -L -c '%a %u' -- "$1" 2>/dev/null) in
    [1357]???' '*) return 0 ;;  # sticky
    '' | *[2367]?' '* | *[2367]' '*) return 1 ;;
    *' 0' | *" $(stat -c %u "/proc/$$")") return 0 ;;
  esac
  return 1
}

# A folder for files that nobody else may touch, in $private. Its name cannot be guessed, and so not be taken.
make_private() {
  for place in "${TMPDIR:-/tmp}" /tmp /dev/shm "${stem%"${stem##*/}"}."; do
    keeps_names "$place" || continue
    private=$place/aggregate-power-monitor.$$.$(head -c 64 /dev/urandom 2>/dev/null | LC_ALL=C tr -cd a-z0-9)
    if mkdir -m 700 -- "$private" 2>/dev/null; then
      scratch=$private/rows said=$private/said
      : >"$said"
      return
    fi
  done
  private=
  die "cannot make a folder for temporary files that nobody else can rename in '${TMPDIR:-/tmp}', /tmp, /dev/shm" \
    "or next to '$csv': give one of yours as TMPDIR"
}

drop_private() { [ -z "$private" ] || rm -rf "$private"; }

# ---- The state file: what `stop`, or a second `start`, has to know of a recording. It decides which process is
# ended and what a vendor tool is called with, so that it must be what `start` writes: the caller's, for nobody
# else to write, and each field of its form. A recorder that `start` began has a mark in its environment.

matches() { printf '%s\n' "$1" | LC_ALL=C grep -qxE "$2"; }

are_seconds() {  # what --interval takes
  case $1 in
    '' | *[!0-9.]* | .* | *. | *.*.* | 0[0-9]* | ??????????*) return 1 ;;
  esac
  [ "$(awk -v s="$1" 'BEGIN { if (s >= 0.001 && s <= 3600) print "yes" }')" = yes ]
}

are_gpus() {  # what --gpus takes, with a comma before and after it
  case $1 in *,,* | *,-* | *[!A-Za-z0-9:._,-]*) return 1 ;; esac
}

is_field() {  # KEY VALUE
  number='[0-9]{1,12}(\.[0-9]{1,9})?'
  pair="\\{\"epoch_s\": $number, \"monotonic_s\": $number, \"boot_id\": (null|\"[0-9a-f-]{1,64}\")\\}"
  case $1:$2 in
    pid: | since: | gpus: | zone: | clock_pairs:) ;;  # a process that has gone; all GPUs; no clocks
    pid:* | since:*) matches "$2" '[1-9][0-9]{0,19}' ;;
    host:*) matches "$2" '[!-~]{1,255}' ;;
    tool:nvidia-smi | tool:amd-smi | tool:rocm-smi | stopping:yes) ;;
    interval:*) are_seconds "$2" ;;
    output:*/* | output:) return 1 ;;
    output:*) ;;
    gpus:*) are_gpus ",$2," ;;
    zone:*) matches "$2" '[+-][0-9]{2}:[0-9]{2}' ;;
    clock_pairs:*) matches "$2" "$pair(, $pair){0,9}" ;;
    window:*) matches "$2" "$number $number" ;;
    exit_status:*) matches "$2" '[0-9]{1,3}' ;;
    *) return 1 ;;
  esac
}

read_fields() {
  while read -r key value; do
    is_field "$key" "$value" || return 1
    case $key in
      pid) pid=$value ;; since) since=$value ;; host) host=$value ;; tool) tool=$value ;;
      interval) interval=$value ;; stopping) stopping=$value ;; output) output=$value ;;
      gpus) gpus=$value ;; zone) zone=$value ;; clock_pairs) clock_pairs=$value ;;
      window) window=$value ;; exit_status) exit_status=$value ;;
    esac
  done
}

distrust() { die "'$state' $1; if no recorder runs that you started, remove it"; }

read_state() {
  pid='' since='' host='' tool='' output='' interval='' stopping=''
  gpus='' zone='' changed='' clock_pairs='' window='' exit_status=''
  [ -e "$state" ] || [ -h "$state" ] || return 1
  if [ -h "$state" ] || [ ! -f "$state" ]; then distrust "is not a regular file"; fi
  find_owner
  is_own "$state" || distrust "belongs to somebody else"
  [ "$(stat -c %h -- "$state")" = 1 ] || distrust "has a second name"
  case $all_may_write:$(stat -c %a -- "$state") in
    :*[2367]? | :*[2367]) distrust "can be written by others" ;;
  esac
  [ "$(stat -c %s -- "$state")" -le 8192 ] || distrust "is too long"
  read_from "$state" read_fields || distrust "is not what start writes"
}

is_marked() { { tr '\0' '\n' <"/proc/$1/environ" | grep -qx AGGREGATE_POWER_RECORDER=yes; } 2>/dev/null; }

check_recorder() {
  for member in $(members "$pid"); do
    if is_marked "$member"; then return; fi
  done
  distrust "names process $pid, which is not a recorder"
}

end_recorder() {
  check_recorder
  end_session "$pid"
}

# Whether what the state file names still runs. A number that another process has taken since then starts
# at another time; when the leader alone is gone, its session may still record.
recording() {
  [ -n "$pid" ] && [ "$host" = "$(uname -n)" ] || return 1
  now_since=$(started "$pid")
  if [ -n "$now_since" ]; then [ "$now_since" = "$since" ]; else [ -n "$(members "$pid")" ]; fi
}

# ---- Clocks, and the context file that holds them.

precise() {  # Unix seconds, to the microsecond; fails where date knows no fractions
  stamp=$(date +%s.%N)
  case ${stamp#*.} in
    *[!0-9]*) return 1 ;;
    ?????????) printf '%s\n' "${stamp%???}" ;;
    *) return 1 ;;
  esac
}

clock() {  # Unix seconds, with milliseconds where date knows them
  if stamp=$(precise); then printf '%s\n' "${stamp%???}"; else date +%s; fi
}

# Unix seconds and CLOCK_MONOTONIC of one moment; nothing where one of the two is unknown. From Python both
# are exact to some microseconds. Else date is called before and after, and the middle is exact to about 1 ms;
# between them /proc/timer_list, for root alone, gives nanoseconds, and /proc/uptime, which is CLOCK_BOOTTIME,
# hundredths rounded down. The two clocks are the same until the machine is first suspended.
both_clocks() {
  python3 -I -S -c '
import time
tries = []
for _ in range(5):
    before, monotonic, after = time.time(), time.monotonic(), time.time()
    tries.append((abs(after - before), (before + after) / 2, monotonic))
print("%.6f %.6f" % min(tries)[1:])' </dev/null 2>/dev/null && return
  before=$(precise) || return 0
  monotonic=$(awk '/^now at/ { printf "%.6f", $3 / 1e9; exit }' /proc/timer_list 2>/dev/null) || :
  after=$(precise)
  if [ -z "$monotonic" ]; then
    suspended=0
    { read -r suspended </sys/power/suspend_stats/success; } 2>/dev/null || :
    [ "$suspended" = 0 ] || return 0
    before=$(precise)
    { read -r monotonic </proc/uptime; } 2>/dev/null || return 0
    after=$(precise)
    monotonic=${monotonic%% *}5  # the middle of the hundredth
  fi
  LC_ALL=C awk -v a="$before" -v b="$after" -v m="$monotonic" 'BEGIN { printf "%.6f %.6f\n", (a + b) / 2, m }'
}

now() {  # Unix seconds, to the microsecond where date or Python knows it
  if precise; then return; fi
  stamp=$(both_clocks)
  printf '%s\n' "${stamp:-$(date +%s)}" | cut -d ' ' -f 1
}

note_clocks() {  # appends a pair to $clock_pairs
  clocks=$(both_clocks)
  [ -n "$clocks" ] || return 0
  boot=
  { read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null || :
  case $boot in '' | *[!0-9a-f-]*) boot=null ;; *) boot="\"$boot\"" ;; esac
  pair="{\"epoch_s\": ${clocks% *}, \"monotonic_s\": ${clocks#* }, \"boot_id\": $boot}"
  clock_pairs=${clock_pairs:+$clock_pairs, }$pair
}

# Nothing in it comes from a path or a host's name. A reader finds the old text or the new.
write_context() {
  text="\"timestamp_timezone\": \"$zone\""
  [ -z "$changed" ] || text="$text, \"timezone_changes\": [$changed]"
  if [ -n "$tool" ]; then
    text="$text, \"monitor\": \"$tool\", \"interval_s\": $interval"
    [ -z "$gpus" ] || text="$text, \"gpus\": [\"$(printf '%s\n' "$gpus" | sed 's/,/", "/g')\"]"
  else
    text="$text, \"monitor\": null"
  fi
  text="$text, \"clock_pairs\": [$clock_pairs]"
  if [ -n "$window" ]; then
    text="$text, \"window\": {\"start_unix\": ${window% *}, \"end_unix\": ${window#* }}"
    text="$text, \"exit_status\": $exit_status"
  fi
  new=$context.$$
  if [ ! -d "$context" ] && printf '%s\n' "{$text}" | put "$new" && mv -f "$new" "$context" 2>/dev/null; then
    return
  fi
  rm -f "$new"
  return 1
}

local_zone() { date ${1+-d "@$1"} +%z | sed 's/..$/:&/'; }

# When the clock changed since the first pair of clocks was noted, and what it shows from then on; nothing
# if it did not, or if date cannot say what it showed at another time.
zone_change() {
  now=$(date +%s) after=$(local_zone)
  began=$(printf '%s\n' "$clock_pairs" | sed 's/[^0-9]*\([0-9]*\).*/\1/')
  if [ "$after" = "$zone" ] || [ -z "$began" ]; then return 0; fi
  [ "$(local_zone "$began" 2>/dev/null)" = "$zone" ] || return 0
  while [ $((now - began)) -gt 1 ]; do
    middle=$(((now + began) / 2))
    if [ "$(local_zone "$middle")" = "$zone" ]; then began=$middle; else now=$middle; fi
  done
  printf '{"unix_s": %s, "offset": "%s"}\n' "$now" "$after"
}

# ---- The vendor tools.

nvidia_fields=timestamp,index,power.draw,temperature.gpu,clocks.current.sm,clocks.current.memory
nvidia_fields=$nvidia_fields,utilization.gpu,utilization.memory

# Adds to $nvidia_fields what this nvidia-smi lists: one field that it does not know, and it records nothing.
add_known_fields() {
  bounded nvidia-smi --help-query-gpu >"$scratch" 2>>"$said" || return 0
  for field in memory.used name driver_version power.limit; do
    if grep -qF "\"$field\"" "$scratch"; then nvidia_fields=$nvidia_fields,$field; fi
  done
  for field in clocks_event_reasons.active clocks_throttle_reasons.active; do  # before release 535
    grep -qF "\"$field\"" "$scratch" || continue
    nvidia_fields=$nvidia_fields,$field
    break
  done
}

recorded_fields() {  # by the header of the CSV: "timestamp, power.draw [W]"
  header=$(read_from "$csv" sed -n '/^timestamp/{ s/ *\[[^]]*\]//g; s/, */,/g; p; q; }')
  if matches "$header" '[a-z0-9_.,]+'; then nvidia_fields=$header; fi
}

what_is_recorded() {
  case $tool in
    nvidia-smi)
      recorded_fields
      what='power, clocks, temperature, utilization'
      case $nvidia_fields in *memory.used*) what="$what, memory" ;; esac
      case $nvidia_fields in *power.limit*) what="$what, power limit" ;; esac
      case $nvidia_fields in *_reasons.*) what="$what, throttle reasons" ;; esac
      ;;
    amd-smi) what='power, clocks, temperature, utilization' ;;
    rocm-smi) what=power ;;
  esac
  printf '%s\n' "$what of ${gpus:+GPU }${gpus:-all GPUs}"
}

choose_tool() {
  for tool in nvidia-smi amd-smi rocm-smi; do
    if command -v "$tool" >/dev/null 2>&1; then return 0; fi
  done
  die "none of nvidia-smi, amd-smi and rocm-smi is on the PATH; nothing is recorded"
}

choice() {  # the words that choose --gpus; nothing in them is split or expanded further
  [ -n "$gpus" ] || return 0
  case $tool in
    nvidia-smi) printf '%s\n' "-i $gpus" ;;
    amd-smi) printf '%s\n' "-g $gpus" | tr , ' ' ;;
    rocm-smi) printf '%s\n' "-d $gpus" | tr , ' ' ;;
  esac
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
  awk -F, -v stamp="$(clock)" -v header="$(read_from "$csv" head -n 1)" '
    { sub(/[ \t\r]+$/, "") }
    /^device,/ {
      if (header == "") print header = "timestamp," $0
      good = (header == "timestamp," $0)
      cells = NF
      next
    }
    good && /^card[0-9]+,/ && NF == cells { print stamp "," $0 }'
}

record() {  # the background process: samples $tool to standard output, which is $csv, until it is ended
  case $tool in
    nvidia-smi)
      case $interval in
        *.*) every="-lms $(awk -v s="$interval" 'BEGIN { printf "%d", s * 1000 + 0.5 }')" ;;
        *) every="-l $interval" ;;
      esac
      # Where it writes to a file it may keep rows back until some 4 KB are full, and lose them at the end.
      by_line=
      if stdbuf -oL true 2>/dev/null; then by_line='stdbuf -oL'; fi
      # shellcheck disable=SC2046,SC2086  # two words each, or none
      exec $by_line nvidia-smi --query-gpu="$fields" --format=csv $every $(choice)
      ;;
    amd-smi)
      export PYTHONUNBUFFERED=1  # Python would keep ticks back, and lose them at the end
      # shellcheck disable=SC2046  # words
      amd-smi metric -p -c -t -u -w "$interval" --csv $(choice) | amd_rows
      ;;
    rocm-smi)
      find_owner
      while :; do
        sleep "$interval" &
        pause=$!
        # Its status also complains about sensors that a GPU lacks; only a signal's makes the rows doubtful.
        status=0
        # shellcheck disable=SC2046  # words
        rows=$(rocm-smi --showpower --csv $(choice)) || status=$?
        [ "$status" -ge 128 ] || printf '%s\n' "$rows" | rocm_rows || :
        wait "$pause"
      done
      ;;
  esac
}

# Whether every GPU of the last ticks has a sample from after whole second $1: amd-smi's stamps are whole
# seconds, so one of the same second may still be older.
all_later_than() {
  read_from "$csv" tail -n 512 | awk -F, -v after="$1" '
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

# shellcheck disable=SC2046  # words
after_end() {  # one sample more, where the tool gives single ones
  status=0
  case $tool in
    nvidia-smi)
      recorded_fields
      format=csv,noheader
      read_from "$csv" grep -q '^timestamp' || format=csv
      bounded nvidia-smi --query-gpu="$nvidia_fields" --format="$format" $(choice) >"$scratch" 2>>"$said" ||
        status=$?
      ;;
    amd-smi) return 0 ;;  # single ones have no time
    rocm-smi)
      case $(clock) in *.*) ;; *) sleep 1 ;; esac  # with whole seconds, not the same one as the stop
      bounded rocm-smi --showpower --csv $(choice) >"$scratch.raw" 2>>"$said" || status=$?
      rocm_rows <"$scratch.raw" >"$scratch" || status=124
      ;;
  esac
  # Both may complain in their status and still give rows; cut short, the last row may be torn.
  if [ "$status" -ge 124 ] || ! grep -q '^[0-9]' "$scratch" ||
    ! append_to "$csv" grep '^[0-9t]' "$scratch"; then
    say "$tool gave no sample at the stop; the end of '$csv' may not be covered"
    drop_torn_tail
  fi
}

# Best effort, and quiet: a snapshot that fails leaves no file.
# shellcheck disable=SC2046  # words
energy_snapshot() {
  file=${stem}_energy_$1.csv
  case $tool in
    amd-smi)
      rm -f "$file"
      if bounded amd-smi metric -E --csv $(choice) >"$scratch" 2>>"$said" && awk '
        { sub(/[ \r]+$/, "") }
        /(^|,)gpu,/ && /,total_energy_consumption(,|$)/ { if (!found++) print; next }
        found && /^[0-9]/ { print; rows++ }
        END { exit !rows }' "$scratch" >"$scratch.good"; then
        put "$file" <"$scratch.good" || rm -f "$file"
      fi
      ;;
    nvidia-smi | rocm-smi) ;;  # no energy field in nvidia-smi's queries, though NVML has the counter
  esac
}

# shellcheck disable=SC2046  # words
identity() {
  case $tool in
    nvidia-smi)
      file=${stem}_identity.csv
      rm -f "$file"
      if bounded nvidia-smi --query-gpu=index,uuid --format=csv $(choice) >"$scratch" 2>>"$said" &&
        grep -q '^[0-9]' "$scratch"; then
        sed 's/, */,/g' "$scratch" | put "$file" || rm -f "$file"
      fi
      ;;
    amd-smi)
      file=${stem}_identity.json
      rm -f "$file"
      if bounded amd-smi static --json $(choice) >"$scratch" 2>>"$said" && grep -q '^[[{]' "$scratch"; then
        sed -n '/^[[{]/,$p' "$scratch" | put "$file" || rm -f "$file"
      fi
      ;;
    rocm-smi) ;;
  esac
}

# By the first GPU. A clock that was set meanwhile makes no interval.
warn_of_interval() {
  held=$(read_from "$csv" grep '^[0-9]' | awk -F ', *' -v asked="$interval" '
    NR == 1 { device = $2 }
    $2 != device { next }
    { now = split($1, part, /[ :]/) < 4 ? $1 : (part[2] * 60 + part[3]) * 60 + part[4]
      gap = now - last
      if (rows++ && gap > 0 && gap < 3600) { ++gaps; sum += gap; if (gap > most) most = gap }
      last = now }
    END { if (gaps >= 5 && sum > 1.5 * asked * gaps) printf "every %.3g s, at most %.3g s apart", sum / gaps, most }') || :
  [ -z "$held" ] || say "--interval $interval is not held: $tool gave samples $held; ask for fewer with --interval"
}

# ---- start

undo_start() {  # on a failure or a signal; another must not cut it short
  trap '' HUP INT TERM
  [ -z "$recorder" ] || end_session "$recorder"
  [ -z "$helper" ] || end_session "$helper"
  rm -f "$state" "$state.$$" "$log" "$context.$$"
  drop_private
  [ -z "$began" ] || rm -f "$csv" "$context"
  [ -z "$began" ] || remove_snapshots
}

remove_snapshots() {
  rm -f "${stem}_identity.csv" "${stem}_identity.json" "${stem}_energy_start.csv" "${stem}_energy_end.csv"
}

write_state() {  # of process $1; of tool $2, once it records
  printf '%s\n' "output ${csv##*/}" "pid $1" "since $(started "$1")" "host $(uname -n)" "interval $interval"
  if [ $# -gt 1 ]; then printf '%s\n' "tool $2" "gpus $gpus" "zone $zone" "clock_pairs $clock_pairs"; fi
}

what_it_said() {  # the tool's complaint; nvidia-smi writes it where the CSV should be
  words=$({ read_from "$csv" tail -n 5; read_from "$log" tail -n 5; tail -n 5 "$said"; } 2>/dev/null |
    LC_ALL=C tr -cd '\n -~' | grep -v -e '^timestamp' -e '^[0-9]' | grep . | tail -n 3 | tr '\n' ' ') || :
  words=${words% }
  printf '%s' "${words:-nothing}"
}

first_sample() {
  until_s=$(($(date +%s) + 5))
  until read_from "$csv" grep -q '^[0-9]'; do
    if [ -z "$(started "$recorder")" ] && ! read_from "$csv" grep -q '^[0-9]'; then
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

# An older recording is replaced, unless the caller made it a link: then what that leads to is emptied.
make_csv() {
  if [ -h "$csv" ]; then
    is_own "$csv" || die "'$csv' is a link that somebody else made"
    [ -e "$csv" ] || : >>"$csv" || return 1
    append_to "$csv" dd if=/dev/null of=/proc/self/fd/3 bs=1 count=0 2>/dev/null
  elif [ -e "$csv" ] && [ ! -f "$csv" ]; then
    die "'$csv' is not a regular file"
  else
    : | put "$csv"
  fi
}

# Nothing of the caller's stays open: a harness may wait for the end of its pipes.
begin_recorder() {
  AGGREGATE_POWER_RECORDER=yes setsid sh "$0" record "$tool" "$interval" "$csv" "$gpus" "$nvidia_fields" </dev/null \
    >>/proc/self/fd/3 2>>/proc/self/fd/4 \
    3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  recorder=$!
}

make_folder() { case $csv in */*) mkdir -p -- "${csv%/*}/" ;; esac; }

quoted() { printf '%s\n' "$1" | sed "s/'/'\\\\''/g; s/^/'/; s/\$/'/"; }  # one line, for a shell

start() {
  choose_tool
  case $tool:$interval in
    amd-smi:*.*) wrong "--interval: amd-smi takes whole seconds, got '$interval'" ;;
    rocm-smi:*.*)
      sleep 0.01 2>/dev/null || wrong "--interval: sleep takes whole seconds here, got '$interval'"
      ;;
  esac
  command -v setsid >/dev/null 2>&1 || die "setsid is missing; install util-linux"
  wanted_tool=$tool wanted_interval=$interval wanted_gpus=$gpus
  make_folder || die "cannot make the folder of '$csv'"

  if read_state; then
    if recording; then
      die "already recording to '${csv%"${csv##*/}"}$output' (process $pid);" \
        "run '$me stop --output $csv' first"
    fi
    if [ -n "$host" ] && [ "$host" != "$(uname -n)" ]; then
      say "'$state' tells of a recording on host '$host'; it is taken for a dead one"
    fi
    rm -f "$state"
  fi
  tool=$wanted_tool interval=$wanted_interval gpus=$wanted_gpus
  write_state $$ | (umask go-w; put "$state" -n) ||
    die "cannot write '$state'; the folder is read-only, or another start is under way"

  recorder='' helper='' began=''
  trap undo_start EXIT
  make_private
  find_owner
  make_csv || die "cannot write '$csv'"
  began=yes
  (umask go-w; : | put "$log") || die "cannot write '$log'"
  remove_snapshots  # an older recording's
  [ "$tool" != nvidia-smi ] || add_known_fields
  zone=$(local_zone) changed='' clock_pairs='' window=''
  note_clocks
  write_context || die "cannot write '$context'"
  # shellcheck disable=SC2094  # their names are looked up, not their bytes
  {
    is_open "$csv" || die "'$csv' was replaced by somebody else"
    is_own_file "$log" || die "'$log' was replaced by somebody else"
    begin_recorder
  } 3<>"$csv" 4<>"$log"
  write_state "$recorder" "$tool" | (umask go-w; put "$state.$$") || die "cannot write '$state'"
  mv -f "$state.$$" "$state"
  first_sample
  # After the first sample, as at the end: what the two snapshots' own run time adds and takes is then alike.
  energy_snapshot start
  identity
  drop_private
  trap - EXIT
  warn_of_gaps
  { printf '%s\n' "GPU_METRICS_CSV=$(quoted "$path")"; } 2>/dev/null || :
}

# ---- stop

undo_stop() {  # the state file stays, so stop can be called again
  trap '' HUP INT TERM
  [ -z "$helper" ] || end_session "$helper"
  rm -f "$context.$$"
  drop_private
}

drop_torn_tail() {  # a last line without its end
  if [ ! -s "$csv" ] || [ "$(read_from "$csv" tail -c 1 | wc -l)" -eq 1 ]; then return 0; fi
  keep=$(($(read_from "$csv" wc -c) - $(read_from "$csv" tail -n 1 | wc -c)))
  append_to "$csv" dd if=/dev/null of=/proc/self/fd/3 bs=1 seek="$keep" count=0 2>/dev/null
}

complete_context() {
  [ -z "$zone" ] || changed=$(zone_change)
  if [ -n "$zone" ] && ! write_context; then say "cannot write '$context'; it is as it was at the start"; fi
}

stop() {
  read_state || die "no recording to '$csv'; '$me start --output $csv' begins one"
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
  make_private
  note_clocks
  died=
  if ! is_own_csv; then
    if recording; then end_recorder; fi
    complete_context
    rm -f "$log" "$state"
    [ ! -e "$csv" ] || die "'$csv' belongs to somebody else; it was replaced while $tool wrote it"
    die "'$csv' is gone; it was removed while $tool wrote it"
  fi
  if recording; then
    check_recorder
    before_end
    append_to "$state" printf '%s\n' "stopping yes" 2>/dev/null || :  # a full disk must not keep it running
    end_recorder
    stopping=yes
  elif [ -z "$stopping" ]; then
    died=yes
    last_write=$(date -r "$csv" '+%Y-%m-%dT%H:%M:%S%z %s') || :  # before the next line writes
  fi
  drop_torn_tail
  if [ -n "$died" ]; then
    # No sample is added: it would draw a line over the silence.
    last=$(read_from "$csv" grep '^[0-9]' | tail -n 1 | cut -d, -f1) || :
    say "$tool had ended before the stop; the last time in '$csv' is ${last:-missing}" \
      "(it said: $(what_it_said))"
    say "samples are missing since $(printf '%s\n' "$last_write" | sed 's/\(..\) \(.*\)/:\1 (Unix time \2)/')," \
      "when '$csv' was last written"
  else
    warn_of_interval
    after_end
  fi
  energy_snapshot end
  complete_context
  trap - EXIT
  rm -f "$log" "$state"
  drop_private
  [ -z "$died" ]
}

# ---- run. Whatever becomes of the recording, the command runs as it would without it.

# A signal for the whole group, such as Ctrl-C on a terminal, reaches the command by itself, and must not reach
# it twice. It also ends this witness, whose life ends within seconds when this process is killed.
start_witness() {
  # shellcheck disable=SC2086  # words
  $restoring tail -f -s 5 --pid=$$ /dev/null </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  witness=$!
}

end_witness() {  # not by TERM: a process that the shell has only just begun may lose it
  { kill -s KILL "$witness"; wait "$witness"; } 2>/dev/null || :
  witness=
}

pass_on() {  # SIGNAL: to the command, unless it ended of it, or had it too
  nap || :
  if [ -z "$(started "$child")" ]; then
    end_witness  # bash can lose what it was told of the command, and would wait for the next child to end
  elif [ -n "$(started "$witness")" ]; then
    kill -s "$1" "$child" 2>/dev/null || :
  else
    end_witness
    start_witness
  fi
}

# The rest is done between waits, where what it runs cannot get in their way.
caught() { signal=$1 signal_status=$((128 + $2)) interrupted=yes; end_pause; }
hurry() { hurries=yes; end_pause; }
end_pause() { [ -z "$pause" ] || kill -s KILL "$pause" 2>/dev/null || :; }

# Waits for the command, and leaves its status in $exit_status. A signal ends a wait early, or comes when the
# shell has the status already: then it knows the command no longer, and says 127, or in bash -1.
await() {
  while :; do
    if [ -n "$interrupted" ]; then
      interrupted=
      pass_on "$signal"
    fi
    ended=0
    wait "$child" || ended=$?
    case ${exit_status:+known}:$ended in known:127 | known:-1) ;; *) exit_status=$ended ;; esac
    [ -n "$interrupted" ] || break
  done
}

try_start() {
  if sh "$0" start --output "$csv" --interval "$interval" ${gpus:+--gpus "$gpus"} </dev/null >/dev/null && read_state
  then
    ours="$pid $since $host"
    return
  fi
  [ -n "$signal" ] || say "nothing is recorded of this command, which runs all the same"
  ours='' tool='' changed='' clock_pairs='' window='' zone=$(local_zone)
  note_clocks
}

# Leaves in $restoring the words that undo what the shell does to a command in the background, where it must
# be for a signal to reach it at once: INT and QUIT are ignored. Leaves nothing where no env can do that.
find_restoring() {
  ignored=$(sed -n 's/^SigIgn:.*\(.\)$/\1/p' "/proc/$$/status") signals=
  case $ignored in [014589cd]) signals=INT ;; esac  # else the caller had them ignored
  case $ignored in [012389ab]) signals=${signals:+$signals,}QUIT ;; esac
  restoring="env ${signals:+--default-signal=$signals}"
  $restoring true 2>/dev/null || restoring=
}

as_called() { eval "$environment"; exec "$@"; }  # in a process of its own

wait_margin() {  # until a signal comes
  if [ -z "$ours" ] || [ -n "$signal" ]; then return 0; fi
  case $margin in *.*) sleep 0.01 2>/dev/null || margin=$((${margin%.*} + 1)) ;; esac
  # shellcheck disable=SC2217  # nothing of the caller's stays open
  sleep "$margin" </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  pause=$!
  [ -z "$signal$hurries" ] || end_pause  # it came before the number was known
  { wait "$pause" || wait "$pause"; } 2>/dev/null || :  # a signal ends the first
  pause=''  # its number may be another process's now
}

name_files() {  # that lie beside $csv
  name=${csv##*/}
  stem=${name%.*}
  stem=${csv%"$name"}${stem:-$name}
  context=${stem}_context.json
  state=${stem}_monitor.pid log=${stem}_monitor.log
}

# Ends the recording if this process is killed, when nothing else can. It has a session of its own, which no
# signal for the whole group reaches, and is not a child, for whose end bash might wait.
start_guard() {
  guard=$(
    setsid sh "$0" guard "$csv" "$ours" $$ "$(started $$)" </dev/null >/dev/null 2>&1 \
      3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    printf '%s\n' $!
  )
}

end_guard() {
  [ -z "$guard" ] || kill -s KILL -- "-$guard" "$guard" 2>/dev/null || :
  guard=
}

guard_run() {  # the guard itself
  while [ "$(started "$1")" = "$2" ]; do sleep 1; done
  (is_ours) || return 0
  sh "$0" stop --output "$csv"
}

# Without such an env the command runs in the foreground, and a signal for this process alone waits for its end.
run_command() {
  set -- sh -c 'exec "$@"' "$me" "$@"  # env would take a name with = in it for a variable
  if [ -z "$restoring" ]; then
    exit_status=0
    (as_called "$@") || exit_status=$?
    return
  fi
  if [ -h "/proc/$$/fd/0" ]; then
    # In the background its standard input would be empty. It comes by a number that the caller does not use.
    for spare in 9 8 7 6 5 4 3; do [ -h "/proc/$$/fd/$spare" ] || break; done
    eval "{ as_called $restoring \"\$@\" <&$spare $spare<&- & } $spare<&0"
  else
    # shellcheck disable=SC2086  # words
    as_called $restoring "$@" <&- &
  fi
  child=$!
  await
}

is_ours() { read_state && [ "$pid $since $host" = "$ours" ]; }
is_anothers() { read_state && { [ "${host:-$(uname -n)}" != "$(uname -n)" ] || recording; }; }

finish_recording() {
  if [ -n "$ours" ] && (is_ours); then
    append_to "$state" printf '%s\n' "window $window" "exit_status $exit_status" 2>/dev/null || :
    sh "$0" stop --output "$csv" </dev/null >/dev/null || :
  elif [ -z "$ours" ] && [ -e "$csv" ] && [ -e "$context" ]; then
    :  # an older recording keeps its context
  elif ! (is_anothers); then
    note_clocks
    if make_folder 2>/dev/null; then write_context || :; fi
  fi
  if [ -n "$ours" ] && recording; then end_recorder; fi
  { [ -f "$context" ] && grep -qs "\"start_unix\": ${window% *}, \"end_unix\": ${window#* }}" "$context"; } ||
    say "'$context' could not get the window, from ${window% *} to ${window#* } (Unix time)"
}

signature() { stat -c '%i %s %y %z' -- "$1" 2>/dev/null || :; }
word() { case $1 in *[!A-Za-z0-9_./:=+,@%-]*) quoted "$1" ;; *) printf '%s\n' "$1" ;; esac; }

measure() {
  if [ -z "$ours" ]; then
    [ -z "$result" ] || say "'$result' is not measured: nothing was recorded"
    return 0
  fi
  say "to measure it: aggregate-power measure $(word "${result:-RESULT}") $(word "$csv")"
  [ -n "$result" ] || return 0
  # An older result in another run's window would be measured all the same.
  if [ "$(signature "$result")" = "$result_before" ]; then
    say "'$result' is not measured: the command did not write it"
  elif ! command -v aggregate-power >/dev/null 2>&1; then
    say "'$result' is not measured: aggregate-power is not on the PATH"
  else
    (
      # `run --result FILE -- COMMAND >FILE`: what measure prints has no place in it.
      if [ "$(place_of "/proc/$$/fd/1")" = "$(place_of "$result")" ]; then exec >&2; fi
      as_called aggregate-power measure "$result" "$csv"
    ) </dev/null || say "aggregate-power measure ended with $?"
  fi
}

run() {  # COMMAND...
  signal='' interrupted='' hurries='' pause='' ours='' witness='' guard='' restoring='' exit_status=''
  # In its POSIX mode bash now and then loses the status of a child that ends while a signal is handled.
  # shellcheck disable=SC3040  # other shells fail in the subshell
  if (set +o posix) 2>/dev/null; then set +o posix; fi
  for each in 'HUP 1' 'INT 2' 'QUIT 3' 'USR1 10' 'USR2 12' 'TERM 15'; do
    # shellcheck disable=SC2064  # now
    trap "caught $each" "${each% *}"
  done
  trap : PIPE  # who read the messages may have ended
  try_start || :  # what runs here, and the next lines run, a signal may end
  if [ -n "$ours" ]; then
    start_guard || :
    say "recording $(what_is_recorded) every $interval s to '$csv' with $tool," \
      "and $margin s before and after the command" || :
  fi
  wait_margin
  result_before=$(signature "$result") || :
  find_restoring || :
  [ -z "$restoring" ] || start_witness
  window=$(now) || :
  [ -n "$signal" ] || run_command "$@"
  trap '' HUP INT QUIT USR1 USR2 TERM PIPE
  end=$(now)
  [ -z "$witness" ] || end_witness
  if [ -z "$exit_status" ]; then  # a signal came before the command
    end_guard
    [ -z "$ours" ] || sh "$0" stop --output "$csv" </dev/null >/dev/null || :
    exit "$signal_status"
  fi
  case $end in *.*) ;; *) end=$((end + 1)) ;; esac  # whole seconds: the window must hold the command
  window="$window $end"
  for each in HUP INT QUIT USR1 USR2 TERM; do trap hurry "$each"; done
  wait_margin
  trap '' HUP INT QUIT USR1 USR2 TERM PIPE
  end_guard
  finish_recording
  trap - HUP INT QUIT USR1 USR2 TERM
  trap : PIPE
  measure
  exit "$exit_status"
}

# ---- The command line

value() { [ $# -ge 2 ] || wrong "$1 needs a value"; }

if [ "${1-}" = record ]; then  # start's background process
  tool=$2 interval=$3 csv=$4 gpus=$5 fields=$6 stem=${csv%.csv}
  record
  exit
fi

if [ "${1-}" = guard ]; then  # run's background process
  csv=$2 ours=$3
  name_files
  guard_run "$4" "$5"
  exit
fi

command='' csv=gpu_metrics.csv interval=1 gpus='' result='' margin='' dashes=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    start | stop | run)
      [ -z "$command" ] || wrong "one of start, stop and run, got '$command' and '$1'"
      command=$1
      ;;
    --output) value "$@"; csv=$2; shift ;;
    --output=*) csv=${1#*=} ;;
    --interval) value "$@"; interval=$2; shift ;;
    --interval=*) interval=${1#*=} ;;
    --gpus) value "$@"; gpus=${2:-,}; shift ;;
    --gpus=*) gpus=${1#*=} gpus=${gpus:-,} ;;
    --margin) value "$@"; margin=${2:-,}; shift ;;
    --margin=*) margin=${1#*=} margin=${margin:-,} ;;
    --result) value "$@"; result=${2:-/}; shift ;;
    --result=*) result=${1#*=} result=${result:-/} ;;
    --) dashes=yes; shift; break ;;
    -* | '') wrong "unknown option '$1'" ;;
    *)
      [ -n "$command" ] || wrong "expected start, stop or run, got '$1'"
      [ "$command" = run ] || wrong "$command takes no command, got '$1'"
      dashes=yes  # a command may begin without them
      break
      ;;
  esac
  shift
done
[ -n "$command" ] || wrong "expected start, stop or run"
case $command:$dashes:$# in
  run:yes:0 | run::*) wrong "run: expected a command after the options" ;;
  start:yes:* | stop:yes:*) wrong "$command takes no command, got '-- $*'" ;;
esac
case $command:$result in
  run:*/) wrong "--result: expected a file name, got '${result%/}'" ;;
  run:-*) result=./$result ;;
  start:?* | stop:?*) wrong "--result is for run alone" ;;
esac
case $command:$margin in
  run: | run:0 | start: | stop:) margin=${margin:-5} ;;
  run:*) are_seconds "$margin" || wrong "--margin: expected 0, or seconds from 0.001 to 3600, got '${margin#,}'" ;;
  *) wrong "--margin is for run alone" ;;
esac
case $csv in
  '' | */) wrong "--output: expected a file name, got '$csv'" ;;
  -*) csv=./$csv ;;
esac
[ ! -d "$csv" ] || wrong "--output: '$csv' is a folder"
case $csv in /*) path=$csv ;; *) path=$(pwd) path=${path%/}/$csv ;; esac
case $path in *"
"*) wrong "--output: a path cannot have a line break" ;; esac
are_seconds "$interval" || wrong "--interval: expected seconds from 0.001 to 3600, got '$interval'"
case $interval in *.*[1-9]*) ;; *) interval=${interval%%.*} ;; esac  # 1.0 is whole
[ -z "$gpus" ] || are_gpus ",$gpus," ||
  wrong "--gpus: expected indices or names with commas between them, got '${gpus#,}'"

name_files
if [ "$command" != run ]; then  # whose command has the streams as they are
  [ -h "/proc/$$/fd/1" ] || exec >/dev/null
  [ -h "/proc/$$/fd/2" ] || exec 2>/dev/null
fi
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
"$command" "$@"
