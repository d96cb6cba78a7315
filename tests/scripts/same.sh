# For tests to source: counts what is as expected, and shows what is not.
# shellcheck shell=sh disable=SC2034 # the counts are read by who sources this
passed=0
failed=0
same() {  # what, expected, found
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3"
  fi
}
