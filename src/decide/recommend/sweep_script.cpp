// Writes the script of a sweep: a head with what differs, then what all have in common.
#include "base/text/decimal.h"
#include "decide/recommend/recommend.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr int kMostLimitW = 100'000;
constexpr std::size_t kMostLimits = 1000;

constexpr const char* kNvidia = R"sh(tool=nvidia-smi
all_gpus() { nvidia-smi --query-gpu=index --format=csv,noheader; }
get_limit() { nvidia-smi -i "$1" --query-gpu=power.limit --format=csv,noheader,nounits </dev/null; }
set_limit() { as_root nvidia-smi -i "$1" -pl "$2" </dev/null >/dev/null; }
)sh";

// What was locked before cannot be asked for: 0 stands for the driver's own clocks.
constexpr const char* kNvidiaClocks = R"sh(tool=nvidia-smi
all_gpus() { nvidia-smi --query-gpu=index --format=csv,noheader; }
get_limit() { cat "$sweep/clock_of_$1" 2>/dev/null || echo 0; }
set_limit() {
  if [ "$2" = 0 ]; then as_root nvidia-smi -i "$1" -rgc </dev/null >/dev/null; else
    as_root nvidia-smi -i "$1" -lgc "$2,$2" </dev/null >/dev/null && echo "$2" >"$sweep/clock_of_$1"
  fi
}
)sh";

// Since ROCm 7.2 amd-smi wants to know which cap is meant.
constexpr const char* kAmd = R"sh(tool=amd-smi
all_gpus() { amd-smi list --csv | awk -F, '/^[0-9]/ { print $1 }'; }
get_limit() {
  amd-smi static -g "$1" --limit --json </dev/null | tr -d ' \t\r\n' |
    grep -o '"\(socket_power_limit\|power_cap\)":\({"value":\)\{0,1\}[0-9.]*[0-9]' |
    sed -n '1s/.*://p'
}
set_limit() {
  as_root amd-smi set -g "$1" --power-cap ppt0 "${2%.*}" </dev/null >/dev/null 2>&1 ||
    as_root amd-smi set -g "$1" --power-cap "${2%.*}" </dev/null >/dev/null
}
)sh";

constexpr const char* kCommon = R"sh(
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "error: $*"; exit 1; }
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# The limit in force, of the GPU where it is furthest from the one that was asked for.
limit_in_force() {
  for gpu in $gpus; do get_limit "$gpu"; done |
    awk -v asked="$1" '{ off = $1 > asked ? $1 - asked : asked - $1 }
      NR == 1 || off > most { most = off; limit = $1 } END { print limit }'
}

# The undo: also after a failure, Ctrl-C and SIGTERM.
put_back() {
  status=$?
  trap - EXIT
  trap '' HUP INT TERM
  while read -r gpu watts; do
    if set_limit "$gpu" "$watts"; then
      say "GPU $gpu has its limit of before again: $watts W"
    else
      say "error: GPU $gpu: put its limit of before back by hand: $watts W"
      status=1
    fi
  done <"$sweep/limits_before"
  exit "$status"
}

measure() {  # PASS LIMIT
  LIMIT_W=$2
  folder=$sweep/pass$1-${2}W
  RESULT=$folder/run.json
  export LIMIT_W RESULT
  mkdir "$folder"
  for gpu in $gpus; do set_limit "$gpu" "$LIMIT_W" || die "GPU $gpu does not take $LIMIT_W W"; done
  say "pass $1, $LIMIT_W W: cooling down for $cool_down s"
  sleep "$cool_down"
  found=$(limit_in_force "$LIMIT_W")
  awk -v a="$LIMIT_W" -v b="$found" 'BEGIN { off = a > b ? a - b : b - a; exit !(off <= 1 || off <= a / 200) }' ||
    die "$LIMIT_W W was set, and $found W is in force"
  aggregate-power-monitor run --output "$folder/gpu_metrics.csv" --gpus "$gpu_list" -- sh -c "$load"
  found=$(limit_in_force "$LIMIT_W")
  printf '{"power_limit_w": %s, "enforced_power_limit_w": %s}\n' "$LIMIT_W" "${found:-null}" >"$folder/agg_run.json"
  aggregate-power --csv "$folder/gpu_metrics.csv" --bench-result "$RESULT" \
    --agg-result "$folder/agg_run.json" --expected-num-gpus "$count" --window wrapped
}

# ---- Before anything is changed

[ -n "$load" ] || die "write the load's command into 'load', at the top"
for program in "$tool" aggregate-power aggregate-power-monitor awk; do
  command -v "$program" >/dev/null || die "$program is not on the PATH"
done
[ -n "$gpu_list" ] || gpu_list=$(all_gpus | tr -d ' \r' | paste -s -d , -)
[ -n "$gpu_list" ] || die "$tool names no GPU"
gpus=$(printf '%s\n' "$gpu_list" | tr , ' ')
count=$(printf '%s\n' "$gpu_list" | awk -F, '{ print NF }')
mkdir "$sweep" || die "name a folder that does not exist yet: ${0##*/} FOLDER"
for gpu in $gpus; do
  watts=$(get_limit "$gpu") || watts=
  case $watts in '' | *[!0-9.]*) die "the limit of GPU $gpu cannot be read; nothing was changed" ;; esac
  printf '%s %s\n' "$gpu" "$watts"
done >"$sweep/limits_before"

trap put_back EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- The runs: up, down, up and so on, so that slow drift affects all limits alike

)sh";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The same of clocks: no limit in watts is named.
std::string of_clocks(std::string script) {
  constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {"has its limit of before again: $watts W", "has its own clocks again"},
      {"put its limit of before back by hand: $watts W",
       "reset its clocks by hand: nvidia-smi -rgc"},
      {R"({"power_limit_w": %s, "enforced_power_limit_w": %s}\n' "$LIMIT_W" "${found:-null}")",
       R"({"gpu_clock_mhz": %s}\n' "$LIMIT_W")"},
      {"${2}W", "${2}MHz"},
      {"$LIMIT_W W", "$LIMIT_W MHz"},
      {"$found W", "$found MHz"},
      {"power limits", "graphics clocks"},
      {"Setting a limit", "Locking clocks"},
      {"The limits of before are put back", "The clocks are unlocked"},
      {"and the limit is lost", "and the clock is no longer locked"},
      {"$LIMIT_W is the limit", "$LIMIT_W is the clock in MHz"}};
  for (const auto& [from, to] : kChanges) script = replaced(std::move(script), from, to);
  return script;
}

std::vector<std::vector<int>> passes_of(const SweepPlan& plan) {
  std::vector<std::vector<int>> passes;
  for (int pass = 0; pass < plan.repeats; ++pass) {
    passes.push_back(plan.limits_w);
    if (pass % 2 == 1) std::ranges::reverse(passes.back());
  }
  return passes;
}

std::string plan_head(const SweepPlan& plan) {
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "# A sweep over the power limits {} {}: {} passes, {} runs.\n"
      "# usage: sh THIS_FILE [FOLDER]   (default: sweep, which must not exist yet)\n"
      "#\n"
      "# Each run leaves a folder with its recording, its result and its aggregate. Afterwards:\n"
      "#   aggregate-power recommend FOLDER\n"
      "# Setting a limit needs root, or sudo. The limits of before are put back at the end.\n",
      fmt::join(plan.limits_w, ", "), plan.is_of_clocks ? "MHz" : "W", plan.repeats,
      plan.limits_w.size() * static_cast<std::size_t>(plan.repeats));
  if (plan.vendor != "amd") {
    text +=
        "# Turn on persistence mode first (nvidia-smi -pm 1): when the last process has left the GPU,\n"
        "# the driver may be unloaded, and the limit is lost.\n";
  }
  text += "set -eu\n\n";
  text +=
      "# The load. It writes its result into the file $RESULT; $LIMIT_W is the limit. The same work\n"
      "# each time, for a minute at least.\n"
      "# shellcheck disable=SC2016  # they are for the shell that runs the load\n";
  text += fmt::format("load={}\n\n", shell_word(plan.load));
  text += "sweep=${1:-sweep}\n";
  text += fmt::format("gpu_list={}  # with commas; empty: all\n", shell_word(plan.gpus));
  text += fmt::format("cool_down={}  # seconds before each run\n\n", plan.cool_down_s);
  return text;
}

}  // namespace

std::vector<int> planned_limits(std::string_view text) {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("--plan: {}, got '{}'", what, printable(text)));
  };
  std::array<int, 3> numbers{};
  std::string_view rest = text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t end = i + 1 < numbers.size() ? rest.find(':') : rest.size();
    const auto watts =
        end == std::string_view::npos ? std::nullopt : from_text<int>(rest.substr(0, end));
    if (!watts) fail("expected START:END:STEP in whole watts or MHz, as in 150:300:25");
    numbers[i] = *watts;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto [start, end, step] = numbers;
  if (start < 1 || end > kMostLimitW) {
    fail(fmt::format("expected limits from 1 to {} W", kMostLimitW));
  }
  if (step < 1) fail("expected a step of at least 1 W");
  if (start > end) fail("expected START to be at most END");
  if (static_cast<std::size_t>((end - start) / step) >= kMostLimits) {
    fail(fmt::format("expected at most {} limits", kMostLimits));
  }
  std::vector<int> limits;
  for (int limit_w = start; limit_w <= end; limit_w += step) limits.push_back(limit_w);
  return limits;
}

std::vector<int> planned_order(const SweepPlan& plan) {
  std::vector<int> order;
  for (const std::vector<int>& pass : passes_of(plan)) {
    append(order, pass);
  }
  return order;
}

std::string plan_script(const SweepPlan& plan) {
  std::string text = plan_head(plan);
  text += plan.is_of_clocks ? kNvidiaClocks : plan.vendor == "amd" ? kAmd : kNvidia;
  text += kCommon;
  int number = 0;
  for (const std::vector<int>& pass : passes_of(plan)) {
    ++number;
    for (const int limit_w : pass) text += fmt::format("measure {} {}\n", number, limit_w);
  }
  text += "\naggregate-power recommend \"$sweep\"\n";
  return plan.is_of_clocks ? of_clocks(std::move(text)) : text;
}

}  // namespace aggregate_power
