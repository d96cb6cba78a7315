#!/bin/sh
# Prints times and ratios, without a verdict: the program against a newline scan of the same file.
# usage: scripts/bench.sh [--quick | --ratios]
# The inputs are synthetic, with a fixed seed, in /dev/shm (2 GB; --quick leaves the largest out).
# --ratios prints, in less than a minute after the build, one line for each ratio that a change to the
# program must keep. Compare its output before and after the change, on one machine.
set -eu
case "${1:-}" in -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake -S . -B build -G Ninja >/dev/null
cmake --build build --target aggregate-power >/dev/null

work=$(mktemp -d /dev/shm/aggregate-power-bench.XXXXXX)
disk=$(mktemp -d ./build/bench.XXXXXX)
trap 'rm -rf "$work" "$disk"' EXIT
trap 'exit 130' INT TERM
for tool in newline_scan empty peak sax_parse store_read; do
  c++ -std=c++20 -O3 -DNDEBUG -static -o "$work/$tool" "tests/bench/$tool.cpp"
done
# Only for the comparison with `attribute`; left out where it is not installed (rapidjson-dev).
c++ -std=c++20 -O3 -DNDEBUG -static -o "$work/rapidjson_validate" tests/bench/rapidjson_validate.cpp 2>/dev/null || :
python3 tests/bench/bench.py "$PWD/build/aggregate-power" "$work" "$work" "$PWD/$disk" "$@"
[ "${1:-}" != --ratios ] || exit 0
python3 tests/bench/recorders_bench.py "$PWD/build/aggregate-power" "$work" "$work" "$@"
python3 tests/bench/plot_bench.py "$PWD/build/aggregate-power" "$work"
python3 tests/bench/verify_bench.py "$PWD/build/aggregate-power" "$work"
python3 tests/bench/report_bench.py "$PWD/build/aggregate-power" "$work"
