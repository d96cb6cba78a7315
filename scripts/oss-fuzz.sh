#!/bin/sh
# Builds the fuzz targets in the way that OSS-Fuzz and ClusterFuzzLite call a project's build.sh.
# usage: OUT=FOLDER scripts/oss-fuzz.sh [TARGET...]
# $CC, $CXX, $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE say how to compile and what to link; without them it is
# clang, the address sanitizer and libFuzzer. The source is $SRC/aggregate-power if that is there, else the
# checkout of this script, and the build is in $WORK (default: build-fuzz in the source). All targets are built
# unless some are named: archive, csv, ... $OUT then has for each NAME_fuzz, NAME_fuzz_seed_corpus.zip,
# NAME_fuzz.dict and NAME_fuzz.options, and lib for all. Needs what scripts/setup.sh --checks installs.
set -eu
case "${1:-}" in -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;; esac
[ -n "${OUT:-}" ] || { echo "oss-fuzz.sh: \$OUT is not set: name the folder for the targets" >&2; exit 2; }
source=$(cd "$(dirname "$0")/.." && pwd)
[ ! -d "${SRC:-/nowhere}/aggregate-power" ] || source=$SRC/aggregate-power
work=${WORK:-$source/build-fuzz}
engine=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
CC=${CC:-clang} CXX=${CXX:-clang++}
CFLAGS=${CFLAGS:--O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address,fuzzer-no-link}
CXXFLAGS=${CXXFLAGS:-$CFLAGS}
# The distribution's libraries are built for its own C++ library, not for clang's.
CXXFLAGS=$(printf %s "$CXXFLAGS" | sed 's/-stdlib=libc++//')
export CC CXX CFLAGS CXXFLAGS
if [ $# -eq 0 ]; then
  for file in "$source"/tests/fuzz/*_fuzz.cpp; do set -- "$@" "$(basename "$file" _fuzz.cpp)"; done
fi

# The machine that runs the targets has the C library alone: the others are taken along, and an RPATH, unlike a
# RUNPATH, also leads to what they need. A build type of no meaning adds no flags.
# shellcheck disable=SC2016 # $ORIGIN is the loader's
cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Fuzz -DAGGREGATE_POWER_STATIC=OFF \
  -DAGGREGATE_POWER_FUZZING_ENGINE="$engine" -DCMAKE_BUILD_RPATH='$ORIGIN/lib' \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
# shellcheck disable=SC2046 # each is a word
cmake --build "$work" --target aggregate-power $(printf '%s_fuzz ' "$@")

mkdir -p "$OUT/lib"
OUT=$(cd "$OUT" && pwd)
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
trap 'exit 130' HUP INT TERM
ASAN_OPTIONS=detect_leaks=0 python3 "$source/tests/fuzz/seeds.py" "$work/aggregate-power" "$seeds"
for name in "$@"; do
  cp "$work/tests/${name}_fuzz" "$OUT/"
  ldd "$work/tests/${name}_fuzz" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' |
    grep -v -E '/lib(c|m|dl|rt|pthread|resolv)\.so' | xargs -r cp -Lu -t "$OUT/lib"
  rm -f "$OUT/${name}_fuzz_seed_corpus.zip"
  (cd "$seeds/$name" && python3 -m zipfile -c "$OUT/${name}_fuzz_seed_corpus.zip" ./*)
  dict=$source/tests/fuzz/$name.dict
  [ -f "$dict" ] || dict=$source/tests/fuzz/load.dict
  cp "$dict" "$OUT/${name}_fuzz.dict"
  printf '[libfuzzer]\nmax_len = 16384\ntimeout = 60\ndict = %s_fuzz.dict\n' "$name" >"$OUT/${name}_fuzz.options"
done
echo "$# targets are in $OUT"
