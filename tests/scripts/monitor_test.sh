#!/bin/sh
# Runs scripts/monitor.sh against stand-ins for the vendor tools, on a PATH that holds nothing else.
set -eu

case ${1-} in
  -h | --help)
    echo "usage: monitor_test.sh"
    echo "With AGGREGATE_POWER set to a built aggregate-power, each recorded CSV must also pass its inspect."
    exit
    ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
monitor=$here/../../scripts/monitor.sh
unset PYTHONUNBUFFERED || :
work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
nvidia_header='timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz], clocks.current.memory [MHz], utilization.gpu [%], utilization.memory [%]'
old_header=$nvidia_header
nvidia_header="$nvidia_header, memory.used [MiB], name, driver_version, power.limit [W], clocks_event_reasons.active"
amd_header=timestamp,gpu,gfx_activity,umc_activity,mm_activity,vcn_activity,socket_power,gfx_voltage,power_management,hotspot
rocm_header='timestamp,device,Average Graphics Package Power (W)'

# ---- Processes are told apart by their working folder: nothing else runs in a scenario's.

live_in() {
  { ls -ld /proc/[0-9]*/cwd || :; } 2>/dev/null | sed -n "s|.*/proc/\([0-9]*\)/cwd -> $1\(/.*\)\{0,1\}\$|\1|p"
}

clean_up() {
  for process in $(live_in "$work"); do kill -KILL "$process" 2>/dev/null || :; done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- The private PATH: the utilities that monitor.sh and the stand-ins use, and one vendor tool or none.

mkdir "$work/utilities" "$work/none"
for utility in awk cat cut date dd env grep head mkdir mv rm sed setsid sh sleep stat stdbuf tail tr true uname wc; do
  # Not with command -v: in busybox that gives the bare name.
  place=$(printf '%s\n' "$PATH" | tr : '\n' | while read -r folder; do
    if [ -x "$folder/$utility" ]; then echo "$folder/$utility" && break; fi
  done)
  if [ -n "$place" ]; then ln -s "$place" "$work/utilities/$utility"; fi
done
for vendor in nvidia-smi amd-smi rocm-smi; do
  mkdir "$work/$vendor"
  ln -s "$here/stand-ins/$vendor" "$work/$vendor/$vendor"
done

# ---- What the scenarios say. Each has $dir, the folder that monitor.sh is called in, $vendor and $mode.

check() {  # SENTENCE COMMAND...: whether the command holds
  sentence=$1
  shift
  if "$@" >/dev/null 2>&1; then echo "ok - $name: $sentence"; else echo "not ok - $name: $sentence"; fi
}

not() { if "$@"; then return 1; fi; }
equal() { [ "$1" = "$2" ]; }
later() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a "" > b "") }'; }  # as text

in_dir() {  # instead of the shell that calls it: with & its number is the command's
  cd "$dir" && PATH=$work/$vendor:$work/utilities STAND_IN=$mode exec "$@"
}

run() {  # monitor.sh with these arguments; leaves $status, $out and $err
  status=0
  (in_dir sh "$monitor" "$@") >"$dir.out" 2>"$dir.err" || status=$?
  out=$(cat "$dir.out")
  err=$(cat "$dir.err")
}

eventually() {  # COMMAND...: whether it succeeds within 30 s; a busy machine is slow
  until_s=$(($(date +%s) + 30))
  until "$@" 2>/dev/null; do
    [ "$(date +%s)" -le "$until_s" ] || return 1
    sleep 0.1
  done
}

quiet() { equal "$status:$out:$err" 0::; }
began() { equal "$status:$out:$err" "0:GPU_METRICS_CSV='$csv':"; }
says() { case $err in *"$1"*) ;; *) return 1 ;; esac; }
files() { (cd "$dir" && find . ! -type d | LC_ALL=C sort | tr '\n' ' '); }
rows() { grep -c '^[0-9]' "$csv"; }
ticks_within() {  # GPU SECONDS: between some two of its ticks, where their stamps have a fraction
  awk -F', *' -v gpu="$1" -v most="$2" '
    $2 == gpu { n = split($1, part, ":"); now = part[n]; passed = now - last
                if (last != "" && passed > 0 && (!gap || passed < gap)) gap = passed
                last = now }
    END { exit (!gap || gap > most) && last ~ /[.]/ }' "$csv"
}
rows_from() { test "$(rows)" -ge "$1"; }
lines() { wc -l <"$csv" | tr -d ' '; }
is_whole() {  # $csv: the header $1 once and first, every other line a row of as many cells
  awk -v header="$1" '
    NR == 1 { if ($0 != header) exit bad = 1; cells = gsub(/,/, ","); next }
    { gsub(/"[^"]*"/, "list") }
    !/^[0-9]/ || gsub(/,/, ",") != cells { exit bad = 1 }
    END { exit bad || NR < 2 }' "$csv" && equal "$(tail -c 1 "$csv" | wc -l | tr -d ' ')" 1
}
each_gpu_later_than() {  # GPUS STAMP: the last stamp of each of so many GPUs comes after, as text
  awk -F', *' -v gpus="$1" -v after="$2" '
    /^[0-9]/ { last[$2] = $1 }
    END { for (gpu in last) { n++; if (last[gpu] "" <= after "") exit 1 }; exit n != gpus }' "$csv"
}
inspected() {  # with a built tool only
  [ -z "${AGGREGATE_POWER-}" ] || check "inspect reads the CSV" "$AGGREGATE_POWER" inspect "$csv"
}
nothing_lives() { test -z "$(live_in "$dir")"; }
nothing_runs() { eventually nothing_lives; }  # what was killed may take a moment
local_now() {  # without a fraction where date knows none (busybox): as text still before that second's stamps
  stamp=$(date '+%Y/%m/%d %H:%M:%S.%N')
  case $stamp in *.?????????) echo "${stamp%??????}" ;; *) echo "${stamp%.*}" ;; esac
}

# ---- The scenarios

nvidia_steady() {
  TZ=IST-5:30
  export TZ
  mkdir -p "$dir/a folder"
  csv="$dir/a folder/run.1 b.csv"
  run start --output "$csv" --interval 0.2
  check "start prints the path alone" began
  check "the first sample is there when start returns" test "$(rows)" -ge 1
  check "it goes on" eventually rows_from $(($(rows) + 8 * 5))
  check "it samples every 0.2 s, not every second" ticks_within 0 0.7
  stopped=$(local_now)
  run stop --output "$csv"
  check "stop is quiet" quiet
  check "the CSV has one header and whole rows" is_whole "$nvidia_header"
  check "each GPU has a sample from after the stop" each_gpu_later_than 8 "$stopped"
  check "the context holds zone, tool, interval" grep -q \
    '^{"timestamp_timezone": "+05:30", "monitor": "nvidia-smi", "interval_s": 0.2, "clock_pairs": \[{.*}, {.*}\]}$' \
    "$dir/a folder/run.1 b_context.json"
  check "the identity has index and uuid" equal "$(sed -n '1p;3p' "$dir/a folder/run.1 b_identity.csv")" \
    "index,uuid
1,GPU-00000000-0000-0000-0000-000000000001"
  check "no other file stays" equal "$(files)" \
    "./a folder/run.1 b.csv ./a folder/run.1 b_context.json ./a folder/run.1 b_identity.csv "
  check "nothing runs on" nothing_runs
  inspected
}

rule_at() {  # ZONE UNIX: that moment as a rule of POSIX has it, in local time
  echo "$(($(TZ=$1 date -d "@$2" +%j | sed 's/^0*//') - 1))/$(TZ=$1 date -d "@$2" +%H:%M:%S)"
}

nvidia_summer() {  # the clock goes forward some seconds after one start, and back after another
  for way in forward back; do
    change=$(($(date +%s) + 4))
    case $way in
      forward) TZ="AAA-1BBB-2,$(rule_at AAA-1 "$change"),J1/0" after=+02:00 ;;
      back) TZ="AAA-1BBB-2,J1/0,$(rule_at BBB-2 "$change")" after=+01:00 ;;
    esac
    export TZ
    csv=$dir/$way.csv
    run start --output "$csv" --interval 1
    check "start prints the path alone ($way)" began
    while [ "$(date +%s)" -le "$change" ]; do sleep 0.3; done
    run stop --output "$csv"
    check "the context says when the clock went $way" grep -q \
      "\"timezone_changes\": \[{\"unix_s\": $change, \"offset\": \"$after\"}\], \"monitor\"" "$dir/${way}_context.json"
    inspected
  done
}

nvidia_torn() {
  csv=$dir/gpu_metrics.csv
  echo "an older recording" >"$csv"
  echo "an older recording" >"$dir/gpu_metrics_energy_end.csv"
  run start
  check "start prints the path alone" began
  check "an older CSV is replaced" not grep -q older "$csv"
  before=$(lines)
  run stop
  check "stop is quiet" quiet
  check "the torn row is gone, the rest whole" is_whole "$nvidia_header"
  check "a last tick follows" test "$(lines)" -ge $((before + 8))
  check "an older energy snapshot is gone" equal "$(files)" \
    "./gpu_metrics.csv ./gpu_metrics_context.json ./gpu_metrics_identity.csv "
  check "a whole interval is a whole number" grep -q '"interval_s": 1,' "$dir/gpu_metrics_context.json"
  check "nothing runs on" nothing_runs
  inspected
}

nvidia_old() {  # a driver that knows none of the newer fields
  csv=$dir/gpu_metrics.csv
  run start --interval 0.2
  check "start prints the path alone" began
  stopped=$(local_now)
  run stop
  check "stop is quiet" quiet
  check "the CSV has the fields that it knows" is_whole "$old_header"
  check "each GPU has a sample from after the stop" each_gpu_later_than 8 "$stopped"
  check "nothing runs on" nothing_runs
  inspected
}

nvidia_slow() {  # a sample every 0.4 s, whatever is asked
  csv=$dir/gpu_metrics.csv
  run start --interval 0.1
  check "start prints the path alone" began
  eventually rows_from $((8 * 7)) || :
  run stop
  check "stop succeeds" equal "$status:$out" 0:
  check "it says what was not held" says "monitor.sh: --interval 0.1 is not held: nvidia-smi gave samples every 0."
  run start --interval 0.4
  eventually rows_from $((8 * 7)) || :
  run stop
  check "an interval that is held is no news" quiet
  # A quarter past midnight, where the time of day is less than an hour.
  minutes=$(date -u '+%H %M' | awk '{ print $1 * 60 + $2 - 15 }')
  export TZ="AAA$((minutes / 60)):$((minutes % 60 < 0 ? -(minutes % 60) : minutes % 60))"
  run start --interval 0.4
  eventually rows_from $((8 * 7)) || :
  run stop
  check "nor is one that is held from midnight on" quiet
  check "nothing runs on" nothing_runs
}

nvidia_fails() {
  run start --output new/gpu_metrics.csv
  check "start says no" equal "$status:$out" 1:
  check "it tells what the tool said" equal "$err" \
    "monitor.sh: error: nvidia-smi ended without a sample: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
  check "nothing is left" equal "$(files)" ""
  check "nothing runs on" nothing_runs
}

nvidia_dies() {
  csv=$dir/gpu_metrics.csv
  run start --interval 0.5
  check "start prints the path alone" began
  check "the tool is gone" eventually nothing_lives
  check "the tail is torn" not is_whole "$nvidia_header"
  zone=$(date +%z)
  written="$(date -r "$csv" +%Y-%m-%dT%H:%M:%S)${zone%??}:${zone#???} (Unix time $(date -r "$csv" +%s))"
  sleep 1.1
  run stop
  check "stop says no" equal "$status:$out" 1:
  check "it tells that the tool had died, and when" says \
    "monitor.sh: nvidia-smi had ended before the stop; the last time in 'gpu_metrics.csv' is $(tail -n 1 "$csv" | cut -d, -f1) "
  check "it tells since when samples are missing" says \
    "monitor.sh: samples are missing since $written, when 'gpu_metrics.csv' was last written"
  check "the tail is repaired" is_whole "$nvidia_header"
  check "no sample is added after the silence" equal "$(rows)" 24
  check "the state is gone" equal "$(files)" \
    "./gpu_metrics.csv ./gpu_metrics_context.json ./gpu_metrics_identity.csv "
  run stop
  check "a second stop says no" equal "$status" 1
  inspected
}

nvidia_silent() {
  run start
  check "start gives up waiting, not recording" equal "$status:$out" "0:GPU_METRICS_CSV='$dir/gpu_metrics.csv'"
  check "it says so" equal "$err" \
    "monitor.sh: no sample from nvidia-smi after 5 s; it goes on trying (it said: nothing)"
  check "the tool runs" test -n "$(live_in "$dir")"
  run stop
  check "stop succeeds, and says that there is no sample" says "gave no sample at the stop"
  check "with status 0" equal "$status" 0
  check "nothing runs on" nothing_runs
}

nvidia_interrupted() {
  in_dir sh "$monitor" start >"$dir.out" 2>"$dir.err" &
  starter=$!
  check "the tool runs" eventually grep -q '^tool' "$dir/gpu_metrics_monitor.pid"
  kill -TERM "$starter"
  status=0
  wait "$starter" || status=$?
  check "start ends by the signal" equal "$status" 143
  check "it leaves nothing" equal "$(files)" ""
  check "nothing runs on" nothing_runs
}

nvidia_stubborn() {
  run start --interval 0.5
  run stop
  check "a tool that ignores TERM is ended" quiet
  check "nothing runs on" nothing_runs
}

nvidia_hangs() {
  csv=$dir/gpu_metrics.csv
  run start --interval 0.5
  check "start prints the path alone" began
  run stop
  check "stop does not wait for ever for the last sample" equal "$status" 0
  check "it says that the end may not be covered" equal "$err" \
    "monitor.sh: nvidia-smi gave no sample at the stop; the end of 'gpu_metrics.csv' may not be covered"
  check "the CSV is whole" is_whole "$nvidia_header"
  check "nothing runs on" nothing_runs
}

nvidia_twice() {
  csv=$dir/x.csv
  run start --output x.csv --interval 0.2
  first=$(sed -n 's/^pid //p' "$dir/x_monitor.pid")
  before=$(head -n 9 "$csv")
  run start --output x.csv --interval 0.2
  check "a second start says no" equal "$status:$out" 1:
  check "and what to do" equal "$err" \
    "monitor.sh: error: already recording to 'x.csv' (process $first); run 'monitor.sh stop --output x.csv' first"
  run start --output y.csv --interval 0.2
  check "another file is another recording" equal "$status:$out:$err" "0:GPU_METRICS_CSV='$dir/y.csv':"
  check "the first recording is as it was" equal "$(head -n 9 "$csv")" "$before"
  run stop --output y.csv
  check "stopping one is quiet" quiet
  check "the other goes on" eventually rows_from $(($(rows) + 9))
  run stop --output x.csv
  check "stopping the other is quiet" quiet
  run stop --output x.csv
  check "stopping it again says no" equal "$status:$out:$err" \
    "1::monitor.sh: error: no recording to 'x.csv'; 'monitor.sh start --output x.csv' begins one"
  check "nothing runs on" nothing_runs
}

nvidia_outlives() {
  csv=$dir/gpu_metrics.csv
  in_dir setsid sh -c "sh '$monitor' start --interval 0.2 && sleep 60" >"$dir.out" 2>"$dir.err" &
  caller=$!
  eventually test -f "$dir/gpu_metrics_identity.csv" || :
  sleep 0.3
  for signal in HUP TERM; do kill -s "$signal" -- "-$caller" 2>/dev/null || :; done
  wait "$caller" || :
  check "the recording outlives its caller" eventually rows_from $(($(rows) + 9))
  run stop
  check "stop is quiet" quiet
  check "the CSV is whole" is_whole "$nvidia_header"
  check "nothing runs on" nothing_runs
}

nvidia_stop_interrupted() {
  csv=$dir/gpu_metrics.csv
  run start
  in_dir sh "$monitor" stop >"$dir.out" 2>"$dir.err" &  # its last sample hangs
  stopper=$!
  check "stop ends the recording" eventually grep -q '^stopping' "$dir/gpu_metrics_monitor.pid"
  sleep 0.5
  kill -TERM "$stopper"
  status=0
  wait "$stopper" || status=$?
  check "stop ends by the signal" equal "$status" 143
  check "nothing runs on" nothing_runs
  stopped=$(local_now)
  mode=
  run stop
  check "stop can be called again" quiet
  check "it adds the last sample" each_gpu_later_than 8 "$stopped"
  check "the CSV is whole" is_whole "$nvidia_header"
}

stale_state() {
  csv=$dir/gpu_metrics.csv
  sleep 60 &
  stranger=$!
  stale="output gpu_metrics.csv
pid $stranger
since 1
host $(uname -n)
interval 1
tool nvidia-smi"
  echo "$stale" >"$dir/gpu_metrics_monitor.pid"
  printf '%s\n%s' "$nvidia_header" "2026/09/08 07:20:19.279, 0" >"$csv"
  run stop
  check "stop takes it for a dead recording" equal "$status" 1
  check "and says so" says "had ended before the stop; the last time in 'gpu_metrics.csv' is missing"
  check "the torn row is gone" equal "$(cat "$csv")" "$nvidia_header"
  echo "$stale" >"$dir/gpu_metrics_monitor.pid"
  run start
  check "start takes it for a dead recording" began
  run stop
  check "stop is quiet" quiet
  echo "$stale" | sed 's/^host .*/host elsewhere/' >"$dir/gpu_metrics_monitor.pid"
  run stop
  check "stop leaves another host's recording alone" equal "$status:$err" \
    "1:monitor.sh: error: the recording to 'gpu_metrics.csv' runs on host 'elsewhere'; stop it there, or remove 'gpu_metrics_monitor.pid' if it is gone"
  run start
  check "start takes it for dead, and says so" equal "$status:$err" \
    "0:monitor.sh: 'gpu_metrics_monitor.pid' tells of a recording on host 'elsewhere'; it is taken for a dead one"
  run stop
  check "its stop is quiet" quiet
  check "the process with that number lives" kill -0 "$stranger"
  kill "$stranger"
  check "nothing runs on" nothing_runs
}

amd_steady() {
  csv=$dir/results/gpu_metrics.csv
  {
    (in_dir sh "$monitor" start --output results/gpu_metrics.csv) 2>&1 | cat >"$dir.out"
    : >"$dir.done"
  } &
  check "start leaves its caller's pipe" eventually test -f "$dir.done"
  check "start prints the path alone, and makes the folder" equal "$(cat "$dir.out")" "GPU_METRICS_CSV='$csv'"
  check "the first sample is there when start returns" test "$(rows)" -ge 1
  sleep 1.2
  stopped=$(date +%s)
  run stop --output results/gpu_metrics.csv
  check "stop is quiet" quiet
  check "the CSV has one header and whole rows" is_whole "$amd_header"
  check "no carriage return is in it" not grep -q "$(printf '\r')" "$csv"
  check "each GPU has a sample from after the stop" each_gpu_later_than 8 "$stopped"
  check "both energy snapshots have header and rows" equal \
    "$(cut -c1-28 "$dir/results/gpu_metrics_energy_start.csv" | sed -n '1p;$p'
    sed -n 1p "$dir/results/gpu_metrics_energy_end.csv")" \
    "$(printf 'gpu,total_energy_consumption\n7,178324507.%s\ngpu,total_energy_consumption' \
      "$(tail -n 1 "$dir/results/gpu_metrics_energy_start.csv" | cut -d. -f2)")"
  check "their lines end in LF" not grep -q "$(printf '\r')" "$dir/results/gpu_metrics_energy_end.csv"
  check "the identity is JSON" equal "$(head -n 1 "$dir/results/gpu_metrics_identity.json")" "["
  check "the context names the tool" grep -q \
    '^{"timestamp_timezone": "[+-][0-9][0-9]:[0-9][0-9]", "monitor": "amd-smi", "interval_s": 1, ' \
    "$dir/results/gpu_metrics_context.json"
  check "no other file stays" equal "$(files | tr ' ' '\n' | grep -c .)" 5
  check "nothing runs on" nothing_runs
  inspected
}

amd_torn() {
  csv=$dir/gpu_metrics.csv
  run start
  run stop
  check "stop is quiet" quiet
  check "the torn row is not in the CSV" is_whole "$amd_header"
  check "nothing runs on" nothing_runs
  inspected
}

amd_dies() {
  csv=$dir/gpu_metrics.csv
  run start
  check "start prints the path alone" began
  check "the tool is gone" eventually nothing_lives
  run stop
  check "stop says no" equal "$status:$out" 1:
  check "it tells that the tool had died, and what it said" says "amd-smi had ended before the stop"
  check "with its words" says "(it said: Traceback: device lost)"
  check "the torn row is not in the CSV" is_whole "$amd_header"
  check "the whole rows are" equal "$(rows)" 16
  check "the end snapshot is taken all the same" test -s "$dir/gpu_metrics_energy_end.csv"
  check "nothing runs on" nothing_runs
  inspected
}

amd_regroups() {
  csv=$dir/gpu_metrics.csv
  run start
  run stop
  check "stop is quiet" quiet
  check "rows under another header are left out" is_whole "$amd_header"
  check "nothing of them is in the CSV" not grep -q 999 "$csv"
  inspected
}

amd_failed_snapshots() {
  csv=$dir/gpu_metrics.csv
  echo "an older recording" >"$dir/gpu_metrics_identity.json"
  run start
  check "start prints the path alone" began
  run stop
  check "stop is quiet" quiet
  check "no file of a snapshot is left" equal "$(files)" "./gpu_metrics.csv ./gpu_metrics_context.json "
}

amd_empty_snapshots() { amd_failed_snapshots; }

amd_stop_interrupted() {
  csv=$dir/gpu_metrics.csv
  run start
  in_dir sh "$monitor" stop >"$dir.out" 2>"$dir.err" &
  stopper=$!
  sleep 0.3
  kill -TERM "$stopper"
  status=0
  wait "$stopper" || status=$?
  check "stop ends by the signal" equal "$status" 143
  stopped=$(date +%s)
  run stop
  check "stop can be called again" quiet
  check "each GPU has a sample from after the stop" each_gpu_later_than 8 "$stopped"
  check "nothing runs on" nothing_runs
}

amd_options() {
  run start --interval 0.5
  check "a fraction of a second is refused" equal "$status:$out:$err" \
    "2::monitor.sh: error: --interval: amd-smi takes whole seconds, got '0.5'; see monitor.sh -h"
  check "nothing is left" equal "$(files)" ""
}

rocm_rare() {
  csv=$dir/gpu_metrics.csv
  run start --interval 10
  check "start says that the gaps are too long" equal "$status:$out:$err" \
    "0:GPU_METRICS_CSV='$csv':monitor.sh: --interval 10: aggregate-power takes silences of more than 3 s for gaps; give it a --max-sample-gap above 10"
  check "the context holds the interval" grep -q '"interval_s": 10,' "$dir/gpu_metrics_context.json"
  run stop
  check "stop is quiet" quiet
  for interval in 3 2.9; do
    run start --interval "$interval"
    if [ "$interval" = 3 ]; then check "3 s may be too long" says "above 3"; else check "2.9 s is quiet" began; fi
    run stop
    check "its stop is quiet" quiet
  done
  check "nothing runs on" nothing_runs
}

rocm_steady() {
  csv=$dir/gpu_metrics.csv
  run start --interval 0.3
  check "start prints the path alone" began
  check "it goes on" eventually rows_from 15
  stopped=$(date +%s.%N)
  run stop
  check "stop is quiet" quiet
  check "the CSV has one header and whole rows" is_whole "$rocm_header"
  case $stopped in *.?????????) fraction='\.[0-9]\{3\}' ;; *) fraction= ;; esac
  check "a row is time, device, watts" equal "$(tail -n 1 "$csv" | sed "s/^[0-9]\{10\}$fraction,/T,/")" \
    "T,card2,230.0"
  check "each device has a sample from after the stop" each_gpu_later_than 3 "$stopped"
  check "the 0.2 s that the tool itself takes are not added to the 0.3 s" ticks_within card0 0.45
  check "no other file stays" equal "$(files)" "./gpu_metrics.csv ./gpu_metrics_context.json "
  check "nothing runs on" nothing_runs
  inspected
}

none_at_all() {
  run start
  check "start says no" equal "$status:$out" 1:
  check "and why" equal "$err" \
    "monitor.sh: error: none of nvidia-smi, amd-smi and rocm-smi is on the PATH; nothing is recorded"
  check "nothing is left" equal "$(files)" ""
}

command_line() {
  run -h
  check "-h shows the usage on stdout" equal "$status:$(head -n 1 "$dir.out"):$err" \
    "0:usage: monitor.sh start|stop [--output FILE] [--interval SECONDS] [--gpus LIST]:"
  for words in "" "begin" "start stop" "start --output" "start --output=" "start --output=." \
    "start --interval 0" "start --interval -1" "start --interval 1e3" "start --interval 1..5" \
    "start --interval=5000" "start --every 1" "start --gpus=" "start --gpus 0,,1" "start --gpus -1" "start --gpus 0;1" \
    "start --result x" "start -- true" "start true" "run" "run --" "run --result= -- true" "run --result x/ -- true" \
    "start --margin 1" "run --margin -1 -- true" "run --margin= -- true" "run --margin 1e9 -- true"; do
    # shellcheck disable=SC2086  # words
    run $words
    check "'$words' is refused" equal "$status:$out" 2:
  done
  check "nothing is left" equal "$(files)" ""
  check "the script can be called by itself" "$monitor" --help
}

# ---- Half of them at once: most of their time is waiting, yet start waits five seconds only for a sample.

scenario() {  # NAME VENDOR [MODE]
  name=$1 vendor=$2 mode=${3-} dir=$work/run/$1
  mkdir -p "$dir"
  ("$1" >"$work/$1.log" 2>"$work/$1.trace" || echo "not ok - $1: it ran to its end" >>"$work/$1.log") &
  scenarios="$scenarios $1"
}

scenarios=
scenario nvidia_steady nvidia-smi
scenario nvidia_summer nvidia-smi
scenario nvidia_torn nvidia-smi torn
scenario nvidia_old nvidia-smi old
scenario nvidia_slow nvidia-smi slow
scenario nvidia_fails nvidia-smi fails
scenario nvidia_dies nvidia-smi dies
scenario nvidia_silent nvidia-smi silent
scenario nvidia_interrupted nvidia-smi silent
scenario nvidia_stubborn nvidia-smi stubborn
scenario nvidia_hangs nvidia-smi hangs
scenario nvidia_twice nvidia-smi
scenario nvidia_outlives nvidia-smi
scenario nvidia_stop_interrupted nvidia-smi hangs
scenario stale_state nvidia-smi
wait
scenario amd_steady amd-smi
scenario amd_torn amd-smi torn
scenario amd_dies amd-smi dies
scenario amd_regroups amd-smi regroups
scenario amd_failed_snapshots amd-smi fails-snapshots
scenario amd_empty_snapshots amd-smi empty-snapshots
scenario amd_stop_interrupted amd-smi
scenario amd_options amd-smi
scenario rocm_rare rocm-smi
scenario rocm_steady rocm-smi
scenario none_at_all none
scenario command_line nvidia-smi
wait

passed=0 failed=0
for name in $scenarios; do
  cat "$work/$name.log"
  if grep -q '^not ok' "$work/$name.log"; then cat "$work/run/$name.err" "$work/$name.trace" >&2; fi
  passed=$((passed + $(grep -c '^ok' "$work/$name.log" || :)))
  failed=$((failed + $(grep -c '^not ok' "$work/$name.log" || :)))
done
if [ -n "$(live_in "$work")" ]; then
  echo "not ok - a process was left behind"
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
