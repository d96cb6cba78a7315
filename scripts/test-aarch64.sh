#!/bin/sh
# Builds for 64-bit Arm into build-aarch64/ and runs the tests under emulation. scripts/check.sh --long runs it.
# usage: scripts/test-aarch64.sh
# Debian: g++-aarch64-linux-gnu and qemu-user-static are installed; the arm64 libraries are only unpacked.
set -eu
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
scripts/setup.sh --tests
$as_root apt-get -qq -y install --no-install-recommends g++-aarch64-linux-gnu qemu-user-static >/dev/null
build=$PWD/build-aarch64
apt=$build/apt
AARCH64_ROOT=$build/root
export AARCH64_ROOT

# With a state of apt's of its own: that of the machine stays as it is.
if [ ! -e "$AARCH64_ROOT/usr/include/re2" ]; then
  mkdir -p "$AARCH64_ROOT" "$apt/lists/partial" "$apt/archives/partial"
  : >"$apt/status"
  set -- -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
    -o Dir::Cache="$apt" -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status"
  apt-get "$@" update
  # fmt's CMake file asks for its shared library though only the headers are used.
  (cd "$apt" && apt-get "$@" download \
    libabsl-dev libre2-dev libfmt-dev libfmt9 libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev \
    libarchive-dev nettle-dev liblzma-dev libzstd-dev libbz2-dev zlib1g-dev libxxhash-dev)
  for package in "$apt"/*.deb; do dpkg -x "$package" "$AARCH64_ROOT"; done
fi

rm -f "$build/aggregate-power" # the wrapper of an earlier run
cmake -S . -B "$build" -G Ninja --toolchain "$PWD/scripts/aarch64.cmake" >/dev/null
cmake --build "$build"
# Tests start the program by its path: there a wrapper starts it in the emulator.
mv "$build/aggregate-power" "$build/aggregate-power.aarch64"
printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$build/aggregate-power.aarch64" >"$build/aggregate-power"
chmod +x "$build/aggregate-power"

QEMU_LD_PREFIX=/usr/aarch64-linux-gnu qemu-aarch64-static "$build/tests/aggregate-power-tests" --gtest_brief=1
AGGREGATE_POWER=$build/aggregate-power
export AGGREGATE_POWER
python3 tests/cases/cases_test.py
# A model in Python says what each number must be: the digits are those of every other processor.
python3 tests/differential/differential_test.py --runs 400
