#!/bin/sh
# Prints the figures that show how far the source is from its target layout, one per line: the step
# of the rewrite that changes it, the figure, its value now, its limit, and its goal after the step.
# usage: scripts/house.sh [--check]
# --check prints only the figures above their limits; the exit status is then 1.
#
# The limits are in the table at the end; each step lowers them. "-" means no limit, or, as a value,
# that nothing can be measured yet. Figures that need a run of a program are not here: the lines that
# scripts/outputs.sh prints, the minutes of .ci/run, the openings in FAULT_LOG, formats of 'export'.
# HOUSE_MOVES names the list of moves (JSON); without it, the files to move are not counted.
set -eu
usage() { sed -n '2,5s/^# //p' "$0"; }
check=
case "$#${1:-}" in
  1-h | 1--help) usage; exit 0 ;;
  1--check) check=yes ;;
  0) ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."

files() { grep -rlE --include='*.cpp' --include='*.h' -e "$1" src include | wc -l; }
hits() { grep -rhE --include='*.cpp' --include='*.h' -e "$1" src include | wc -l; }
lines() { find src include -name '*.cpp' -o -name '*.h' | sort | xargs cat | wc -l; }

# Everything that one grep cannot count, as lines "figure: value".
facts=$(python3 - <<'FACTS'
import collections, json, os, pathlib, re, statistics

ours = [p for top in ("src", "include") for p in pathlib.Path(top).rglob("*") if p.suffix in (".cpp", ".h")]
tests = [p for p in pathlib.Path("tests").rglob("*") if p.suffix in (".c", ".cpp", ".h")]
text = {p: p.read_text(errors="replace") for p in ours + tests}
sources = [p for p in ours if p.suffix == ".cpp"]
count = lambda p: text[p].count("\n")
fact = lambda figure, value: print(f"{figure}: {value}")

# A module is a source, a header, or both, of one name in one folder.
modules = collections.defaultdict(set)
for path in ours:
    modules[path.parent].add(path.stem)
full = {folder: len(names) for folder, names in modules.items() if len(names) > 20}
fact("number of .cpp and .h files", len(ours))
fact("number of modules", sum(map(len, modules.values())))
fact("folders with more than 20 modules", len(full))
fact("modules in the largest folder", max(map(len, modules.values())))
fact("median lines of a source", statistics.median_low(map(count, sources)))

# The users of a header are all files of src, include and tests that include it, except for the
# source of the same name in the same folder. Counted are the headers of src with exactly one user,
# where that user is in the header's own folder.
users = collections.defaultdict(set)
for path in text:
    for name in re.findall(r'^#include "([^"]+)"', text[path], re.M):
        users[name].add(path)
others = {p: users[str(p.relative_to("src"))] - {p.with_suffix(".cpp")} for p in ours
          if p.suffix == ".h" and p.parts[0] == "src"}
fact("headers used by one file of their folder only",
     sum(len(them) == 1 and min(them).parent == p.parent for p, them in others.items()))

# The namespace of a folder is named after the last part of its path. main.cpp is left out.
homeless = [p for p in sources if not re.match("src/(base|model|core/model)/", str(p)) and p.name != "main.cpp"
            and not re.search(rf"^namespace [\w:]*\b{p.parent.name}\b", text[p], re.M)]
fact("sources outside their folder's namespace", len(homeless))

# sampling_gap_exceeded stands for all reason codes.
nouns = [p for p in ours if re.match("(include|src/model|src/core/model)/", str(p))]
fact("files that define a reason code", sum("sampling_gap_exceeded" in text[p] for p in nouns))

def lines_of(pattern):
    found = [p for p in ours if p.match(pattern)]
    fact(f"lines of {pattern}", sum(map(count, found)) if found else "-")
lines_of("src/base/system/*")
lines_of("dmon.cpp")
lines_of("generic_reader.cpp")

moves = json.loads(pathlib.Path(os.environ["HOUSE_MOVES"]).read_text()) if os.environ.get("HOUSE_MOVES") else None
targets = {move["to"] for move in moves or ()}
fact("files still to move", "-" if moves is None else
     sum(os.path.exists(move["from"]) for move in moves if move["from"] not in targets))

# The files that each step deletes, wherever they are by then: NAME or FOLDER/NAME, without suffix.
DELETED = {
    1: "energy/analysis pass time_sorter steady_rounds window_room reading_gatherer boundary_rows unplaced_rows "
       "single_series",
    3: "assess_alone publication/rerun recompute_extras recompute_options recompute_kinds",
    4: "past_record read_published_runs run_files past_run disk_index sorted_texts list_file waiting_runs "
       "backfill_state",
    5: "attribution_table window_table compare_tables compare_json tabular_report recommendation_text "
       "recommendation_json rows_csv rows_jsonl backfill_summary otlp_json rows_zeus",
    2: "stream_lanes row_threads block_dealer ring ahead reused_thread large_pages state_cells alike_lines "
       "line_cells decimal_cells decimal_layout json_shape json_elements json_seen patience",
    7: "student_t",
}
for step, names in DELETED.items():
    left = [p for p in ours if any(p.with_suffix("").match(name) for name in names.split())]
    fact(f"files of step {step} still there", len(left))
wanted = ("scripts/outputs.sh", "scripts/commit-msg", ".ci/night")
fact("files of step 0 still missing", sum(not os.path.exists(name) for name in wanted))

for folder, size in sorted(full.items(), key=lambda item: -item[1]):
    fact(f"folder {folder}", size)
FACTS
)

status=0
show() { printf '%4s  %-64.64s %7s %7s %8s\n' "$@"; }
[ -n "$check" ] || show step figure now limit goal
while read -r step limit goal figure; do
  pattern=${figure#*\'}
  pattern=${pattern%\'}
  case $figure in
    files\ \'*) now=$(files "$pattern") ;;
    hits\ \'*) now=$(hits "$pattern") ;;
    lines) now=$(lines) ;;
    *) now=$(printf '%s\n' "$facts" | awk -F ': ' -v figure="$figure" '$1 == figure { print $2 }') ;;
  esac
  [ -n "$now" ] || { echo "house.sh: nothing measures '$figure'" >&2; exit 2; }
  if [ -z "$check" ]; then
    show "$step" "$figure" "$now" "$limit" "$goal"
  elif [ "$limit" != - ] && [ "$now" != - ] && [ "$now" -gt "$limit" ]; then
    echo "house.sh: $figure is $now, at most $limit allowed" >&2
    status=1
  fi
done <<'TABLE'
0 0 0 files of step 0 still missing
1 0 0 hits 'public Analysis'
1 5 2 hits '(recording_?|Recording\(.*\))\.open\(\)'
1 8 3 hits '^(class|struct) (DeviceIntegrator|PowerLine|PowerTrace|PowerSum|PowerCurve|CurveSums|ReadingSeries|RunCurve|WindowPower|PlacementFinder|(FleetPower|PowerCurve)Gatherer)\b'
1 0 0 files of step 1 still there
3 12 12 hits '\b(add_idle|add_uncertainty|place_load|refuse_idle|refuse_uncertainty)\('
3 0 0 files '\b(Origin|kUnrecorded|unrecorded_options)\b'
3 2 2 files '"(--)?select"'
3 2 6 files 'Contract::august'
3 0 0 files of step 3 still there
4 1 4 files '"(power_valid|computed_from)"'
4 0 0 files of step 4 still there
5 2 2 files '\{[a-z_]*:[<>]'
5 1 1 files '\.dump\('
5 0 0 files of step 5 still there
2 3 2 files 'std::j?thread\b'
2 648 420 lines of src/base/system/*
2 367 400 lines of dmon.cpp
2 - 400 lines of generic_reader.cpp
2 0 0 files of step 2 still there
6 585 480 number of .cpp and .h files
6 365 294 number of modules
6 2 0 folders with more than 20 modules
6 23 20 modules in the largest folder
6 - 150-400 median lines of a source
6 1 0 headers used by one file of their folder only
6 290 0 sources outside their folder's namespace
6 27 0 files still to move
7 1 1 files 'nth_element'
7 1 1 files that define a reason code
7 0 0 files of step 7 still there
7 131840 80000 lines
TABLE
if [ -z "$check" ]; then
  echo "folders with more than 20 modules:"
  printf '%s\n' "$facts" | sed -n 's/^folder \(.*\): \(.*\)/  \1: \2/p'
fi
exit "$status"
