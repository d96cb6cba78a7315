#!/bin/sh
# Builds the fuzz targets with clang, seeds them from testdata and runs each for a while.
# usage: tests/fuzz/run.sh [SECONDS [FOLDER]]
# SECONDS for each of the three (default: 10). FOLDER keeps the build and the corpora, so that a
# later run goes on from there (default: a fresh one, removed afterwards). CORPUS names a folder of
# further telemetry files. What breaks a target is kept as FOLDER/NAME.found-*, and its path shown.
# Ends with "N passed, N failed", and with status 1 after a finding.
set -eu
case "${1:-}" in -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;; esac
seconds=${1:-10}
source=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${2:-}" ]; then
  mkdir -p "$2"
  folder=$(cd "$2" && pwd)
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
fi

sanitize='-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all'
flags="-O2 -g1 -UNDEBUG -fno-omit-frame-pointer $sanitize"
{
  CC=clang CXX=clang++ cmake -S "$source" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DAGGREGATE_POWER_STATIC=OFF -DAGGREGATE_POWER_TESTS=OFF \
    -DCMAKE_CXX_FLAGS="$flags -fsanitize=fuzzer-no-link" &&
    cmake --build "$folder/build" --target aggregate-power
} >"$folder/build.log" 2>&1 || { cat "$folder/build.log" >&2; exit 1; }
# What the program is linked with, the targets are linked with.
libraries=$(sed -n '/^build aggregate-power:/,/^$/s/^ *LINK_LIBRARIES = //p' "$folder/build/build.ninja")
for name in csv json stamp; do
  # shellcheck disable=SC2086 # both are lists
  (cd "$folder/build" &&
    clang++ -std=c++20 $flags -fsanitize=fuzzer -I "$source/include" \
      "$source/tests/fuzz/${name}_fuzz.cpp" $libraries -o "$folder/${name}_fuzz")
  mkdir -p "$folder/$name"
done
python3 "$source/tests/fuzz/seeds.py" "$folder/build/aggregate-power" "$folder"

passed=0
failed=0
for name in csv json stamp; do
  dictionary=$source/tests/fuzz/$name.dict
  if "$folder/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=8192 -dict="$dictionary" -print_final_stats=1 \
    -artifact_prefix="$folder/$name.found-" "$folder/$name" >"$folder/$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log") inputs," \
      "$(find "$folder/$name" -type f | wc -l) kept"
  else
    failed=$((failed + 1))
    grep -v -e '^#' -e '^NEW' "$folder/$name.log" | tail -n 60
    trap - EXIT
    ls "$folder/$name.found-"* 2>/dev/null || :
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
