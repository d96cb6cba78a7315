#!/bin/sh
# Links aggregate-power again, with the C library, nettle and compiler of this machine, or with changed ones.
# usage: relink.sh OUTPUT [LINKER-OPTION...]     for example: relink.sh ./aggregate-power -L/opt/my-nettle/lib
# Debian 12 has all it needs: apt install g++ nettle-dev. $CXX names another compiler. The sources of the libraries
# that were linked are Debian's, in the versions that aggregate-power.spdx.json names.
set -eu
case "${1:-}" in
  -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
  "" | -*) echo "relink.sh: expected the file to write; see --help" >&2; exit 2 ;;
esac
output=$1
shift
exec "${CXX:-g++}" -static-pie -Wl,-z,relro,-z,now -o "$output" "$@" "$(dirname "$0")/aggregate-power.o" -lnettle
