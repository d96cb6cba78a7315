#!/bin/sh
# Packs what is in the build folder, installs it, and runs what was installed; runs the program in an empty root.
# usage: tests/scripts/package_test.sh   with $AGGREGATE_POWER (default: build/aggregate-power)
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac

repo=$(cd "$(dirname "$0")/../.." && pwd)
program=${AGGREGATE_POWER:-$repo/build/aggregate-power}
build=$(dirname "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
unset REQUIRE_POWER GPU_METRICS_CSV
export LC_ALL=C.UTF-8
# shellcheck source=tests/scripts/same.sh
. "$repo/tests/scripts/same.sh"


in_root() {  # folder, command: with that folder as root
  if [ "$(id -u)" -eq 0 ]; then chroot "$@"; else unshare -r chroot "$@"; fi
}

run='--csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --expected-num-gpus 8 --timezone UTC'
answer='aggregate-power: avg_power_w=347.12 avg_total_gpu_power_w=2776.97 total_gpu_energy_j=4165.45 (n=8) -> agg_run.json joules_per_output_token=4.1655 joules_per_total_token=0.4628'
version=$(sed -n 's/^project(aggregate-power VERSION \([0-9.]*\).*/\1/p' "$repo/CMakeLists.txt")
machine=$(dpkg --print-architecture)
topics=$(cd "$repo/src/help" && for page in *.md; do echo "${page%.md}"; done)

# ---- The static executable, alone with a run in an empty root.
mkdir "$work/empty"
cp "$program" "$work/empty/aggregate-power"
cp "$repo"/testdata/runs/b200/* "$work/empty"
# shellcheck disable=SC2086  # words
same "a run in an empty root" "$answer" "$(in_root "$work/empty" /aggregate-power $run 2>&1 | head -n 1)"
same "the files of an empty root" "agg_run.json aggregate-power gpu_metrics.csv power_validation_run.json run.json" \
  "$(cd "$work/empty" && echo ./* | sed 's,\./,,g')"
same "a named zone without tzdata" "aggregate-power: error: unknown time zone 'Europe/Berlin'; this machine has no tz database: \
install tzdata or give an offset such as '-07:00'" \
  "$(in_root "$work/empty" /aggregate-power inspect gpu_metrics.csv --timezone Europe/Berlin 2>&1)"

# ---- The package.
mkdir "$work/packages"
(cd "$build" && cpack -G DEB -B "$work/packages") >"$work/log" 2>&1 || cat "$work/log"
package=aggregate-power_${version}_$machine.deb
same "the package's name" "$package" "$(cd "$work/packages" && echo ./*.deb | sed 's,\./,,g')"
package=$work/packages/$package
same "its name, version and needs" "Package: aggregate-power Version: $version Depends: none" \
  "$(dpkg-deb -f "$package" Package Version | tr '\n' ' ')Depends: $(dpkg-deb -f "$package" Depends | grep . || echo none)"
same "its files" "\
-rw-r--r-- ./usr/share/bash-completion/completions/aggregate-power
-rw-r--r-- ./usr/share/doc/aggregate-power/LICENSE
-rw-r--r-- ./usr/share/doc/aggregate-power/README.md
-rw-r--r-- ./usr/share/doc/aggregate-power/changelog.gz
-rw-r--r-- ./usr/share/doc/aggregate-power/copyright
-rw-r--r-- ./usr/share/fish/vendor_completions.d/aggregate-power.fish
-rw-r--r-- ./usr/share/man/man1/aggregate-power.1.gz
$(for topic in $topics; do echo "-rw-r--r-- ./usr/share/man/man7/aggregate-power-$topic.7.gz"; done)
-rw-r--r-- ./usr/share/zsh/site-functions/_aggregate-power
-rw-r--r-- ./usr/share/zsh/vendor-completions/_aggregate-power
-rwxr-xr-x ./usr/bin/aggregate-power
-rwxr-xr-x ./usr/bin/aggregate-power-monitor
lrwxrwxrwx ./usr/share/aggregate-power/monitor.sh -> ../../bin/aggregate-power-monitor" \
  "$(dpkg-deb -c "$package" | awk '$1 !~ /^d/ { print $1, $6 ($7 == "" ? "" : " " $7 " " $8) }' | LC_ALL=C sort)"

root=$work/root
if [ "$(id -u)" -eq 0 ]; then
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/log"
  : >"$root/var/lib/dpkg/status"
  dpkg --root="$root" --install "$package" >"$work/log" 2>&1 || cat "$work/log"
  same "its state once installed" "install ok installed" \
    "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Status}' aggregate-power)"
else
  dpkg-deb -x "$package" "$root"
fi
same "the installed program's version" "aggregate-power $version" "$(in_root "$root" /usr/bin/aggregate-power --version)"
cp "$repo"/testdata/runs/b200/* "$root"
# shellcheck disable=SC2086
same "the installed program's run" "$answer" "$(in_root "$root" /usr/bin/aggregate-power $run 2>&1 | head -n 1)"
for name in README.md LICENSE; do
  same "the installed $name" "" "$(cmp "$repo/$name" "$root/usr/share/doc/aggregate-power/$name" 2>&1)"
done
for name in bin/aggregate-power-monitor share/aggregate-power/monitor.sh; do
  same "the help of $name" "usage: ${name##*/} start|stop [--output FILE] [--interval SECONDS] [--gpus LIST]" \
    "$("$root/usr/$name" -h | head -n 1)"
done

same "the changelog's version" "aggregate-power ($version) unstable; urgency=medium" \
  "$(zcat "$root/usr/share/doc/aggregate-power/changelog.gz" | head -n 1)"

# ---- Man page and completion.
mkdir "$work/pages"
cp "$root"/usr/share/man/man*/*.gz "$work/pages"
gunzip "$work"/pages/*.gz
page=$work/pages/aggregate-power.1
for section in NAME SYNOPSIS COMMANDS 'EXIT STATUS' ENVIRONMENT FILES 'REASON CODES' EXAMPLES; do
  same "the man page's $section" 1 "$(grep -c "^\.SH $section\$" "$page")"
done
# Every option of the help is in the page.
for command in patch agentic inspect multinode plot synthesize; do
  # shellcheck disable=SC2086
  for option in $("$program" $command --help-all | sed -n 's/^  \(-[hVq],\)\{0,1\}\(--[a-z-]*\).*/\2/p'); do
    escaped=$(echo "$option" | sed 's/-/\\\\-/g')
    grep -q "^\\\\fB.*$escaped\\\\fR" "$page" || same "an option in the man page" "$option" "missing"
  done
done
part() { sed -n "/^\.SH $1\$/,/^\.SH/s/^\\\\fB\(.*\)\\\\fR\$/\1/p" "$page" | tr '\n' ' '; }  # the names in a section
same "the man page's variables" "COLUMNS GPU_METRICS_CSV GPU_COUNT LC_ALL, LC_CTYPE, LANG NO_COLOR, TERM POWER_ARTIFACT_DIR POWER_RESULT_ROOT, POWER_PRODUCER_SHA POWER_EXPECTED_CPU_SOURCE REQUIRE_POWER TZ TZDIR " "$(part ENVIRONMENT)"
same "the man page's commands' statuses" \
  "$(sed -n 's/^    {"\([a-z]*\)", CommandGroup.*/aggregate\\-power \1/p' "$repo/src/commands/commands.cpp" | tr '\n' ' ')" "$(part 'EXIT STATUS')"
same "the man page's reason codes" \
  "$(grep -v '^//' "$repo/include/aggregate_power/reason_rows.h" | tr -d '\n' | grep -o 'REASON( *[a-z_0-9]*, *[a-z_]*,' | sed 's/REASON( *//; s/,.*/ /' | tr -d '\n')" \
  "$(part 'REASON CODES')"
same "a remedy in the man page" 1 "$(grep -c 'allow a longer gap with \\-\\-max\\-sample\\-gap$' "$page")"
same "the help on reason codes" 1 "$("$program" patch --help | grep -c "^Reason codes.*'man aggregate-power'")"
if command -v groff >/dev/null 2>&1; then
  same "groff's warnings about the man page" "" "$(groff -man -Tutf8 -ww -z "$page" 2>&1)"
fi
for topic in $topics; do
  same "the installed page on $topic" "" \
    "$("$program" --generate-man-page "$topic" | cmp - "$work/pages/aggregate-power-$topic.7" 2>&1)"
done
complete_word() {  # words; the last one is completed
  bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aggregate_power; echo "${COMPREPLY[@]}"' \
    "$root/usr/share/bash-completion/completions/aggregate-power" "$@"
}
same "completion of an option" --expected-num-gpus "$(complete_word aggregate-power --exp)"
same "completion of a command" inspect "$(complete_word aggregate-power insp)"
same "completion of a command's option" --benchmark-phase "$(complete_word aggregate-power synthesize --benchm)"
same "completion of a value" "torn-tail" "$(complete_word aggregate-power synthesize --fault to)"
same "completion of a topic" "time-zones" "$(complete_word aggregate-power help tim)"
same "completion of a schema" "nvidia-smi amd-smi generic" "$(complete_word aggregate-power synthesize --schema '')"
same "completion of a schema behind =" amd-smi "$(complete_word aggregate-power synthesize --schema = a)"
same "completion of a schema version" "1 2" "$(complete_word aggregate-power --schema-version '')"
same "completion of nothing behind =" "1 2" "$(complete_word aggregate-power --schema-version =)"
for command in '' agentic inspect measure multinode plot synthesize; do
  case $command in '' | agentic | measure | plot) zones="auto evidence local UTC" ;; *) zones="local UTC" ;; esac
  # shellcheck disable=SC2086
  same "completion of a zone, $command" "$zones" "$(complete_word aggregate-power $command --timezone '')"
done
# Files are left to the shell, which quotes the blanks in their names.
same "completion of a file" "" "$(complete_word aggregate-power --csv my)$(complete_word aggregate-power inspect my)"
same "completion asked for by the shell" "complete -o bashdefault -o default -F _aggregate_power aggregate-power" \
  "$(bash -c '. "$0"; complete -p aggregate-power' "$root/usr/share/bash-completion/completions/aggregate-power")"

if [ "$(id -u)" -eq 0 ]; then
  dpkg --root="$root" --purge aggregate-power >"$work/log" 2>&1 || cat "$work/log"
  same "what a removal leaves in /usr" "" "$(find "$root/usr" -type f 2>/dev/null)"
fi

# ---- cmake --install.
cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || cat "$work/log"
same "the files of cmake --install" "\
bin/aggregate-power
bin/aggregate-power-monitor
share/bash-completion/completions/aggregate-power
share/doc/aggregate-power/LICENSE
share/doc/aggregate-power/README.md
share/doc/aggregate-power/copyright
share/fish/vendor_completions.d/aggregate-power.fish
share/man/man1/aggregate-power.1
$(for topic in $topics; do echo "share/man/man7/aggregate-power-$topic.7"; done)
share/zsh/site-functions/_aggregate-power
share/zsh/vendor-completions/_aggregate-power" "$(cd "$work/prefix" && find . -type f | sed 's,^\./,,' | sort)"

same "the old path of the recorder" "$work/prefix/bin/aggregate-power-monitor" \
  "$(readlink -f "$work/prefix/share/aggregate-power/monitor.sh")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
