#!/bin/sh
# Figures and ratios, no verdict: the program against a newline scan of the same file.
# usage: scripts/bench.sh [--quick]
# The inputs are synthetic, of a fixed seed, and lie in /dev/shm (2 GB; --quick leaves the largest out).
set -eu
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake -S . -B build -G Ninja >/dev/null
cmake --build build --target aggregate-power >/dev/null

work=$(mktemp -d /dev/shm/aggregate-power-bench.XXXXXX)
disk=$(mktemp -d ./build/bench.XXXXXX)
trap 'rm -rf "$work" "$disk"' EXIT
trap 'exit 130' INT TERM
for tool in newline_scan empty peak sax_parse; do
  c++ -std=c++20 -O3 -DNDEBUG -static -o "$work/$tool" "tests/bench/$tool.cpp"
done
# Only for the comparison with `attribute`; left out where it is not installed (rapidjson-dev).
c++ -std=c++20 -O3 -DNDEBUG -static -o "$work/rapidjson_validate" tests/bench/rapidjson_validate.cpp 2>/dev/null || :
python3 tests/bench/bench.py "$PWD/build/aggregate-power" "$work" "$work" "$PWD/$disk" "$@"
python3 tests/bench/recorders_bench.py "$PWD/build/aggregate-power" "$work" "$work" "$@"
python3 tests/bench/plot_bench.py "$PWD/build/aggregate-power" "$work"
python3 tests/bench/verify_bench.py "$PWD/build/aggregate-power" "$work"
python3 tests/bench/report_bench.py "$PWD/build/aggregate-power" "$work"
